"""Addresses in the frame: memory, zip members, the network; and what is not installed."""

import functools
import http.server
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from dfloader import remote
from dfloader.batch import prepare
from dfloader.errors import DataFrameError, DecodeError
from dfloader.frame import resolve
from dfloader.spec import parse


def images(df: pd.DataFrame, **spec: Any) -> np.ndarray:
    said = parse(32, {"shuffle": False, "target_size": (24, 32), **spec}, fresh_seed=1)
    batch = prepare(resolve(df, said.frame), said).load(0, 0)
    return batch[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WAITS", (0, 0, 0))


@pytest.fixture
def stored(df: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The frame with its files in memory."""
    files = fsspec.filesystem("memory")
    for path in df["filename"]:
        files.pipe(f"/bucket/{Path(path).name}", Path(path).read_bytes())
    yield df.assign(filename=[f"memory://bucket/{Path(p).name}" for p in df["filename"]])
    files.rm("/bucket", recursive=True)


def test_u036_addresses_give_what_local_files_give(df: pd.DataFrame, stored: pd.DataFrame) -> None:
    assert np.array_equal(images(stored), images(df))


def test_directory_may_be_an_address(df: pd.DataFrame, stored: pd.DataFrame) -> None:
    names = stored.assign(filename=[Path(path).name for path in df["filename"]])
    assert np.array_equal(images(names, directory="memory://bucket"), images(df))


def test_members_of_an_archive(df: pd.DataFrame, tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in df["filename"]:
            file.write(path, f"in/{Path(path).name}")
    members = df.assign(filename=[f"zip://in/{Path(p).name}::{archive}" for p in df["filename"]])
    assert np.array_equal(images(members), images(df))


def test_u035_web_addresses(df: pd.DataFrame, folder: Path) -> None:
    pytest.importorskip("aiohttp")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/"
        web = df.assign(filename=[base + Path(path).name for path in df["filename"]])
        assert np.array_equal(images(web), images(df))
        web.loc[4, "filename"] = base + "missing.png"
        with pytest.raises(DecodeError, match=r"Row 4: 'http://.*missing\.png': no such file"):
            images(web)
        server.shutdown()


def test_a_missing_address_is_a_row_that_fails(stored: pd.DataFrame) -> None:
    stored.loc[2, "filename"] = "memory://bucket/none.png"
    with pytest.raises(DecodeError, match=r"Row 2: 'memory://bucket/none\.png': no such file"):
        images(stored)
    assert (images(stored, on_error="skip")[2] == 0).all()


class Flaky(MemoryFileSystem):
    """Fails `failures` times before it reads."""

    protocol = "flaky"
    failures = 0
    calls = 0

    def cat_file(self, path: str, *args: Any, **options: Any) -> bytes:
        type(self).calls += 1
        if type(self).calls <= type(self).failures:
            raise ConnectionResetError("the line is dead")
        return b"content"


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> type[Flaky]:
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    monkeypatch.setattr(Flaky, "calls", 0)
    return Flaky


def test_a_network_that_fails_for_a_moment_is_asked_again(flaky: type[Flaky]) -> None:
    flaky.failures = 3
    assert remote.read("flaky://x") == b"content"
    assert flaky.calls == 4


def test_a_network_that_stays_down_is_an_error_with_its_reason(flaky: type[Flaky]) -> None:
    flaky.failures = 99
    with pytest.raises(OSError, match=r"ConnectionResetError: the line is dead \(after 4 attempts"):
        remote.read("flaky://x")


def test_a_missing_file_is_asked_for_once(
    flaky: type[Flaky], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: Flaky, path: str, *_: Any, **__: Any) -> bytes:
        Flaky.calls += 1
        raise FileNotFoundError(path)

    monkeypatch.setattr(Flaky, "cat_file", missing)
    with pytest.raises(FileNotFoundError):
        remote.read("flaky://x")
    assert flaky.calls == 1


def test_without_fsspec_the_error_says_what_to_install(
    stored: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r'pip install "dfloader\[remote\]"'):
        images(stored)


def test_a_protocol_that_is_not_installed_is_named_when_the_loader_is_built(
    df: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    df.loc[1, "filename"] = "zip://a.png::s3://bucket/all.zip"
    said = parse(32, {}, fresh_seed=1)
    with pytest.raises(ImportError, match="s3:// cannot be read: Install s3fs"):
        resolve(df, said.frame)


def test_an_unknown_protocol_names_column_and_row(df: pd.DataFrame) -> None:
    df.loc[1, "filename"] = "htps://example.org/a.png"
    said = parse(32, {}, fresh_seed=1)
    with pytest.raises(DataFrameError, match=r"'filename' holds addresses .* htps:// \(row 1\)"):
        resolve(df, said.frame)

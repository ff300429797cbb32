"""Which files exist: every way a path can be right or wrong."""

import os
from pathlib import Path

import numpy as np
import pytest

from dfloader import files
from dfloader.files import advice, missing
from dfloader.packed import pack
from dfloader.source import Source


def missing_of(paths: list[str]) -> list[int]:
    source = Source("path", pack(os.fsencode(path) for path in paths))
    return missing(source, np.arange(len(paths))).tolist()


@pytest.fixture(params=[0, 10**6], ids=["listed", "asked"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """List every folder, or ask for every file."""
    monkeypatch.setattr(files, "_FEW", request.param)


@pytest.mark.usefixtures("few")
def test_files_links_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
    (tmp_path / "broken.png").symlink_to(tmp_path / "nothing.png")
    names = ["a.png", "folder", "link.png", "broken.png", "nope.png", "a.png", "no/where.png"]
    assert missing_of([str(tmp_path / name) for name in names]) == [1, 3, 4, 6]


@pytest.mark.usefixtures("few")
def test_paths_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.png").touch()
    (tmp_path / "b.png").touch()
    monkeypatch.chdir(tmp_path)
    paths = [
        "b.png",
        "sub/a.png",
        "sub//a.png",
        "sub/../b.png",
        "./b.png",
        "c.png",
        "sub/",
        "a.png/b",
    ]
    assert missing_of(paths) == [5, 6, 7]


@pytest.mark.usefixtures("few")
def test_addresses_are_not_looked_for() -> None:
    assert missing_of(["https://host/a.png", "s3://bucket/b.png"]) == []


def test_u029_a_folder_is_listed_once_and_no_file_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{i}.png" for i in range(100)]
    for path in paths:
        path.touch()
    listed: list[bytes] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    monkeypatch.setattr(os.path, "isfile", lambda path: pytest.fail(f"asked for {path}"))
    assert missing_of([str(path) for path in paths] * 2) == []
    assert listed == [os.fsencode(tmp_path)]


def test_u028_a_folder_is_not_listed_for_a_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").touch()
    monkeypatch.setattr(os, "scandir", lambda path: pytest.fail(f"listed {path}"))
    assert missing_of([str(tmp_path / "a.png"), str(tmp_path / "b.png")]) == [1]


def test_a_name_that_the_listing_spells_otherwise_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_FEW", 0)
    monkeypatch.setattr(os.path, "isfile", lambda path: path.lower().endswith(b"a.png"))
    assert missing_of([str(tmp_path / "A.PNG"), str(tmp_path / "b.png")]) == [1]


def test_u024_u025_advice_says_why_a_path_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "0001.png").touch()
    assert advice(str(tmp_path / "no" / "a.png")).startswith(f"There is no folder '{tmp_path}/no'")
    assert "is a folder" in advice(str(tmp_path))
    assert "add it, as df[column] + '.png'" in advice(str(tmp_path / "0001"))
    assert "directory=" in advice(str(tmp_path / "0002.png"))

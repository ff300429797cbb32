"""A cache changes no batch; it only saves work, whoever fills it and whatever stops them."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import dfloader.cache
from dfloader import Augment, DataFrameSequence, DecodeError, to_tf_dataset

ROOT = Path(__file__).parent.parent
SPEC: dict[str, Any] = {"target_size": (24, 32), "seed": 3, "dtype": "uint8", "workers": 0}


def equal(left: Any, right: Any) -> None:
    for a, b in zip(keras.tree.flatten(left), keras.tree.flatten(right), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def cache_of(seq: DataFrameSequence) -> dfloader.cache.Cache:
    cache = seq._loader.cache
    assert cache is not None
    return cache


@pytest.fixture
def no_decoding(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give what makes every later look at a file an error."""

    def fail(*_: Any) -> None:
        raise AssertionError("a file was read again")

    return lambda: monkeypatch.setattr(dfloader.cache, "write_example", fail)


@pytest.mark.parametrize("where", ["memory", "folder"])
@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"resize_mode": "pad"},
        {"resize_mode": "crop", "interpolation": "area", "color_mode": "grayscale"},
        {"color_mode": "rgba"},
    ],
)
def test_batches_are_those_without_a_cache(
    where: str, spec: dict[str, Any], df: pd.DataFrame, tmp_path: Path
) -> None:
    said = {**SPEC, **spec}
    plain = DataFrameSequence(df, 8, **said)
    kept = DataFrameSequence(df, 8, cache=where if where == "memory" else tmp_path, **said)
    for epoch in range(2):
        plain.set_epoch(epoch)
        kept.set_epoch(epoch)
        for i in range(len(plain)):
            equal(kept[i], plain[i])


def test_float_batches_are_the_kept_bytes(df: pd.DataFrame) -> None:
    said = {**SPEC, "cache": "memory"}
    whole = DataFrameSequence(df, 20, **said)[0][0]
    floats = DataFrameSequence(df, 20, **{**said, "dtype": "float32"})[0][0]
    scaled = DataFrameSequence(df, 20, **{**said, "dtype": "float32", "rescale": 1 / 255})[0][0]
    np.testing.assert_array_equal(floats, whole)
    np.testing.assert_allclose(scaled, whole / 255, rtol=1e-6)


def test_masks_are_kept_with_their_images(df: pd.DataFrame, tmp_path: Path) -> None:
    with Image.open(df["filename"][0]) as image:
        image.convert("L").save(tmp_path / "mask.png")
    frame = df[:1].assign(mask=str(tmp_path / "mask.png"))
    said = {**SPEC, "mask_col": "mask", "class_mode": None}
    kept = DataFrameSequence(frame, 1, cache="memory", **said)
    for _ in range(2):
        equal(kept[0], DataFrameSequence(frame, 1, **said)[0])


def test_each_file_is_decoded_once(df: pd.DataFrame, no_decoding: Any) -> None:
    kept = DataFrameSequence(df, 8, cache="memory", **SPEC)
    first = list(kept)
    assert cache_of(kept).filled == 20
    no_decoding()
    for a, b in zip(first, kept, strict=True):
        equal(a, b)


def test_a_folder_serves_the_next_loader(
    df: pd.DataFrame, tmp_path: Path, no_decoding: Any
) -> None:
    first = DataFrameSequence(df, 20, cache=tmp_path, **SPEC)[0]
    no_decoding()
    equal(DataFrameSequence(df, 20, cache=tmp_path, **SPEC)[0], first)
    assert len(list(tmp_path.iterdir())) == 1


def test_worker_processes_fill_what_this_one_reads(df: pd.DataFrame, no_decoding: Any) -> None:
    said = {**SPEC, "cache": "memory", "workers": 2}
    with DataFrameSequence(df, 4, use_multiprocessing=True, **said) as theirs:
        first = list(theirs)
        assert cache_of(theirs).filled == 20
        no_decoding()
        for a, b in zip(first, DataFrameSequence(df, 4, **said), strict=True):
            equal(a, b)


def test_loaders_of_one_frame_and_spec_share_memory(df: pd.DataFrame) -> None:
    one = DataFrameSequence(df, 8, cache="memory", **SPEC)
    two = DataFrameSequence(df, 5, cache="memory", **{**SPEC, "seed": 9, "dtype": "float32"})
    other = DataFrameSequence(df, 8, cache="memory", **{**SPEC, "interpolation": "area"})
    list(one)
    assert cache_of(two).filled == 20
    assert cache_of(other).filled == 0


def own(spec: dict[str, Any]) -> dict[str, Any]:
    """Give a size that no other test has, so that no other loader keeps this cache."""
    return {**spec, "target_size": (23, 31)}


def soon(true: Callable[[], bool]) -> bool:
    """Wait until it is so: cycles go with the collector."""
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    return true()


def test_memory_is_given_back(df: pd.DataFrame) -> None:
    def mapped_files() -> int:
        links = [Path(f"/proc/self/fd/{fd}").resolve() for fd in range(3, 1024)]
        return sum("memfd:dfloader" in str(link) for link in links)

    before = mapped_files()
    kept = DataFrameSequence(df, 8, cache="memory", **own(SPEC))
    list(kept)
    assert mapped_files() > before
    del kept
    assert soon(lambda: mapped_files() == before)


def test_u124_augmentation_stays_fresh(df: pd.DataFrame, no_decoding: Any) -> None:
    said = {**SPEC, "augment": Augment(rotation=30, brightness=0.3), "shuffle": False}
    kept = DataFrameSequence(df, 20, cache="memory", **said)
    first = kept[0][0]
    no_decoding()
    equal(kept[0][0], first)
    kept.set_epoch(1)
    assert (kept[0][0] != first).mean() > 0.5
    plain = DataFrameSequence(df, 20, cache="memory", **{**said, "augment": None})
    assert (plain[0][0] != first).mean() > 0.5


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_u124_a_dataset_with_a_cache_augments_each_epoch_anew(
    df: pd.DataFrame, where: str, tmp_path: Path
) -> None:
    said = {**SPEC, "augment": Augment(rotation=30, brightness=0.3), "shuffle": False}
    said.pop("workers")
    ds = to_tf_dataset(df, 20, cache=where if where == "memory" else tmp_path, **said)
    ((first, _),), ((second, _),), ((third, _),) = (list(ds) for _ in range(3))
    for one, other in ((first, second), (second, third)):
        assert (one.numpy() != other.numpy()).mean() > 0.5


def test_flips_are_those_without_a_cache(df: pd.DataFrame) -> None:
    said = {**SPEC, "augment": Augment(flip_horizontal=True, flip_vertical=True)}
    equal(
        DataFrameSequence(df, 20, cache="memory", **said)[0], DataFrameSequence(df, 20, **said)[0]
    )


def test_a_file_that_changed_is_read_again(df: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    frame = pd.DataFrame({"filename": [str(path)], "class": ["a"]})
    for level in (10, 200):
        Image.new("RGB", (9, 9), (level, level, level)).save(path)
        os.utime(path, ns=(level, level))
        kept = DataFrameSequence(frame, 1, cache=tmp_path / "cache", **SPEC)
        assert (kept[0][0] == level).all()


def test_a_damaged_row_is_made_again(df: pd.DataFrame, tmp_path: Path) -> None:
    kept = DataFrameSequence(df, 20, cache=tmp_path, **{**SPEC, "shuffle": False})
    good = kept[0]
    row = cache_of(kept).mapped.row(7)
    row[100:] = 0
    equal(kept[0], good)
    row[5] ^= 1
    equal(kept[0], good)


DYING = """
import os, pickle, signal, sys
import dfloader.cache as cache
from dfloader.batch import prepare
from dfloader.frame import resolve
from dfloader.spec import parse

whole, left = cache._word, int(sys.argv[3])

def dying(pixels):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(pixels)

cache._word = dying
df, spec = pickle.load(open(sys.argv[1], "rb"))
spec.pop("workers")
said = parse(4, {**spec, "cache": sys.argv[2]}, fresh_seed=0)
loader = prepare(resolve(df, said.frame), said)
for i in range(len(loader)):
    loader.load(0, i)
"""


def started(
    code: str, df: pd.DataFrame, tmp_path: Path, *arguments: str
) -> "subprocess.Popen[bytes]":
    (tmp_path / "df.pkl").write_bytes(pickle.dumps((df, SPEC)))
    command = [sys.executable, "-c", code, str(tmp_path / "df.pkl"), str(tmp_path / "cache")]
    return subprocess.Popen([*command, *arguments], cwd=ROOT)


def test_a_killed_process_leaves_no_wrong_row(df: pd.DataFrame, tmp_path: Path) -> None:
    # Each row is looked at before and after it is made: the tenth is made and not yet marked.
    process = started(DYING, df, tmp_path, "19")
    assert process.wait() == -signal.SIGKILL
    kept = DataFrameSequence(df, 4, cache=tmp_path / "cache", **SPEC)
    assert cache_of(kept).filled == 9
    for a, b in zip(kept, DataFrameSequence(df, 4, **SPEC), strict=True):
        equal(a, b)
    assert cache_of(kept).filled == 20


def test_two_processes_fill_one_folder(df: pd.DataFrame, tmp_path: Path) -> None:
    processes = [started(DYING, df, tmp_path, "1000") for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    kept = DataFrameSequence(df, 4, cache=tmp_path / "cache", **SPEC)
    assert cache_of(kept).filled == 20
    for a, b in zip(kept, DataFrameSequence(df, 4, **SPEC), strict=True):
        equal(a, b)


def test_it_pickles_and_finds_its_memory_again(df: pd.DataFrame) -> None:
    kept = DataFrameSequence(df, 20, cache="memory", **own(SPEC))
    first = kept[0]
    twin = pickle.loads(pickle.dumps(kept))
    assert cache_of(twin).filled == 20
    data = pickle.dumps(kept)
    shared = weakref.ref(cache_of(kept).mapped)
    del kept, twin
    assert soon(lambda: shared() is None)
    alone = pickle.loads(data)
    assert cache_of(alone).filled == 0
    equal(alone[0], first)


def test_a_broken_file_is_named_or_skipped_every_time(df: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff no more")
    df.loc[4, "filename"] = str(tmp_path / "broken.jpg")
    kept = DataFrameSequence(df, 20, cache="memory", **SPEC)
    with pytest.raises(DecodeError, match=r"^Row 4: .*broken\.jpg") as caught:
        kept[0]
    assert caught.value.rows == (4,)
    skipping = DataFrameSequence(
        df, 20, cache="memory", on_error="skip", **{**SPEC, "shuffle": False}
    )
    for _ in range(2):
        x, _, w = skipping[0]
        assert not x[4].any() and w[4] == 0


def test_the_size_is_announced_before_anything_is_kept(
    df: pd.DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    DataFrameSequence(df, 20, cache=tmp_path, **{**SPEC, "target_size": (100, 500)})
    assert "20 rows will take 0.003 GB" in caplog.text


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"target_size": None}, "target_size=None"),
        ({"color_mode": "unchanged"}, "color_mode='unchanged'"),
        ({"dtype": "uint16"}, "dtype='uint16'"),
        ({"target_size": (10**6, 10**6)}, "GB, and this machine has"),
    ],
)
def test_what_cannot_be_kept_is_said_at_once(
    spec: dict[str, Any], message: str, df: pd.DataFrame
) -> None:
    with pytest.raises(ValueError, match=message):
        DataFrameSequence(df, 20, cache="memory", **{**SPEC, **spec})


def test_a_full_disk_is_an_error_with_the_size(df: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"a cache of 1,200\.0\d\d GB, and .* GB are free"):
        DataFrameSequence(df, 20, cache=tmp_path, **{**SPEC, "target_size": (10**5, 2 * 10**5)})

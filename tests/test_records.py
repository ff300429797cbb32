"""Records: what goes in comes out, whatever stops the writer."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

from dfloader import DataFrameError, DataFrameSequence, DecodeError, read_tfrecords, write_tfrecords
from dfloader.records_check import check_records
from dfloader.records_schema import read_schema
from dfloader.records_shard import write_shard
from dfloader.records_table import read_table

SIZE = (24, 32)


@pytest.fixture
def pool() -> Any:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def rich(df: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The frame with a column for everything a record can hold."""
    masks = folder.parent / f"{folder.name}-masks"
    masks.mkdir(exist_ok=True)
    for name in df["filename"]:
        with Image.open(name) as image:
            mask = image.convert("L").point(lambda level: level // 64)
        mask.save(masks / f"{Path(name).stem}.png")
    return df.assign(
        mask=[str(masks / f"{Path(name).stem}.png") for name in df["filename"]],
        tags=[("red", "round") * (i % 2) + ("big",) * (i % 3 == 0) for i in range(20)],
        pair=[[i, -i] for i in range(20)],
        weight=[0.5 + i for i in range(20)],
        sex=["f", "m"] * 10,
        flag=[i % 2 for i in range(20)],
    )


SPECS: dict[str, dict[str, Any]] = {
    "categorical": {},
    "sparse": {"class_mode": "sparse"},
    "class order": {"class_mode": "sparse", "classes": ["emu", "cat", "dog"]},
    "number classes": {"y_col": "count", "class_mode": "sparse"},
    "binary": {"y_col": "sex", "class_mode": "binary"},
    "multilabel": {"y_col": "tags", "class_mode": "multilabel"},
    "flags": {"y_col": ["flag", "count"], "class_mode": "multilabel"},
    "raw float": {"y_col": "size", "class_mode": "raw"},
    "raw int": {"y_col": "count", "class_mode": "raw"},
    "raw lists": {"y_col": "pair", "class_mode": "raw"},
    "raw columns": {"y_col": ["size", "count"], "class_mode": "raw"},
    "input": {"class_mode": "input"},
    "no y": {"class_mode": None},
    "outputs": {"class_mode": {"class": "categorical", "size": "raw", "tags": "multilabel"}},
    "weights": {"weight_col": "weight", "class_weight": "balanced"},
    "weights by output": {
        "class_mode": {"class": "sparse", "sex": "binary"},
        "weight_col": {"class": "weight"},
    },
    "extras": {"extra_cols": {"meta": ["size", "pair"], "one": "count"}},
    "mask": {"mask_col": "mask", "class_mode": None},
    "mask and labels": {"mask_col": "mask", "weight_col": "weight"},
    "some classes": {"classes": ["emu", "cat"], "unknown": "drop"},
    "some tags": {"y_col": "tags", "class_mode": "multilabel", "classes": ["big", "red"]}
    | {"unknown": "drop"},
}


def equal(left: Any, right: Any) -> None:
    """Compare nested batches: structure, dtype, every value."""
    keras.tree.assert_same_structure(left, right)
    for a, b in zip(keras.tree.flatten(left), keras.tree.flatten(right), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def y_of(path: Path) -> list[int]:
    """Give y of every record, as TensorFlow reads it."""
    found = []
    for record in tf.data.TFRecordDataset(str(path)):
        features = tf.train.Example.FromString(record.numpy()).features.feature
        (feature,) = [f for n, f in features.items() if n.startswith("y")]
        found += feature.int64_list.value
    return found


@pytest.mark.parametrize("name", SPECS)
def test_u139_records_give_the_frames_batches(
    name: str, rich: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    if name == "flags":
        rich["count"] = 1 - rich["flag"]
    spec, reading = SPECS[name], {"target_size": SIZE, "seed": 3}
    write_tfrecords(rich, tmp_path, shards=3, executor=pool, **spec)
    theirs = DataFrameSequence(rich, 8, **reading, **spec)
    ours = DataFrameSequence.from_tfrecords(tmp_path, 8, **reading)
    assert len(ours) == len(theirs)
    assert ours.class_indices == theirs.class_indices
    for epoch in range(2):
        ours.set_epoch(epoch)
        theirs.set_epoch(epoch)
        for i in range(len(ours)):
            equal(ours[i], theirs[i])
            np.testing.assert_array_equal(ours.rows(i), theirs.rows(i))


@pytest.mark.parametrize("kind", ["bytes", "arrays", "16 bit"])
def test_contents_in_the_frame_go_into_the_records(
    kind: str, df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    contents: dict[str, Any] = {
        "bytes": [Path(name).read_bytes() for name in df["filename"]],
        "arrays": [np.full((9, 7, 3), i, np.uint8) for i in range(20)],
        "16 bit": [np.full((9, 7, 1), 1000 * i, np.uint16) for i in range(20)],
    }
    frame = pd.DataFrame({"image": contents[kind], "class": df["class"]})
    write_tfrecords(frame, tmp_path, shards=2, executor=pool)
    reading = {"target_size": SIZE, "seed": 3, "dtype": "uint16", "color_mode": "rgb"}
    ours = DataFrameSequence.from_tfrecords(tmp_path, 20, **reading)
    equal(ours[0], DataFrameSequence(frame, 20, **reading)[0])
    assert "image" not in pd.read_parquet(tmp_path / "frame.parquet").columns


def test_encoded_bytes_are_untouched(rich: pd.DataFrame, tmp_path: Path, pool: Executor) -> None:
    write_tfrecords(rich, tmp_path, shards=3, mask_col="mask", executor=pool)
    paths = sorted(map(str, tmp_path.glob("*.tfrecord")))
    stored = [tf.train.Example.FromString(r.numpy()) for r in tf.data.TFRecordDataset(paths)]
    for name, column in (("image", "filename"), ("mask", "mask")):
        hashes = [
            hashlib.sha256(e.features.feature[name].bytes_list.value[0]).hexdigest() for e in stored
        ]
        files = [hashlib.sha256(Path(p).read_bytes()).hexdigest() for p in rich[column]]
        assert hashes == files
    size = sum(Path(path).stat().st_size for path in paths)
    assert size < 1.1 * sum(Path(p).stat().st_size for c in ("filename", "mask") for p in rich[c])


def test_shards_hold_every_row_once_in_order(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df, tmp_path, shards=6, executor=pool)
    schema = read_schema(tmp_path)
    assert [shard.rows for shard in schema.shards] == [4, 4, 3, 3, 3, 3]
    paths = [str(tmp_path / shard.name) for shard in schema.shards]
    rows = [
        tf.train.Example.FromString(record.numpy()).features.feature["row"].int64_list.value[0]
        for record in tf.data.TFRecordDataset(paths)
    ]
    assert rows == list(range(20))


def test_u142_four_shards_of_a_thousand_rows_are_together_the_frame(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    frame = pd.concat([df[:1]] * 1000, ignore_index=True).assign(count=range(1000))
    write_tfrecords(frame, tmp_path, shards=4, executor=pool, y_col="count", class_mode="raw")
    found = [y_of(path) for path in sorted(tmp_path.glob("*.tfrecord"))]
    assert [len(some) for some in found] == [250] * 4
    assert [y for some in found for y in some] == list(range(1000))


def test_u142_shards_are_as_many_as_make_128_mib_each(
    df: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pool: Executor
) -> None:
    total = sum(Path(name).stat().st_size for name in df["filename"])
    monkeypatch.setattr("dfloader.records_write._SHARD_BYTES", total / 3)
    write_tfrecords(df, tmp_path, executor=pool)
    assert len(list(tmp_path.glob("*.tfrecord"))) == 3


def test_u140_records_of_ten_jpegs_are_within_2_percent_of_the_files(
    tmp_path: Path, pool: Executor
) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (10, 300, 400, 3), np.uint8)
    paths = [str(tmp_path / f"{i}.jpg") for i in range(10)]
    for path, pixels in zip(paths, noise, strict=True):
        Image.fromarray(pixels).save(path, quality=90)
    frame = pd.DataFrame({"filename": paths, "class": list("ab") * 5})
    folder = write_tfrecords(frame, tmp_path / "records", shards=2, executor=pool)
    size = sum(path.stat().st_size for path in folder.glob("*.tfrecord"))
    assert 1 < size / sum(Path(path).stat().st_size for path in paths) < 1.02


@pytest.mark.parametrize(
    ("y_col", "dtype", "kind"), [("count", np.int64, "int64"), ("size", np.float32, "float32")]
)
def test_u138_the_schema_says_the_dtype_that_is_read(
    y_col: str, dtype: type, kind: str, df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df, tmp_path, executor=pool, y_col=y_col, class_mode="raw")
    assert {f.dtype for n, f in read_schema(tmp_path).features.items() if n[0] == "y"} == {kind}
    for ours in (
        DataFrameSequence.from_tfrecords(tmp_path, 20, target_size=SIZE, shuffle=False)[0],
        next(read_tfrecords(tmp_path, 20, target_size=SIZE, shuffle=False).as_numpy_iterator()),
    ):
        assert ours[1].dtype == dtype
        assert ours[1].tolist() == df[y_col].tolist()


def test_u138_a_schema_of_another_dtype_is_an_error(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df, tmp_path, executor=pool, y_col="count", class_mode="raw")
    schema = tmp_path / "schema.json"
    said = json.loads(schema.read_text())
    assert said["features"]["y"]["dtype"] == "int64"
    said["features"]["y"]["dtype"] = "float32"
    schema.write_text(json.dumps(said))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Data types don't match"):
        next(iter(read_tfrecords(tmp_path, 20, target_size=SIZE)))


def test_there_are_never_more_shards_than_rows(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df[:2], tmp_path, shards=5, executor=pool)
    assert [shard.rows for shard in read_schema(tmp_path).shards] == [1, 1]


def test_the_frame_lies_beside_the_records(
    rich: pd.DataFrame, tmp_path: Path, pool: Executor, caplog: pytest.LogCaptureFixture
) -> None:
    rich["odd"] = [1, "one"] * 10
    write_tfrecords(rich, tmp_path, executor=pool)
    back = pd.read_parquet(tmp_path / "frame.parquet")
    assert list(back.columns) == [name for name in rich.columns if name != "odd"]
    assert back["count"].tolist() == list(range(20))
    assert "is without columns ['odd']" in caplog.text


def test_processes_of_our_own_import_no_framework(df: pd.DataFrame, tmp_path: Path) -> None:
    write_tfrecords(df, tmp_path, shards=2)
    assert len(DataFrameSequence.from_tfrecords(tmp_path, 5)) == 4
    code = "import sys, dfloader.records_shard; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"tensorflow", "keras", "pandas"} & set(done.stdout.split())


def test_max_side_makes_large_images_smaller_and_leaves_small_ones(
    rich: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(rich, tmp_path, mask_col="mask", max_side=64, executor=pool)
    table = read_table(tmp_path)
    assert table.masks is not None
    for row, name in enumerate(rich["filename"]):
        with Image.open(name) as image:
            width, height = image.size
        path = tmp_path / "one"
        path.write_bytes(table.images.read(row))
        if max(width, height) <= 64:
            assert path.read_bytes() == Path(name).read_bytes()
            continue
        with Image.open(path) as image:
            assert max(image.size) == 64
            assert image.format == ("JPEG" if name.endswith("jpg") else "PNG")
            assert abs(image.size[0] - 64 * width / max(width, height)) <= 0.5
            small = image.size
        path.write_bytes(table.masks.read(row))
        with Image.open(path) as mask:
            assert mask.size == small
            assert set(np.unique(mask)) <= {0, 1, 2, 3}


def test_u142_a_second_call_does_not_write_shards_again(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df, tmp_path, shards=4, executor=pool)
    before = {path: path.stat().st_ino for path in tmp_path.glob("*.tfrecord")}
    first = sorted(before)[0]
    first.unlink()
    write_tfrecords(df, tmp_path, executor=pool)
    after = {path: path.stat().st_ino for path in tmp_path.glob("*.tfrecord")}
    assert after.keys() == before.keys()
    assert {path for path in after if after[path] == before[path]} >= before.keys() - {first}
    assert list(check_records(tmp_path)) == [[]] * 4


@pytest.mark.parametrize(
    "change", [{"class_mode": "sparse"}, {"shards": 3}, {"max_side": 32}, {"weight_col": "size"}]
)
@pytest.mark.parametrize("whole", [True, False])
def test_another_spec_in_the_same_folder_is_an_error(
    change: dict[str, Any], whole: bool, df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df, tmp_path, shards=2, executor=pool)
    if not whole:
        (tmp_path / "schema.json").unlink()
    with pytest.raises(DataFrameError, match="another frame, or written with other keywords"):
        write_tfrecords(df, tmp_path, executor=pool, **change)


def test_another_frame_in_the_same_folder_is_an_error(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    write_tfrecords(df, tmp_path, executor=pool)
    with pytest.raises(DataFrameError, match="another frame"):
        write_tfrecords(df[::-1], tmp_path, executor=pool)


def test_a_file_that_cannot_be_read_names_row_and_path_and_leaves_nothing(
    df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    gone = tmp_path / "gone.jpg"
    df.loc[7, "filename"] = str(gone)
    out = tmp_path / "records"
    with pytest.raises(DecodeError, match=r"Row 7: .*gone\.jpg") as caught:
        write_tfrecords(df, out, shards=2, validate=False, executor=pool)
    assert caught.value.rows == (7,)
    assert caught.value.path == str(gone)
    assert not list(out.glob(".*")) and not (out / "schema.json").exists()
    with pytest.raises(DataFrameError, match=r"no schema\.json"):
        DataFrameSequence.from_tfrecords(out)


DYING = """
import os, signal, sys
import pandas as pd
from concurrent.futures import ThreadPoolExecutor
from dfloader import tfrecord, write_tfrecords

whole, left = tfrecord.frame, int(sys.argv[3])

def dying(parts):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(parts)

tfrecord.frame = dying
with ThreadPoolExecutor(1) as pool:
    write_tfrecords(pd.read_pickle(sys.argv[1]), sys.argv[2], shards=4, executor=pool)
"""


@pytest.mark.parametrize("after", [0, 8, 19])
def test_u137_a_killed_writer_leaves_no_half_shard_and_is_resumed(
    after: int, df: pd.DataFrame, tmp_path: Path, pool: Executor
) -> None:
    df.to_pickle(tmp_path / "df.pkl")
    out = tmp_path / "records"
    command = [sys.executable, "-c", DYING, str(tmp_path / "df.pkl"), str(out), str(after)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    done = {path: path.stat().st_ino for path in out.glob("*.tfrecord")}
    assert len(done) == after // 5
    assert len(list(out.glob(".*.tmp"))) == 1
    with pytest.raises(DataFrameError, match=r"no schema\.json"):
        read_schema(out)
    write_tfrecords(df, out, shards=4, executor=pool)
    assert {path: path.stat().st_ino for path in done} == done
    assert not list(out.glob(".*"))
    assert list(check_records(out)) == [[]] * 4
    equal(DataFrameSequence.from_tfrecords(out, seed=1)[0], DataFrameSequence(df, seed=1)[0])


@pytest.fixture
def written(df: pd.DataFrame, tmp_path: Path, pool: Executor) -> Path:
    return write_tfrecords(df, tmp_path / "records", shards=4, executor=pool)


def faults(folder: Path) -> list[tuple[str, str]]:
    return [(Path(f.path).name, f.problem) for some in check_records(folder) for f in some]


def test_u137_a_flipped_byte_is_found_and_named(written: Path) -> None:
    path = written / "00002-of-00004.tfrecord"
    table = read_table(written)
    data = bytearray(path.read_bytes())
    place = int(table.images.data.start[13]) + 100  # type: ignore[union-attr]
    data[place] ^= 4
    path.write_bytes(data)
    ((name, problem),) = faults(written)
    assert name == path.name
    assert "record 3" in problem and "corrupt" in problem
    with pytest.raises(DecodeError, match=r"00002-of-00004\.tfrecord.* is corrupt") as caught:
        DataFrameSequence.from_tfrecords(written, 20)[0]
    assert caught.value.rows == (13,)


def test_u137_a_truncated_shard_is_found_and_named(written: Path) -> None:
    path = written / "00001-of-00004.tfrecord"
    os.truncate(path, path.stat().st_size - 1000)
    ((name, problem),) = faults(written)
    assert name == path.name and "cut off" in problem


def test_missing_and_foreign_files_are_found_and_named(written: Path) -> None:
    (written / "00000-of-00004.tfrecord").unlink()
    (written / "00001-of-00004.index.npz").unlink()
    os.truncate(written / "00002-of-00004.index.npz", 500)
    data = (written / "00002-of-00004.tfrecord").read_bytes()
    (written / "00003-of-00004.tfrecord").write_bytes(data)
    found = dict(faults(written))
    assert "is missing" in found["00000-of-00004.tfrecord"]
    assert "no index" in found["00001-of-00004.tfrecord"]
    assert "is damaged" in found["00002-of-00004.tfrecord"]
    assert "another file" in found["00003-of-00004.tfrecord"]


def test_keywords_are_said_where_they_belong(df: pd.DataFrame, written: Path) -> None:
    with pytest.raises(TypeError, match="target_size is said when reading"):
        write_tfrecords(df, written, target_size=(8, 8))
    with pytest.raises(TypeError, match="y_col='size': the records' schema says this"):
        DataFrameSequence.from_tfrecords(written, y_col="size")
    with pytest.raises(TypeError, match="Did you mean 'class_mode'"):
        write_tfrecords(df, written, class_mod="sparse")
    with pytest.raises(ValueError, match="shards=0 is not a positive whole number"):
        write_tfrecords(df, written, shards=0)


def test_a_balanced_sampler_works_on_records(df: pd.DataFrame, written: Path) -> None:
    said = {"sampler": "balanced", "seed": 5, "target_size": SIZE}
    ours = DataFrameSequence.from_tfrecords(written, 20, **said)
    equal(ours[0], DataFrameSequence(df, 20, **said)[0])
    with pytest.raises(DataFrameError, match="sampler='size'"):
        DataFrameSequence.from_tfrecords(written, sampler="size")


def test_write_shard_is_a_pure_function_that_any_map_can_call(
    df: pd.DataFrame, tmp_path: Path
) -> None:
    class Keeping(Executor):
        """Keeps what it is given, and hands it to `map`."""

        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            given.extend(args)
            return inner.submit(function, *args)

    given: list[Any] = []
    with ThreadPoolExecutor(1) as inner:
        write_tfrecords(df, tmp_path / "one", shards=3, executor=Keeping())
    (tmp_path / "two").mkdir()
    moved = [replace(each, path=each.path.replace("/one/", "/two/")) for each in given]
    assert tuple(map(write_shard, moved)) == read_schema(tmp_path / "one").shards
    for path in (tmp_path / "two").iterdir():
        assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()

"""read_tfrecords: what to_tf_dataset gives of the frame, read in order from files."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from test_records import SPECS, equal, rich

from dfloader import DataFrameSequence, read_tfrecords, to_tf_dataset, write_tfrecords
from dfloader.records_order import reading
from dfloader.records_read import _buffered
from dfloader.records_schema import read_schema
from dfloader.spec import OrderSpec

__all__ = ["rich"]  # a fixture

SIZE = (24, 32)
# Those that the parser tells apart; the others differ in the frame only.
PARSED = ("categorical", "binary", "multilabel", "raw lists", "input", "outputs")
PARSED += ("weights by output", "extras", "mask and labels", "some classes")


def written(df: pd.DataFrame, folder: Path, **spec: Any) -> Path:
    with ThreadPoolExecutor(1) as pool:
        return write_tfrecords(df, folder, executor=pool, **spec)


def batches(ds: Any) -> list[Any]:
    return list(ds.as_numpy_iterator())


def seen(ds: Any) -> list[int]:
    """Give the rows of a pass, told by y: the column count as raw numbers."""
    return [int(value) for batch in batches(ds) for value in batch[1]]


@pytest.fixture
def counted(df: pd.DataFrame, tmp_path: Path) -> Path:
    return written(df, tmp_path / "records", shards=5, y_col="count", class_mode="raw")


@pytest.mark.parametrize("name", PARSED)
def test_u139_unshuffled_records_are_the_frames_dataset(
    name: str, rich: pd.DataFrame, tmp_path: Path
) -> None:
    spec, reading = SPECS[name], {"target_size": SIZE, "shuffle": False}
    ours = read_tfrecords(written(rich, tmp_path, shards=3, **spec), 8, **reading)
    theirs = to_tf_dataset(rich, 8, **reading, **spec)
    assert ours.element_spec == theirs.element_spec
    assert ours.class_indices == theirs.class_indices
    assert len(ours) == len(theirs)
    equal(batches(ours), batches(theirs))


@pytest.mark.parametrize("name", ["mask and labels", "some classes"])
def test_shuffled_records_are_the_frames_elements(
    name: str, rich: pd.DataFrame, tmp_path: Path
) -> None:
    spec, reading = SPECS[name], {"target_size": SIZE, "seed": 4}
    folder = written(rich, tmp_path, shards=3, **spec)

    def elements(ds: Any) -> list[bytes]:
        rows = (
            part for batch in batches(ds) for part in zip(*keras.tree.flatten(batch), strict=True)
        )
        return sorted(b"".join(np.asarray(each).tobytes() for each in row) for row in rows)

    ours = elements(read_tfrecords(folder, 8, **reading))
    assert ours == elements(to_tf_dataset(rich, 8, **reading, **spec))


def test_every_pass_has_each_row_once_in_an_order_of_its_own(counted: Path) -> None:
    ds = read_tfrecords(counted, 4, target_size=SIZE, seed=1)
    passes = [seen(ds) for _ in range(4)]
    assert all(sorted(one) == list(range(20)) for one in passes)
    assert len({tuple(one) for one in passes}) == 4
    assert list(range(20)) not in passes


def test_one_seed_gives_one_order(counted: Path) -> None:
    first, again = (read_tfrecords(counted, 4, target_size=SIZE, seed=7) for _ in range(2))
    other = read_tfrecords(counted, 4, target_size=SIZE, seed=8)
    a, b, c = ([seen(ds) for _ in range(2)] for ds in (first, again, other))
    assert a == b != c


@pytest.mark.parametrize("set_seed", [0, 5])
def test_order_does_not_depend_on_tensorflows_global_seed(counted: Path, set_seed: int) -> None:
    expected = seen(read_tfrecords(counted, 4, target_size=SIZE, seed=7))
    before = context.global_seed()
    tf.random.set_seed(set_seed)
    try:
        assert seen(read_tfrecords(counted, 4, target_size=SIZE, seed=7)) == expected
    finally:
        context.set_global_seed(before)


def test_u143_a_small_buffer_still_gives_every_row(counted: Path) -> None:
    ds = read_tfrecords(counted, 4, target_size=SIZE, seed=1, shuffle_buffer=1)
    assert sorted(seen(ds)) == list(range(20))


def test_u143_the_buffer_holds_256_mib_of_records_however_many_there_are(counted: Path) -> None:
    schema = read_schema(counted)
    assert _buffered(schema) == 20  # all of a small folder
    (first, *_) = schema.shards
    large = replace(first, rows=400_000, bytes=400_000 * 90_000)  # 36 GB
    assert _buffered(replace(schema, shards=(large,))) == 2**28 // 90_000 == 2982


def test_repeat_and_drop_remainder_are_kept(counted: Path) -> None:
    ds = read_tfrecords(counted, 6, target_size=SIZE, seed=1, repeat=True, drop_remainder=True)
    two = [int(y) for _, ys in ds.take(6).as_numpy_iterator() for y in ys]
    assert len(set(two[:18])) == len(set(two[18:])) == 18
    assert ds.element_spec[0].shape == (6, *SIZE, 3)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("count", [2, 3])
def test_u145_shards_are_disjoint_whole_and_of_equal_length(
    shuffle: bool, count: int, counted: Path, df: pd.DataFrame
) -> None:
    real: list[int] = []
    for index in range(count):
        said = {"shard": (index, count), "seed": 2, "shuffle": shuffle, "target_size": SIZE}
        ds = read_tfrecords(counted, 4, **said)
        given = batches(ds)
        ys = np.concatenate([batch[1] for batch in given])
        ws = np.concatenate([batch[2] for batch in given]) if 20 % count else np.ones(len(ys))
        assert len(ys) == -(-20 // count)
        real += ys[ws > 0].tolist()
        if not shuffle:
            said = {**said, "y_col": "count", "class_mode": "raw"}
            equal(given, batches(to_tf_dataset(df, 4, **said)))
    assert sorted(real) == list(range(20))


@pytest.mark.parametrize("shuffle", [True, False])
def test_u146_one_file_and_two_workers_give_both_the_same_number_of_steps(
    shuffle: bool, df: pd.DataFrame, tmp_path: Path
) -> None:
    folder = written(df[:19], tmp_path, shards=1, y_col="count", class_mode="raw")
    real = []
    for index in range(2):
        context = tf.distribute.InputContext(2, index, 2)
        said = {"target_size": SIZE, "seed": 2, "shuffle": shuffle, "input_context": context}
        ds = read_tfrecords(folder, 4, **said)
        policy = ds.options().experimental_distribute.auto_shard_policy
        assert policy == tf.data.experimental.AutoShardPolicy.OFF
        given = batches(ds)
        assert len(given) == len(ds) == 3
        real += [int(y) for _, ys, ws in given for y, w in zip(ys, ws, strict=True) if w]
    assert sorted(real) == list(range(19))


def test_input_context_says_the_shard(counted: Path) -> None:
    context = tf.distribute.InputContext(2, 1, 2)
    ds = read_tfrecords(counted, 4, target_size=SIZE, seed=2, input_context=context)
    other = read_tfrecords(counted, 4, target_size=SIZE, seed=2, shard=(1, 2))
    assert seen(ds) == seen(other)


def test_files_that_only_python_decodes_are_read_too(df: pd.DataFrame, tmp_path: Path) -> None:
    arrays = [np.full((9, 7, 3), i, np.uint8) for i in range(20)]
    frame = pd.DataFrame({"image": arrays, "class": df["class"]})
    reading = {"target_size": SIZE, "shuffle": False}
    ours = read_tfrecords(written(frame, tmp_path), 8, **reading)
    equal(batches(ours), batches(to_tf_dataset(frame, 8, **reading)))


def test_u111_a_broken_image_is_skipped_with_its_row(df: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff no more")
    df.loc[4, "filename"] = str(tmp_path / "broken.jpg")
    folder = written(df, tmp_path / "records", shards=2)
    ds = read_tfrecords(folder, 20, target_size=SIZE, on_error="skip", shuffle=False)
    ((x, _, w),) = batches(ds)
    assert not x[4].any() and w.tolist() == [1] * 4 + [0] + [1] * 15
    assert ds.failures["row"].tolist() == [4]


def test_u137_a_truncated_shard_ends_in_an_error(counted: Path) -> None:
    path = counted / "00001-of-00005.tfrecord"
    os.truncate(path, path.stat().st_size - 100)
    with pytest.raises(tf.errors.DataLossError, match="truncated record"):
        seen(read_tfrecords(counted, 4, target_size=SIZE))


def test_u137_a_flipped_byte_ends_in_an_error_that_names_the_place(counted: Path) -> None:
    path = counted / "00001-of-00005.tfrecord"
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
        seen(read_tfrecords(counted, 4, target_size=SIZE))


@pytest.mark.parametrize("make", ["frame", "records"])
def test_datasets_fill_a_cache_and_read_it(
    make: str, df: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading: dict[str, Any] = {"target_size": SIZE, "seed": 4, "dtype": "uint8"}
    kept = {**reading, "cache": "memory"}
    if make == "frame":
        ds, seq = to_tf_dataset(df, 8, **kept), DataFrameSequence(df, 8, **kept)
    else:
        folder = written(df, tmp_path, shards=3)
        ds = read_tfrecords(folder, 8, **kept)
        seq = DataFrameSequence.from_tfrecords(folder, 8, **kept)
    for _ in range(2):
        equal(batches(ds), list(DataFrameSequence(df, 8, **reading)) if not _ else list(seq))
        monkeypatch.setattr("dfloader.cache.write_example", None)
        seq.set_epoch(1)


def test_what_needs_random_access_is_refused(counted: Path) -> None:
    with pytest.raises(ValueError, match=r"samples_per_epoch=5.*from_tfrecords"):
        read_tfrecords(counted, samples_per_epoch=5)
    with pytest.raises(ValueError, match=r"sampler='balanced'.*from_tfrecords"):
        read_tfrecords(counted, sampler="balanced")


def test_runs_of_an_epoch_cover_every_record_once() -> None:
    sizes = [3, 1, 4, 1, 5]
    for count in (1, 2, 3, 5, 14):
        records: list[tuple[int, int]] = []
        lengths = set()
        for index in range(count):
            spec = OrderSpec(seed=1, shard=(index, count))
            parts, pad, _ = reading(sizes, spec, 3)
            own = [(f, s + i) for f, s, t in parts.tolist() for i in range(t)]
            lengths.add(len(own) + len(pad))
            records += own
            assert all((f, s) == own[0] and t == 1 for f, s, t in pad.tolist())
        assert sorted(records) == [(f, i) for f, n in enumerate(sizes) for i in range(n)]
        assert lengths == {-(-14 // count)}

"""The pipeline: what runs where, passes, options, size of the graph, errors."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

from dfloader import DataFrameSequence, tfbatches, to_tf_dataset
from dfloader.batch import Loader

SMALL = {"target_size": (24, 32), "seed": 3}
PYTHON_OP = "PyFunc"
MAPS = ("MapDataset", "MapDatasetV2")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what Python loads: whole batches, and single pictures for the graph."""
    counter: Counter[str] = Counter()

    def counted(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            counter[name] += 1
            return function(*args)

        return call

    monkeypatch.setattr(Loader, "loaded", counted("batches", Loader.loaded))
    monkeypatch.setattr(tfbatches, "write_example", counted("pictures", tfbatches.write_example))
    return counter


def ids(dataset: tf.data.Dataset) -> list[int]:
    return [int(y) for batch in dataset for y in batch[1]]


def numbered(df: pd.DataFrame, batch_size: int = 8, **keywords: Any) -> tf.data.Dataset:
    return to_tf_dataset(df, batch_size, class_mode="raw", y_col="count", **SMALL, **keywords)


# What runs in Python


def test_jpeg_and_png_are_never_loaded_by_python(df: pd.DataFrame, calls: Counter[str]) -> None:
    assert len(list(to_tf_dataset(df, 8, **SMALL))) == 3
    assert calls == {}


def test_rows_that_tensorflow_cannot_decode_take_one_call_each(
    df: pd.DataFrame, tmp_path: Path, calls: Counter[str]
) -> None:
    for i, name in enumerate(("a.tif", "b.bmp")):
        Image.fromarray(np.full((9, 9, 3), 50 * i, np.uint8)).save(tmp_path / name)
        df.loc[7 * i, "filename"] = str(tmp_path / name)
    list(to_tf_dataset(df, 8, **SMALL))
    assert calls == {"pictures": 2}


def ops(dataset: tf.data.Dataset, *, branches: bool) -> list[list[str]]:
    """Give the ops that each function of a pipeline runs for its element, in branches too or not.

    A dataset made in a function runs functions of its own.
    """
    graph = graph_of(dataset)
    nodes = {f.signature.name: f.node_def for f in graph.library.function}

    def run(name: str) -> Iterator[str]:
        for node in nodes[name]:
            yield node.op
            if node.op.endswith("Case") or node.op.endswith("If"):
                yield from (op for inner in called(node) if branches for op in run(inner))
            elif not node.op.endswith(MAPS):
                yield from (op for inner in called(node) for op in run(inner))

    every = [node for body in (graph.node, *nodes.values()) for node in body]
    maps = {name for node in every if node.op.endswith(MAPS) for name in called(node)}
    return [list(run(name)) for name in sorted(maps)]


def called(node: Any) -> list[str]:
    functions = [f for attr in node.attr.values() for f in (attr.func, *attr.list.func)]
    return [function.name for function in functions if function.name]


def graph_of(dataset: tf.data.Dataset) -> Any:
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(dataset._as_serialized_graph().numpy())
    return graph


def test_u132_no_python_op_is_on_the_way_of_a_picture(df: pd.DataFrame) -> None:
    dataset = to_tf_dataset(df, 8, **SMALL)
    straight, all_ops = ops(dataset, branches=False), ops(dataset, branches=True)
    (picture,) = (i for i, found in enumerate(all_ops) if "DecodeJpeg" in found)
    assert "ReadFile" in all_ops[picture]
    assert PYTHON_OP not in straight[picture]
    assert all_ops[picture].count(PYTHON_OP) == 1  # for the files that TensorFlow cannot decode


def test_the_walk_sees_a_python_op(df: pd.DataFrame) -> None:
    dataset = to_tf_dataset(df, 8, **SMALL).map(
        lambda x, y: tf.numpy_function(lambda a: a, [x], tf.float32)
    )
    found, without = (ops(ds, branches=False) for ds in (dataset, dataset._input_dataset))
    assert sum(PYTHON_OP in run for run in found) == 1 + sum(PYTHON_OP in run for run in without)


# The size of the graph


@pytest.mark.parametrize("rows", [10, 1_000_000])
def test_u134_a_million_paths_stay_out_of_the_graph(rows: int) -> None:
    frame = pd.DataFrame({"filename": [f"/nowhere/{i:040}.jpg" for i in range(rows)]})
    dataset = to_tf_dataset(frame, 32, class_mode=None, validate=False)
    assert graph_of(dataset).ByteSize() < 300_000

    @tf.function
    def first() -> tf.Tensor:
        return next(iter(dataset))

    assert first.get_concrete_function().graph.as_graph_def().ByteSize() < 300_000


# Passes and epochs


def test_the_nth_pass_is_epoch_n(df: pd.DataFrame) -> None:
    dataset, twin = numbered(df), numbered(df)
    orders = [ids(dataset) for _ in range(3)]
    assert len({tuple(order) for order in orders}) == 3
    assert [ids(twin) for _ in range(3)] == orders


def test_an_iterator_that_is_never_read_is_no_pass(df: pd.DataFrame) -> None:
    dataset, twin = numbered(df), numbered(df)
    first = ids(dataset)
    iter(dataset), iter(dataset)
    assert [first, ids(dataset)] == [ids(twin), ids(twin)]


def test_passes_at_the_same_time_have_their_own_epochs(df: pd.DataFrame) -> None:
    dataset, twin = numbered(df), numbered(df)
    pairs = [(a[1].numpy().tolist(), b[1].numpy().tolist()) for a, b in zip(dataset, dataset)]  # noqa: B905
    assert [[y for pair in pairs for y in pair[i]] for i in range(2)] == [ids(twin), ids(twin)]


def test_repeat_goes_on_with_the_next_epochs(df: pd.DataFrame) -> None:
    endless, twin = numbered(df, repeat=True), numbered(df)
    assert endless.cardinality() == tf.data.INFINITE_CARDINALITY
    assert ids(endless.take(9)) == ids(twin) + ids(twin) + ids(twin)


def test_repeating_the_dataset_gives_the_next_epochs(df: pd.DataFrame) -> None:
    dataset, twin = numbered(df), numbered(df)
    assert ids(dataset.repeat(2)) == ids(twin) + ids(twin)


def test_u133_order_over_several_chunks_is_the_plans(df: pd.DataFrame) -> None:
    many = df.loc[np.arange(2500) % 20].assign(count=range(2500))
    found = ids(numbered(many, 100))
    assert sorted(found) == list(range(2500))
    assert found == ids(numbered(many, 7))


def test_a_pass_that_is_given_up_leaves_the_next_ones_whole(df: pd.DataFrame) -> None:
    dataset, twin = numbered(df, 2), numbered(df, 2)
    next(iter(dataset))
    ids(twin)
    assert ids(dataset) == ids(twin)


def test_u136_a_picture_is_traced_once(df: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = []
    picture = tfbatches.picture

    def counted(*args: Any, **keywords: Any) -> Any:
        traced.append(1)
        return picture(*args, **keywords)

    monkeypatch.setattr(tfbatches, "picture", counted)
    dataset = to_tf_dataset(df, 3, **SMALL)
    for _ in range(2):
        list(dataset)
    assert len(traced) == 1


def test_a_sequence_gives_its_dataset_from_its_epoch_on(df: pd.DataFrame) -> None:
    sequence = DataFrameSequence(df, 8, workers=0, class_mode="raw", y_col="count", **SMALL)
    sequence.set_epoch(2)
    twin = numbered(df)
    orders = [ids(twin) for _ in range(4)]
    dataset = sequence.to_tf_dataset(prefetch=1)
    assert [ids(dataset), ids(dataset)] == orders[2:]


# What the dataset says


def test_cardinality_is_known(df: pd.DataFrame) -> None:
    assert numbered(df).cardinality() == len(numbered(df)) == 3
    assert numbered(df, drop_remainder=True).cardinality() == 2


def test_u105_drop_remainder_makes_the_batch_size_static(df: pd.DataFrame) -> None:
    x, y = numbered(df, drop_remainder=True).element_spec
    assert x == tf.TensorSpec((8, 24, 32, 3), tf.float32)
    assert y == tf.TensorSpec((8,), tf.int64)


def test_classes_are_on_the_dataset(df: pd.DataFrame) -> None:
    dataset = to_tf_dataset(df, 8, **SMALL)
    assert dataset.class_names == ["cat", "dog", "emu"]
    again = to_tf_dataset(df[:2], 2, classes=dataset.encoder, **SMALL)
    assert again.class_indices == dataset.class_indices
    assert dataset.class_indices == {"cat": 0, "dog": 1, "emu": 2}


def test_the_autotuner_is_off(df: pd.DataFrame) -> None:
    options = numbered(df).options()
    assert options.autotune.enabled is False


def test_a_strategy_may_deal_out_the_whole_and_never_a_shard(df: pd.DataFrame) -> None:
    def policy(**spec: Any) -> Any:
        return numbered(df, **spec).options().experimental_distribute.auto_shard_policy

    policies = tf.data.experimental.AutoShardPolicy
    assert policy() == policies.DATA
    assert policy(shard=(0, 2)) == policies.OFF


def test_any_order_of_batches_has_the_same_rows(df: pd.DataFrame) -> None:
    loose = numbered(df, 3, deterministic=False, num_parallel_calls=4)
    assert sorted(ids(loose)) == sorted(ids(numbered(df, 3)))


def test_interpolations_without_an_op_are_refused(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"interpolation='lanczos'.*DataFrameSequence"):
        numbered(df, interpolation="lanczos")


# Errors


def broken(df: pd.DataFrame, tmp_path: Path, content: bytes) -> pd.DataFrame:
    path = tmp_path / "broken.jpg"
    path.write_bytes(content)
    out = df.copy()
    out.loc[4, "filename"] = str(path)
    return out


@pytest.mark.parametrize("content", [b"", b"<html>", b"\xff\xd8\xff\xe0", "half"])
def test_a_broken_file_names_row_and_path(
    df: pd.DataFrame, tmp_path: Path, content: bytes | str
) -> None:
    if content == "half":
        whole = Path(df["filename"][1]).read_bytes()
        content = whole[: len(whole) // 2]
    frame = broken(df, tmp_path, content)  # type: ignore[arg-type]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"DecodeError: Row 4: .*broken\.jpg"):
        list(numbered(frame))


def test_a_missing_file_names_row_and_path(df: pd.DataFrame) -> None:
    df.loc[11, "filename"] = "/nowhere/gone.jpg"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"DecodeError: Row 11: .*gone\.jpg"):
        list(numbered(df, validate=False))


def test_sizes_that_differ_without_a_target_size_name_both_rows(df: pd.DataFrame) -> None:
    dataset = to_tf_dataset(df, 8, target_size=None, shuffle=False)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"DecodeError: Row 1: .*target_size=None"
    ):
        list(dataset)

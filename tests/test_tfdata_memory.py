"""A dataset lives as long as what is made of it, and no longer."""

import gc
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from dfloader import read_tfrecords, to_tf_dataset, write_tfrecords

SPEC: dict[str, Any] = {"target_size": (8, 8), "seed": 3, "dtype": "uint8"}

Build = Callable[[], tf.data.Dataset]


class Heavy:
    """What a user's callable may hold: gone with the dataset, or never."""

    def __call__(self, image: np.ndarray) -> np.ndarray:
        return image


def arrays() -> pd.DataFrame:
    pixels = np.arange(8 * 9 * 9 * 3, dtype=np.uint8).reshape(8, 9, 9, 3)
    return pd.DataFrame({"image": list(pixels), "class": list("abcd") * 2})


def built(heavy: Heavy) -> tf.data.Dataset:
    return to_tf_dataset(arrays(), 4, augment=heavy, **SPEC)


def read(ds: tf.data.Dataset) -> None:
    assert len(list(ds)) == 2


def read_in_part(ds: tf.data.Dataset) -> None:
    next(iter(ds))


def read_in_a_function(ds: tf.data.Dataset) -> None:
    assert counted(ds)() == 2


def fitted(ds: tf.data.Dataset) -> None:
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    model.fit(ds, shuffle=False, verbose=0)


def counted(ds: tf.data.Dataset) -> Any:
    @tf.function
    def count() -> tf.Tensor:
        n = tf.constant(0)
        for _ in ds:
            n += 1
        return n

    return count


def gone(refs: Iterable["weakref.ref[Any]"]) -> bool:
    """Wait until all are: cycles go with the collector, and some with TensorFlow's next op."""
    end = time.monotonic() + 10
    while any(ref() is not None for ref in refs) and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    return all(ref() is None for ref in refs)


@pytest.mark.parametrize("use", [len, read, read_in_part, read_in_a_function, fitted])
def test_a_dataset_that_nobody_has_leaves_no_memory(use: Callable[[Any], Any]) -> None:
    refs = []
    for _ in range(2):
        heavy = Heavy()
        refs.append(weakref.ref(heavy))
        use(built(heavy))
        del heavy
    assert gone(refs)


def test_records_that_nobody_reads_leave_no_memory(df: pd.DataFrame, tmp_path: Path) -> None:
    write_tfrecords(df, tmp_path, shards=2)
    heavy = Heavy()
    ds = read_tfrecords(tmp_path, 8, augment=heavy, **SPEC)
    assert len(list(ds)) == 3
    ref = weakref.ref(heavy)
    del ds, heavy
    assert gone([ref])


def iterator() -> Any:
    return iter(built(Heavy()))


def derived() -> Any:
    return built(Heavy()).unbatch().batch(4).prefetch(1)


def made_of_its_tensor() -> Any:
    ds = built(Heavy())
    return tf.data.experimental.from_variant(tf.data.experimental.to_variant(ds), ds.element_spec)


def made_inside_another() -> Any:
    return tf.data.Dataset.range(1).flat_map(lambda _: built(Heavy()))


def captured_by_another() -> Any:
    ds = built(Heavy())
    return tf.data.Dataset.range(1).flat_map(lambda _: ds)


def distributed() -> Any:
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    return strategy.distribute_datasets_from_function(lambda _: built(Heavy()))


def after_clear_session() -> Any:
    ds = built(Heavy())
    keras.backend.clear_session()
    tf.compat.v1.reset_default_graph()
    return ds


@pytest.mark.parametrize(
    "make",
    [
        iterator,
        derived,
        made_of_its_tensor,
        made_inside_another,
        captured_by_another,
        distributed,
        after_clear_session,
    ],
)
def test_what_is_made_of_a_dataset_keeps_it(make: Callable[[], Any]) -> None:
    made = make()
    gc.collect()
    assert sum(1 for _ in made) == 2


def test_a_concrete_function_keeps_its_dataset() -> None:
    count = counted(built(Heavy())).get_concrete_function()
    gc.collect()
    assert count() == count() == 2


def test_a_function_keeps_the_dataset_that_it_builds() -> None:
    @tf.function
    def total() -> tf.Tensor:
        return built(Heavy()).reduce(0, lambda n, _: n + 1)

    assert total() == 2
    gc.collect()
    assert total() == 2


def test_skipped_rows_are_still_logged_where_only_the_iterator_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff no more")
    frame = pd.DataFrame({"filename": [str(tmp_path / "broken.jpg")], "class": ["a"]})
    batches = iter(to_tf_dataset(frame, 1, on_error="skip", **SPEC))
    gc.collect()
    assert len(list(batches)) == 1
    assert "broken.jpg" in caplog.text

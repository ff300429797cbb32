"""Every engine against one reference in this process: the same batches, over two epochs.

The reference is `DataFrameSequence(workers=0)`: the calling thread, one batch after the other.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from dfloader import DataFrameSequence, LabelEncoder, to_tf_dataset

# What resizing may differ by: promise 2 of the public contract.
TOLERANCE = {"float32": 0.02, "uint8": 1, "uint16": 257}

SPECS: dict[str, dict[str, Any]] = {
    "default": {},
    "categorical with an order": {"classes": ["emu", "cat", "dog"]},
    "categorical of an encoder": {"classes": LabelEncoder(("dog", "emu", "cat"))},
    "unknown labels dropped": {"classes": ["emu", "cat"], "unknown": "drop"},
    "sparse": {"class_mode": "sparse"},
    "binary": {"class_mode": "binary", "y_col": "even"},
    "multilabel": {"class_mode": "multilabel", "y_col": "tags", "label_sep": " "},
    "raw whole numbers": {"class_mode": "raw", "y_col": "count"},
    "raw fractions": {"class_mode": "raw", "y_col": "size"},
    "raw columns": {"class_mode": "raw", "y_col": ["size", "count"]},
    "several outputs": {"class_mode": {"class": "categorical", "size": "raw"}},
    "x itself": {"class_mode": "input"},
    "x alone": {"class_mode": None},
    "weights": {"weight_col": "size"},
    "weights of x itself": {"class_mode": "input", "weight_col": "size"},
    "balanced class weights": {"class_weight": "balanced"},
    "weights of several outputs": {
        "class_mode": {"class": "sparse", "size": "raw"},
        "weight_col": {"class": "size", "size": "count"},
    },
    "extra columns": {"extra_cols": {"meta": ["size", "count"]}},
    "extra columns, x alone": {"extra_cols": {"meta": ["size"]}, "class_mode": None},
    "extra columns and x itself": {"extra_cols": {"meta": ["size"]}, "class_mode": "input"},
    "in order": {"shuffle": False},
    "remainder dropped": {"drop_remainder": True},
    "another seed": {"seed": 2**63},
    "first shard": {"shard": (0, 3)},
    "padded shard": {"shard": (2, 3), "class_mode": "sparse"},
    "balanced sampler": {"sampler": "balanced", "samples_per_epoch": 50},
    "grayscale": {"color_mode": "grayscale"},
    "rgba": {"color_mode": "rgba"},
    "nearest": {"interpolation": "nearest"},
    "area": {"interpolation": "area"},
    "area, larger": {"interpolation": "area", "target_size": (90, 48)},
    "crop": {"resize_mode": "crop"},
    "crop, wide, area": {"resize_mode": "crop", "target_size": (24, 80), "interpolation": "area"},
    "pad": {"resize_mode": "pad"},
    "pad, nearest, uint8": {"resize_mode": "pad", "interpolation": "nearest", "dtype": "uint8"},
    "uint8": {"dtype": "uint8"},
    "uint8, area": {"dtype": "uint8", "interpolation": "area"},
    "uint16": {"dtype": "uint16"},
    "rescaled": {"rescale": 1 / 255},
    "every pixel": {"decode": "full"},
    "every pixel, crop, uint8": {"decode": "full", "resize_mode": "crop", "dtype": "uint8"},
    "one size, unresized": {"target_size": None, "one_size": True, "dtype": "uint8"},
    "one size, as stored": {"target_size": None, "one_size": True, "color_mode": "unchanged"},
}


@pytest.fixture
def frame(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(
        even=[("no", "yes")[i % 2] for i in range(20)],
        tags=[("a", "b a", "", "c b a")[i % 4] for i in range(20)],
    )


def reference(frame: pd.DataFrame, spec: dict[str, Any], epoch: int) -> list[Any]:
    seq = DataFrameSequence(frame, 8, workers=0, **spec)
    seq.set_epoch(epoch)
    return [seq[i] for i in range(len(seq))]


def assert_equal(got: Any, wanted: Any, spec: dict[str, Any]) -> None:
    """Compare two batches: pictures within the tolerance, everything else exactly."""
    tf.nest.assert_same_structure(got, wanted)
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(wanted), strict=True):
        a = np.asarray(a)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        exact = b.ndim < 4 or spec.get("interpolation") == "nearest" or spec["target_size"] is None
        atol = 0 if exact else TOLERANCE[b.dtype.name] * spec.get("rescale", 1)
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=0, atol=atol)


def assert_fits(said: Any, batch: Any, spec: dict[str, Any]) -> None:
    """Check that the element spec says what a batch is, and all that can be known of it."""
    tf.nest.assert_same_structure(said, batch)
    for one, part in zip(tf.nest.flatten(said), tf.nest.flatten(batch), strict=True):
        assert one.dtype == part.dtype
        assert one.shape.is_compatible_with(part.shape)
        assert None not in one.shape[1:] or spec["target_size"] is None


@pytest.mark.parametrize("name", SPECS)
def test_dataset_gives_the_batches_of_the_sequence(frame: pd.DataFrame, name: str) -> None:
    spec = {"target_size": (32, 48), "seed": 5, **SPECS[name]}
    if spec.pop("one_size", False):
        frame = frame.iloc[[0, 5, 10]]
    dataset = to_tf_dataset(frame, 8, **spec)
    assert_fits(dataset.element_spec, reference(frame, spec, 0)[-1], spec)
    for epoch in range(2):
        batches = list(dataset)
        wanted = reference(frame, spec, epoch)
        assert len(batches) == len(wanted) == len(dataset)
        for got, want in zip(batches, wanted, strict=True):
            assert_equal(got, want, spec)


def test_the_comparison_sees_a_difference(frame: pd.DataFrame) -> None:
    spec = {"target_size": (32, 48), "seed": 5}
    (x, y), *_ = reference(frame, spec, 0)
    for other in ((x + 0.03, y), (x, 1 - y), (x, y.astype(float)), (x[:-1], y[:-1])):
        with pytest.raises(AssertionError):
            assert_equal(other, (x, y), spec)


def test_an_epoch_has_its_own_order(frame: pd.DataFrame) -> None:
    dataset = to_tf_dataset(frame, 20, class_mode="raw", y_col="count", seed=5)
    first, second = (next(iter(dataset))[1].numpy().tolist() for _ in range(2))
    assert first != second
    assert sorted(first) == sorted(second) == list(range(20))


@pytest.mark.parametrize("source", ["path", "bytes"])
def test_sources_are_equal(frame: pd.DataFrame, source: str) -> None:
    if source == "bytes":
        frame = frame.assign(filename=[Path(p).read_bytes() for p in frame["filename"]])
    spec = {"target_size": (32, 48), "seed": 5, "shuffle": False}
    for got, want in zip(to_tf_dataset(frame, 8, **spec), reference(frame, spec, 0), strict=True):
        assert_equal(got, want, spec)

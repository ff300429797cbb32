"""Keras layers as augmentation: on batches, pure in (seed, epoch, batch)."""

from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
from callables import darker

from dfloader import Augment, DataFrameSequence, to_tf_dataset

OPTIONS: dict[str, Any] = {"target_size": (16, 16), "seed": 1, "shuffle": False}


def layers() -> list[Any]:
    return [keras.layers.RandomFlip(), keras.Sequential([keras.layers.RandomRotation(0.2)])]


def sequence(df: pd.DataFrame, augment: Any, **options: Any) -> DataFrameSequence:
    return DataFrameSequence(df, 8, augment=augment, **{**OPTIONS, **options})


def test_layers_change_batches_the_same_for_any_order_and_worker_count(df: pd.DataFrame) -> None:
    seq = sequence(df, [Augment(rotation=9), darker, *layers()], workers=0)
    batches = [seq[i] for i in range(3)]
    assert batches[0][0].dtype == np.float32 and isinstance(batches[0][0], np.ndarray)
    plain = sequence(df, [Augment(rotation=9), darker], workers=0)[0][0]
    assert not np.array_equal(batches[0][0], plain)
    for i in (2, 0, 1):
        np.testing.assert_array_equal(seq[i][0], batches[i][0])
    for processes in (False, True):
        augment = [Augment(rotation=9), darker, *layers()]
        with sequence(df, augment, workers=2, use_multiprocessing=processes) as other:
            for ours, theirs in zip(batches, other, strict=True):
                np.testing.assert_array_equal(ours[0], theirs[0])


def test_epochs_and_batches_have_draws_of_their_own(df: pd.DataFrame) -> None:
    frame = pd.concat([df.iloc[:8]] * 2, ignore_index=True)
    seq = sequence(frame, keras.layers.RandomRotation(0.5), workers=0)
    first = seq[0][0]
    assert not np.array_equal(first, seq[1][0])
    seq.set_epoch(1)
    assert not np.array_equal(first, seq[0][0])


def test_layer_before_a_callable_is_an_error(df: pd.DataFrame) -> None:
    with pytest.raises(TypeError, match="Keras layers work on whole batches, so they come after"):
        sequence(df, [keras.layers.RandomFlip(), darker])


def test_images_as_targets_are_changed_too(df: pd.DataFrame) -> None:
    x, y = sequence(df, keras.layers.RandomFlip(), class_mode="input", workers=0)[0]
    np.testing.assert_array_equal(x, y)


def test_eval_has_no_layers(df: pd.DataFrame) -> None:
    seq = sequence(df, keras.layers.RandomRotation(0.5), workers=0)
    np.testing.assert_array_equal(seq.eval()[0][0], sequence(df, None, workers=0)[0][0])


def test_dataset_gives_the_batches_of_the_sequence(df: pd.DataFrame) -> None:
    ds = to_tf_dataset(df, 8, augment=[Augment(rotation=9), darker, *layers()], **OPTIONS)
    seq = sequence(df, [Augment(rotation=9), darker, *layers()], workers=0)
    for epoch in range(2):
        seq.set_epoch(epoch)
        for (x, y), (tx, ty) in zip(seq, ds, strict=True):
            np.testing.assert_allclose(tx, x, atol=0.02)
            np.testing.assert_array_equal(ty, y)
    assert ds.element_spec[0].shape.as_list() == [None, 16, 16, 3]

"""A training that goes on in the middle of an epoch is the training that was not broken off."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameSequence
from dfloader.resume import Resume

SPEC = {"target_size": (8, 8), "seed": 3, "rescale": 1 / 255}

pytestmark = pytest.mark.filterwarnings(
    # Keras 3.15 writes weights in a way that NumPy 2 advises against.
    "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning"
)


class Killed(BaseException):
    pass


def model() -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = [keras.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(3)]
    network = keras.Sequential(layers)
    network.compile(keras.optimizers.Adam(0.01), "mse")
    return network


def train(
    df: pd.DataFrame, folder: Path, *, kill_at: tuple[int, int] | None = None, **staff: Any
) -> tuple[list[Any], list[tuple[int, int]]]:
    """Train three epochs of five batches, or until the kill; give weights and steps."""
    network = model()
    steps: list[tuple[int, int]] = []
    epochs: list[int] = []

    def step(batch: int, logs: Any) -> None:
        steps.append((epochs[-1], batch))
        if kill_at == steps[-1]:
            raise Killed

    hook = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: epochs.append(epoch), on_train_batch_end=step
    )
    with DataFrameSequence(df, 4, **SPEC, **staff) as seq, suppress(Killed):
        Resume(seq, folder, every=2).fit(network, epochs=3, callbacks=[hook], verbose=0)
    return network.get_weights(), steps


@pytest.mark.parametrize("staff", [{"workers": 0}, {"workers": 2}], ids=["inline", "threads"])
@pytest.mark.parametrize(
    ("kill_at", "epoch", "rest"), [((0, 1), 0, 5), ((1, 3), 1, 3), ((1, 4), 1, 1), ((2, 0), 2, 5)]
)
def test_the_weights_are_those_of_a_training_in_one_piece(
    df: pd.DataFrame,
    tmp_path: Path,
    kill_at: tuple[int, int],
    epoch: int,
    rest: int,
    staff: dict[str, Any],
) -> None:
    whole, _ = train(df, tmp_path / "whole")
    train(df, tmp_path / "parts", kill_at=kill_at, **staff)
    got, steps = train(df, tmp_path / "parts", **staff)
    later = [(e, batch) for e in range(epoch + 1, 3) for batch in range(5)]
    assert steps == [(epoch, batch) for batch in range(rest)] + later
    for a, b in zip(got, whole, strict=True):
        assert np.array_equal(a, b)


def test_a_finished_training_trains_no_more(df: pd.DataFrame, tmp_path: Path) -> None:
    train(df, tmp_path)
    assert train(df, tmp_path)[1] == []
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["0003-00000000.weights.h5", "state.json"]


def test_the_history_has_every_epoch(df: pd.DataFrame, tmp_path: Path) -> None:
    train(df, tmp_path, kill_at=(0, 3))
    with DataFrameSequence(df, 4, **SPEC) as seq:
        history = Resume(seq, tmp_path).fit(model(), epochs=3, verbose=0)
    assert list(history) == ["loss"]
    assert len(history["loss"]) == 3

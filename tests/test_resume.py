"""A training that goes on in the middle of an epoch is the training that was not broken off."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameSequence, Resume

ROOT = Path(__file__).parent.parent
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
def test_u148_the_weights_are_those_of_a_training_in_one_piece(
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


def test_a_kill_while_weights_are_written_leaves_the_state_before(
    df: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = train(df, tmp_path / "whole")
    save, left = keras.Model.save_weights, [1]

    def dying(self: Any, path: Path, **words: Any) -> None:
        if not left:
            path.write_bytes(b"half of it")
            raise Killed
        left.pop()
        save(self, path, **words)

    monkeypatch.setattr(keras.Sequential, "save_weights", dying, raising=False)
    train(df, tmp_path / "parts")
    monkeypatch.undo()
    got, steps = train(df, tmp_path / "parts")
    assert steps[0] == (0, 0) and len(steps) == 3 + 5 + 5  # from batch 2 of epoch 0 on
    for a, b in zip(got, whole, strict=True):
        assert np.array_equal(a, b)


def test_a_training_that_was_told_to_stop_in_the_rest_of_an_epoch_stops(
    df: pd.DataFrame, tmp_path: Path
) -> None:
    train(df, tmp_path, kill_at=(0, 3))
    network = model()
    stop = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: setattr(network, "stop_training", True)
    )
    with DataFrameSequence(df, 4, **SPEC) as seq:
        history = Resume(seq, tmp_path).fit(network, epochs=3, callbacks=[stop], verbose=0)
    assert len(history["loss"]) == 1


def test_a_fit_that_could_not_go_on_is_refused(df: pd.DataFrame, tmp_path: Path) -> None:
    with DataFrameSequence(df, 4, **SPEC) as seq:
        resume = Resume(seq, tmp_path)
        with pytest.raises(RuntimeError, match=r"Resume\(seq, folder\)\.fit\(model, epochs="):
            model().fit(seq, callbacks=[resume], verbose=0)
        with pytest.raises(TypeError, match=r"steps_per_epoch=2: Resume\.fit says this itself"):
            resume.fit(model(), epochs=1, steps_per_epoch=2)


# The parent never trained when it goes on: all that it knows is in the folder.
KILLED = """
import os, signal, sys
import pandas as pd
from dfloader import DataFrameSequence, Resume
from dfloader.backend import keras

folder, *files = sys.argv[1:]
df = pd.DataFrame({"filename": files, "class": [("cat", "dog", "emu")[i % 3] for i in range(20)]})

def train(folder, optimizer, kill_at=None):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile(optimizer, "mse")
    steps, epochs = [], []
    def step(batch, logs):
        steps.append((epochs[-1], batch))
        if steps[-1] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    hook = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: epochs.append(epoch), on_train_batch_end=step)
    spec = {"target_size": (8, 8), "seed": 3, "rescale": 1 / 255, "workers": 2}
    with DataFrameSequence(df, 4, **spec) as seq:
        Resume(seq, folder, every=2).fit(model, epochs=3, callbacks=[hook], verbose=0)
    return model.get_weights(), steps

child = os.fork()
if not child:
    train(folder + "/parts", keras.optimizers.Adam(0.01), (1, 3))
_, status = os.waitpid(child, 0)
assert os.WTERMSIG(status) == signal.SIGKILL, status
parts, steps = train(folder + "/parts", keras.optimizers.Adam(0.01))
whole, _ = train(folder + "/whole", keras.optimizers.Adam(0.01))
assert all((a == b).all() for a, b in zip(parts, whole, strict=True))
if keras.__name__ == "tf_keras":
    try:
        train(folder + "/old", keras.optimizers.legacy.Adam(0.01))
    except ValueError as error:
        assert "Compile the model with keras.optimizers.Adam." in str(error), error
    else:
        raise AssertionError("a legacy optimizer was taken")
print(keras.__name__, *steps)
"""


@pytest.mark.parametrize("package", ["keras", "tf_keras"])
def test_u148_kill_9_in_an_epoch_and_a_restart_give_the_batches_that_would_have_come(
    package: str, df: pd.DataFrame, tmp_path: Path
) -> None:
    env = {**os.environ, "TF_USE_LEGACY_KERAS": str(int(package == "tf_keras"))}
    command = [sys.executable, "-c", KILLED, str(tmp_path), *df["filename"]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    steps = [(1, 0), (1, 1), (1, 2), *((2, batch) for batch in range(5))]
    assert done.stdout.split("\n")[0] == f"{package} {' '.join(map(str, steps))}"

"""A sequence inside Keras: which rows, which epoch, whose workers."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameSequence, DecodeError

SMALL = {"target_size": (8, 8), "seed": 3, "class_mode": "raw", "y_col": "count"}
STAFFS = {
    "inline": {"workers": 0},
    "thread": {"workers": 1},
    "threads": {"workers": 2},
    "processes": {"workers": 2, "use_multiprocessing": True},
    "fork": {"workers": 2, "use_multiprocessing": True, "start_method": "fork"},
}

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*multi-threaded, use of fork:DeprecationWarning"  # as in test_workers.py
)


class Rows(keras.Model):
    """A model that gives back, as its metric, which rows it has seen: y is the row."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[int]] = []

    def train_step(self, data: Any) -> dict[str, Any]:
        self.seen.append([int(y) for y in data[1].numpy()])
        return {"loss": keras.ops.zeros(())}

    test_step = train_step

    def predict_step(self, data: Any) -> Any:
        return data[0][:, 0, 0, 0]

    def call(self, x: Any) -> Any:
        return x


def recorder() -> Rows:
    model = Rows()
    model.compile(run_eagerly=True)
    return model


@pytest.fixture(params=STAFFS.values(), ids=STAFFS)
def staff(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Keras starts processes of its own")

    monkeypatch.setattr(multiprocessing, "Pool", refuse)
    said: dict[str, Any] = request.param
    return said


def test_u083_u096_fit_sees_the_rows_of_epochs_0_1_2(
    df: pd.DataFrame, staff: dict[str, Any]
) -> None:
    model = recorder()
    with DataFrameSequence(df, 6, **SMALL, **staff) as seq:
        expected = []
        for epoch in range(5):
            seq.set_epoch(epoch)
            expected.append(sorted(sorted(seq.rows(i).tolist()) for i in range(4)))
        seq.set_epoch(0)
        for epochs in (3, 2):  # a second fit goes on
            model.fit(seq, epochs=epochs, verbose=0)
    got = [sorted(sorted(rows) for rows in model.seen[4 * e : 4 * e + 4]) for e in range(5)]
    assert got == expected


def test_without_shuffle_the_batches_come_in_order(df: pd.DataFrame, staff: dict[str, Any]) -> None:
    model = recorder()
    with DataFrameSequence(df, 6, shuffle=False, **SMALL, **staff) as seq:
        model.fit(seq, shuffle=False, verbose=0)
    assert np.concatenate(model.seen).tolist() == list(range(20))


def test_u082_validation_sees_every_row_after_every_epoch(
    df: pd.DataFrame, staff: dict[str, Any]
) -> None:
    model = recorder()
    with (
        DataFrameSequence(df[:12], 6, **SMALL, **staff) as train,
        DataFrameSequence(df[12:], 6, **SMALL, **staff).eval() as val,
    ):
        model.fit(train, validation_data=val, epochs=2, verbose=0)
    epochs = [model.seen[:4], model.seen[4:]]
    for seen in epochs:
        assert sorted(np.concatenate(seen[:2]).tolist()) == list(range(12))
        assert np.concatenate(seen[2:]).tolist() == list(range(12, 20))


def test_evaluate_and_predict_see_each_row_once(df: pd.DataFrame, staff: dict[str, Any]) -> None:
    model = recorder()
    with DataFrameSequence(df, 6, **SMALL, **staff).eval() as seq:
        model.evaluate(seq, verbose=0)
        predicted = model.predict(seq, verbose=0)
        expected = np.concatenate([x[:, 0, 0, 0] for x, _ in seq])
    assert np.concatenate(model.seen).tolist() == list(range(20))
    assert np.array_equal(predicted, expected)


def test_an_error_reaches_the_caller_of_fit(
    df: pd.DataFrame, staff: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff not a picture")
    df.loc[7, "filename"] = str(tmp_path / "broken.jpg")
    seq = DataFrameSequence(df, 6, **SMALL, **staff)
    with seq, pytest.raises(Exception, match=r"Row 7: .*broken\.jpg") as caught:
        recorder().fit(seq, verbose=0)
    assert isinstance(caught.value, DecodeError) or "DecodeError" in str(caught.value)


def test_fewer_steps_than_batches_train_that_many(df: pd.DataFrame) -> None:
    model = recorder()
    with DataFrameSequence(df, 4, **SMALL) as seq:
        model.fit(seq, steps_per_epoch=2, epochs=2, verbose=0)
    assert len(model.seen) == 4


def run(source: str, folder: Path, **environment: str) -> str:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(source))
    done = subprocess.run(
        [sys.executable, str(script)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parent.parent),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_u082_a_script_without_a_guard_trains_with_processes_that_load_no_framework(
    df: pd.DataFrame, tmp_path: Path
) -> None:
    df.to_csv(tmp_path / "frame.csv")
    out = run(
        """
        print("run")
        import keras, pandas as pd, psutil
        from dfloader import DataFrameSequence

        seq = DataFrameSequence(
            pd.read_csv("frame.csv"), 6, target_size=(8, 8), workers=2, use_multiprocessing=True
        )
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
        model.compile(loss="mse")
        model.fit(seq, epochs=2, verbose=0)
        workers = [p for p in psutil.Process().children(recursive=True) if p.num_threads() > 0]
        mapped = [m.path for p in workers for m in p.memory_maps()]
        print(len(workers) >= 2, any("tensorflow" in path for path in mapped))
        """,
        tmp_path,
    )
    assert out == "run\nTrue False\n"


@pytest.mark.parametrize("fit", ["", "workers=2", "workers=2, use_multiprocessing=True"])
def test_epochs_count_0_1_2_under_tf_keras(df: pd.DataFrame, tmp_path: Path, fit: str) -> None:
    pytest.importorskip("tf_keras")
    df.to_csv(tmp_path / "frame.csv")
    out = run(
        f"""
        import time
        import pandas as pd, tf_keras
        from dfloader import DataFrameSequence

        seq = DataFrameSequence(pd.read_csv("frame.csv"), 6, target_size=(8, 8), seed=1)
        model = tf_keras.Sequential([tf_keras.layers.Flatten(), tf_keras.layers.Dense(3)])
        model.compile(loss="mse")
        epochs = []

        def validate(epoch, logs):
            time.sleep(0.5)  # the enqueuer has the time to end the epoch, too
            epochs.append(seq.epoch)

        callback = tf_keras.callbacks.LambdaCallback(on_epoch_end=validate)
        model.fit(seq, epochs=2, verbose=0, callbacks=[callback], {fit})
        print(epochs, seq.epoch)
        """,
        tmp_path,
        TF_USE_LEGACY_KERAS="1",
    )
    assert out.splitlines()[-1] == "[0, 1] 2"

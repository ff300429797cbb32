"""Keras on PyTorch and JAX, where they are installed: every row once an epoch, in new orders."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parent.parent

# The loss of a batch is the mean of its row numbers: an epoch's is their mean if none is missing.
CODE = """
import json, sys
import keras, numpy as np, pandas as pd
from dfloader import DataFrameSequence

df = pd.read_csv(sys.argv[1]).assign(number=np.arange(20.0))
staff = json.loads(sys.argv[2])

class Numbers(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return keras.ops.mean(y_true, axis=-1) + 0 * keras.ops.sum(y_pred)

model = keras.Sequential([keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(1)])
model.compile("sgd", Numbers())
spec = {"y_col": "number", "class_mode": "raw", "target_size": (8, 8), "seed": 3}
with DataFrameSequence(df, 4, **spec, **staff) as seq:
    losses = model.fit(seq, epochs=3, verbose=0).history["loss"]
    loss = model.evaluate(seq.eval(), verbose=0)
    said = {"losses": losses, "loss": loss, "epoch": seq.epoch, "backend": keras.backend.backend()}
    said["predicted"] = model.predict(seq.eval(), verbose=0).shape
print(json.dumps(said))
"""


@pytest.mark.parametrize(
    "staff", [{"workers": 0}, {"workers": 2}, {"workers": 2, "use_multiprocessing": True}], ids=str
)
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_fit_evaluate_and_predict_see_every_row_once(
    backend: str, staff: dict[str, object], df: pd.DataFrame, tmp_path: Path
) -> None:
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    df.to_csv(tmp_path / "df.csv", index=False)
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)}
    environment.pop("TF_USE_LEGACY_KERAS", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "df.csv"), json.dumps(staff)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["backend"] == backend
    assert said["losses"] == pytest.approx([9.5] * 3) and said["loss"] == pytest.approx(9.5)
    assert said["epoch"] == 3 and said["predicted"] == [20, 1]

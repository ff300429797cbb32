"""A training that is killed in the middle of an epoch goes on there, to the same weights.

    python examples/resume_after_kill.py [FOLDER]

A second process trains and kills itself; this one resumes. Ends with exit status 1 if the weights
are not those of a training in one piece.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input

from dfloader import Augment, DataFrameSequence
from dfloader.resume import Resume

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
EPOCHS = 4
FATAL_BATCH = 26  # of 18 an epoch: in the middle of the second


class Kill(keras.callbacks.Callback):
    """Kill this process, as a scheduler would, without a chance to store anything."""

    left = FATAL_BATCH

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


def train(folder: Path, callbacks: tuple[keras.callbacks.Callback, ...] = ()) -> list[np.ndarray]:
    """Train up to EPOCHS epochs, from where the folder says training was; give the weights."""
    df = pd.read_csv(SAMPLE_DATA / "labels.csv")
    said = {"directory": SAMPLE_DATA, "target_size": (32, 32), "rescale": 1 / 255, "seed": 1}
    seq = DataFrameSequence(df, 16, augment=Augment(rotation=10), **said)
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            Input((32, 32, 3)),
            Conv2D(16, 3, strides=2, activation="relu"),
            Flatten(),
            Dense(4, activation="softmax"),
        ]
    )
    model.compile("adam", "categorical_crossentropy")
    resume = Resume(seq, folder, every=3)
    print("from the start" if resume.state is None else f"from {resume.state}", flush=True)
    resume.fit(model, epochs=EPOCHS, callbacks=callbacks, verbose=2)
    return model.get_weights()


def main(folder: Path) -> None:
    killed = subprocess.call([sys.executable, __file__, str(folder), "--kill"])
    print(f"the training ended with {killed}")
    pieces, whole = train(folder / "killed"), train(folder / "whole")
    same = all(np.array_equal(a, b) for a, b in zip(pieces, whole, strict=True))
    print(f"weights equal those of a training in one piece: {same}")
    sys.exit(0 if same and killed == -signal.SIGKILL else 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--kill", action="store_true", help="what the second process does")
    said = parser.parse_args()
    if said.kill:
        train(said.folder / "killed", (Kill(),))
    with tempfile.TemporaryDirectory() as temporary:
        main(said.folder or Path(temporary))

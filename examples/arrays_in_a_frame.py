"""Large arrays in a frame, trained from tf.data without becoming constants of the graph.

    python examples/arrays_in_a_frame.py

`Dataset.from_tensor_slices` writes its arrays into the graph, which may hold 2 GB. Ends with exit
status 1 if the graph of the frame's dataset grows with the frame, or if the loss does not fall.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import imageio.v3 as iio
import keras
import numpy as np
import pandas as pd
import tensorflow as tf
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
SIZE = (32, 32)


def graph_size(dataset: Callable[[], tf.data.Dataset]) -> int:
    """Give the bytes of the graph of a function that makes a dataset and reads it."""
    read = tf.function(lambda: dataset().reduce(0, lambda count, *_: count + 1))
    return read.get_concrete_function().graph.as_graph_def().ByteSize()


df = pd.read_csv(SAMPLE_DATA / "labels.csv")
# Arrays (h, w, c) as another program would hand them over; each may have a size of its own.
df["pixels"] = [iio.imread(SAMPLE_DATA / name) for name in df["filename"]]
megabytes = df["pixels"].map(lambda pixels: pixels.nbytes).sum() / 1e6

print(f"{len(df)} arrays of {megabytes:.1f} MB in all")


def slices() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(np.concatenate([a.ravel() for a in df["pixels"]]))


def batches(rows: int) -> tf.data.Dataset:
    said = {"target_size": SIZE, "rescale": 1 / 255, "class_mode": "sparse", "seed": 1}
    return to_tf_dataset(df.head(rows), 16, x_col="pixels", **said)


few, many = (graph_size(lambda rows=rows: batches(rows)) for rows in (28, 280))
print(f"graph of from_tensor_slices: {graph_size(slices) / 1e6:.3f} MB")
print(f"graph of to_tf_dataset: {few / 1e6:.3f} MB for 28 rows, {many / 1e6:.3f} MB for 280")

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        Input((*SIZE, 3)),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(32, 3, activation="relu"),
        MaxPooling2D(),
        Flatten(),
        Dense(4, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
first, *_, last = model.fit(batches(len(df)), epochs=5, verbose=2).history["loss"]
print(f"loss {first:.2f} -> {last:.2f}")
if last > 0.8 * first or many > few + 1000:
    sys.exit("The loss did not fall, or the arrays are in the graph.")

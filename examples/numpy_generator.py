"""A dataset as an endless NumPy generator: `fit_generator(generator, steps_per_epoch, workers=0)`.

    python examples/numpy_generator.py

Ends with exit status 1 if the loss does not fall, or if an epoch is not the whole frame.
"""

import math
import sys
from collections import Counter
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import fit_generator, to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
BATCH_SIZE = 16

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
ds = to_tf_dataset(
    df,
    BATCH_SIZE,
    directory=SAMPLE_DATA,
    target_size=(32, 32),
    rescale=1 / 255,
    class_mode="sparse",
    seed=1,
    repeat=True,
)
steps = math.ceil(len(df) / BATCH_SIZE)
generator = ds.as_numpy_iterator()

# What comes out is plain NumPy, epoch after epoch, each with an order of its own.
epoch = [next(generator) for _ in range(steps)]
x, y = epoch[0]
print(f"first batch: images {x.shape} {x.dtype}, labels {y.shape} {y.dtype}")
labels = np.concatenate([y for _, y in epoch])
seen = Counter(ds.class_names[label] for label in labels)
print(f"first epoch: {dict(sorted(seen.items()))}")
if seen != Counter(df["class"]):
    sys.exit("An epoch is not the whole frame.")

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        Input((32, 32, 3)),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(32, 3, activation="relu"),
        MaxPooling2D(),
        Flatten(),
        Dense(4, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
# workers=0 reads the generator in the calling thread: tf.data has threads of its own.
history = fit_generator(model, generator, steps_per_epoch=steps, epochs=5, workers=0, verbose=2)
first, *_, last = history.history["loss"]
print(f"loss {first:.2f} -> {last:.2f}")
if last > 0.8 * first:
    sys.exit("The loss did not fall.")

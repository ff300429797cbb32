"""`model.fit(to_tf_dataset(df))`: a frame as a native tf.data pipeline.

    python examples/fit_tf_dataset.py

Ends with exit status 1 if the network learns nothing, or if the sequence gives other batches.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import DataFrameSequence, to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
said = {"directory": SAMPLE_DATA, "target_size": (32, 32), "rescale": 1 / 255, "seed": 1}
training, held_out = df[df["split"] == "train"], df[df["split"] == "val"]
train = to_tf_dataset(training, 16, **said)
validation = to_tf_dataset(held_out, 16, classes=train.class_names, shuffle=False, **said)

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
model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
# The dataset shuffles by itself, over the whole frame: its n-th pass is epoch n.
history = model.fit(train, epochs=10, validation_data=validation, verbose=2).history
accuracy = history["val_accuracy"][-1]
print(f"{accuracy:.0%} of {len(held_out)} validation pictures are right")

# Ten epochs have passed; the sequence goes to the eleventh at once.
sequence = DataFrameSequence(training, 16, **said)
sequence.set_epoch(10)
furthest = 0.0
for (x, y), (same_x, same_y) in zip(train, sequence, strict=True):
    if not np.array_equal(y, same_y):
        sys.exit("Dataset and sequence give other rows.")
    furthest = max(furthest, float(np.abs(x - same_x).max()))
print(f"pixels of dataset and sequence differ by {255 * furthest:.4f} of 255 at most")
if accuracy < 0.5 or 255 * furthest > 0.02:
    sys.exit("The network learnt too little, or pixels differ.")

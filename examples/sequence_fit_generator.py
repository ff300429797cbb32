"""A Keras Sequence over a frame, `fit_generator` and two worker processes.

    python examples/sequence_fit_generator.py

Ends with exit status 1 if the network learns nothing, or if a batch depends on who loads it.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import Augment, DataFrameSequence

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
said = {"directory": SAMPLE_DATA, "target_size": (32, 32), "rescale": 1 / 255, "seed": 1}
train = DataFrameSequence(
    df[df["split"] == "train"], 16, augment=Augment(flip_horizontal=True, rotation=10), **said
)
validation = DataFrameSequence(df[df["split"] == "val"], 16, classes=train.encoder, **said)

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

# Keras 3 has no fit_generator; importing DataFrameSequence has put it back.
model.fit_generator(
    train,
    epochs=10,
    validation_data=validation,
    workers=2,
    use_multiprocessing=True,
    verbose=2,
)
loss, accuracy = model.evaluate_generator(validation)
print(f"{accuracy:.0%} of {validation.n} validation pictures are right")

# The epoch, the batch and the seed say what is in a batch, augmentation and all.
by_processes = DataFrameSequence(df, 16, workers=2, use_multiprocessing=True, **said)
by_nobody = DataFrameSequence(df, 16, workers=0, **said)
with by_processes:
    same = all(np.array_equal(a[0], b[0]) for a, b in zip(by_processes, by_nobody, strict=True))
print(f"batches of two processes equal those of the calling thread: {same}")
if accuracy < 0.5 or not same:
    sys.exit("The network learnt too little, or batches differ.")

"""An autoencoder: the picture is its own target, `class_mode="input"`.

    python examples/autoencoder.py

Ends with exit status 1 if 32 numbers a picture bring back no more of it than the mean picture does.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras.layers import Dense, Flatten, GaussianNoise, Input, Reshape

from dfloader import Augment, to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
SIZE = (32, 32)

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
said = {
    "directory": SAMPLE_DATA,
    "target_size": SIZE,
    "color_mode": "grayscale",
    "rescale": 1 / 255,
    "class_mode": "input",
    "seed": 1,
}
# Picture and target are augmented alike; what the target shall not have comes from the model.
train = to_tf_dataset(df[df["split"] == "train"], 16, augment=Augment(flip_horizontal=True), **said)
validation = to_tf_dataset(df[df["split"] == "val"], 16, shuffle=False, **said)

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        Input((*SIZE, 1)),
        GaussianNoise(0.05),
        Flatten(),
        Dense(128, activation="relu"),
        Dense(32),
        Dense(128, activation="relu"),
        Dense(SIZE[0] * SIZE[1]),
        Reshape((*SIZE, 1)),
    ]
)
model.compile("adam", "mse")
model.fit(train, epochs=30, validation_data=validation, verbose=2)

pictures = np.concatenate([x for x, _ in validation])
mean = np.concatenate([x for x, _ in train]).mean(axis=0)
error, of_mean = model.evaluate(validation, verbose=0), float(((pictures - mean) ** 2).mean())
print(f"mean squared error {error:.4f}; of the mean picture {of_mean:.4f}")
if error > 0.6 * of_mean:
    sys.exit("The network did not learn to bring pictures back.")

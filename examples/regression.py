"""A number for each picture: how much of it the shape covers.

    python examples/regression.py

Ends with exit status 1 if the network is not much better than saying the mean every time.
"""

import sys
from pathlib import Path

import imageio.v3 as iio
import keras
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D, Rescaling

from dfloader import DataFrameSequence, predict

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
df["covered"] = [iio.imread(SAMPLE_DATA / mask).mean() for mask in df["mask"]]
training, held_out = df[df["split"] == "train"], df[df["split"] == "val"]
said = {
    "directory": SAMPLE_DATA,
    "target_size": (32, 32),
    "y_col": "covered",
    "class_mode": "raw",
    "seed": 1,
}
train, validation = (DataFrameSequence(part, 16, **said) for part in (training, held_out))
x, y = train[0]
print(f"first batch: pictures {x.shape}, numbers {y.shape} {y.dtype}")

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        Input((32, 32, 3)),
        Rescaling(1 / 255),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(32, 3, activation="relu"),
        MaxPooling2D(),
        Flatten(),
        Dense(1),
    ]
)
model.compile("adam", "mse")
model.fit(train, epochs=12, validation_data=validation, verbose=2)

# The frame in its own order, although the sequence shuffles, the prediction beside the truth.
answers = predict(model, validation)
print(answers[["filename", "class", "covered", "prediction"]].head().round(3))
error = (answers["prediction"] - answers["covered"]).abs().mean()
guessing = (held_out["covered"] - training["covered"].mean()).abs().mean()
print(f"{error:.3f} off on average; the mean of training would be {guessing:.3f} off")
if error > 0.7 * guessing:
    sys.exit("The network did not learn how much the shape covers.")

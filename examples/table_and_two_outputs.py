"""A picture and numbers of its row in, a class and a number out.

    python examples/table_and_two_outputs.py

How large a shape is in the stored picture cannot be seen once all pictures are 32 x 32 pixels, but
where its centre was tells. Ends with exit status 1 if the network does not find class and radius.
"""

import sys
from pathlib import Path

import keras
import pandas as pd
from keras.layers import Concatenate, Conv2D, Dense, Flatten, Input, MaxPooling2D, Rescaling

from dfloader import DataFrameSequence

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
training, held_out = df[df["split"] == "train"], df[df["split"] == "val"]
said = {
    "directory": SAMPLE_DATA,
    "target_size": (32, 32),
    "extra_cols": {"centre": ["x", "y"]},
    "class_mode": {"class": "sparse", "radius": "raw"},
    "seed": 1,
}
train = DataFrameSequence(training, 16, **said)
validation = DataFrameSequence(held_out, 16, classes=train.encoder, **said)

x, y = train[0]
print("x:", {name: array.shape for name, array in x.items()})
print("y:", {name: array.shape for name, array in y.items()})

keras.utils.set_random_seed(1)
image, centre = Input((32, 32, 3), name="image"), Input((2,), name="centre")
seen = MaxPooling2D()(Conv2D(16, 3, activation="relu")(Rescaling(1 / 255)(image)))
seen = Flatten()(MaxPooling2D()(Conv2D(32, 3, activation="relu")(seen)))
both = Concatenate()([Dense(16, activation="relu")(seen), Rescaling(1 / 50)(centre)])
radius = Rescaling(50)(Dense(1)(Dense(32, activation="relu")(both)))
outputs = {"class": Dense(4, activation="softmax")(seen), "radius": radius}
model = keras.Model({"image": image, "centre": centre}, outputs)
model.compile(
    "adam",
    loss={"class": "sparse_categorical_crossentropy", "radius": "mae"},
    loss_weights={"class": 1, "radius": 0.1},
    metrics={"class": "accuracy"},
)
model.fit(train, epochs=12, validation_data=validation, verbose=2)

found = model.evaluate(validation, return_dict=True, verbose=0)
accuracy, error = found["class_accuracy"], found["radius_loss"]
guessing = (held_out["radius"] - training["radius"].median()).abs().mean()
print(f"{accuracy:.0%} of {len(held_out)} classes are right")
print(f"radius: {error:.1f} pixels off on average; the median would be {guessing:.1f} off")
if accuracy < 0.5 or error > guessing / 2:
    sys.exit("The network did not learn both outputs.")

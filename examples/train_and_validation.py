"""Training and validation from one frame: no series in both, classes numbered once.

    python examples/train_and_validation.py

Ends with exit status 1 if the parts overlap, or if the network does not do on new series.
"""

import sys
from pathlib import Path

import keras
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import Augment, DataFrameSequence, predict, split_dataframe

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
# Eight pictures of a series look alike: a picture of a series seen in training tests nothing.
training, held_out, test = split_dataframe(
    df, (0.6, 0.2, 0.2), stratify="class", group="group", seed=1
)
for name, part in {"training": training, "validation": held_out, "test": test}.items():
    series = part["group"].nunique()
    print(f"{name}: {len(part)} pictures of {series} series, {dict(part['class'].value_counts())}")

said = {"directory": SAMPLE_DATA, "target_size": (32, 32), "rescale": 1 / 255, "seed": 1}
train = DataFrameSequence(
    training, 16, augment=Augment(flip_horizontal=True, zoom=(0.9, 1.1)), **said
)
# The encoder of training numbers the classes here, too; only training is augmented.
validation = DataFrameSequence(held_out, 16, classes=train.encoder, shuffle=False, **said)

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
model.fit(train, epochs=10, validation_data=validation, verbose=2)

answers = predict(model, test, classes=train.encoder, **said)
print(answers[["filename", "group", "class", "prediction"]].head())
accuracy = (answers["prediction"] == answers["class"]).mean()
print(f"{accuracy:.0%} of {len(answers)} test pictures are right")

groups = [set(part["group"]) for part in (training, held_out, test)]
if sum(map(len, groups)) != df["group"].nunique() or len(set().union(*groups)) != sum(
    map(len, groups)
):
    sys.exit("A series is in two parts.")
if accuracy < 0.5:
    sys.exit("The network did not learn what a new series shows.")

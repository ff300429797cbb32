"""Several labels a picture: texture, colour and size, in one column with "|" between.

    python examples/multilabel.py

Ends with exit status 1 if the labels found are little better than the most common ones.
"""

import sys
from pathlib import Path

import keras
import pandas as pd
from keras.layers import Conv2D, Dense, GlobalAveragePooling2D, Input, MaxPooling2D, Rescaling

from dfloader import DataFrameSequence, predict

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
training, held_out = df[df["split"] == "train"], df[df["split"] == "val"]
said = {
    "directory": SAMPLE_DATA,
    "target_size": (48, 48),
    "y_col": "tags",
    "class_mode": "multilabel",
    "label_sep": "|",
    "seed": 1,
}
train = DataFrameSequence(training, 16, **said)
validation = DataFrameSequence(held_out, 16, classes=train.encoder, **said)
x, y = train[0]
print(f"labels: {', '.join(train.class_names)}")
print(f"first row: {training['tags'].iloc[train.rows(0)[0]]} is {y[0].astype(int)}")

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        Input((48, 48, 3)),
        Rescaling(1 / 127.5, -1),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(32, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(64, 3, activation="relu"),
        GlobalAveragePooling2D(),
        Dense(len(train.class_names), activation="sigmoid"),
    ]
)
model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy")
model.fit(train, epochs=12, validation_data=validation, verbose=2)

# "prediction" holds the labels above one half, p_<label> how likely each is.
answers = predict(model, validation)
print(answers[["filename", "tags", "prediction", "p_large", "p_small"]].head().to_string())


def overlap(found: pd.Series) -> float:
    """Give the labels in common as a share of those found or wanted, mean of the pictures."""
    pairs = [(set(a), set(b.split("|"))) for a, b in zip(found, held_out["tags"], strict=True)]
    return sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs)


common = training["tags"].str.split("|").explode().value_counts().index[:3]
guessing = overlap(pd.Series([common] * len(held_out)))
reached = overlap(answers["prediction"])
print(f"{reached:.0%} of labels in common; the three most common labels would have {guessing:.0%}")
if reached < 1.3 * guessing:
    sys.exit("The network finds labels little better than by guessing.")

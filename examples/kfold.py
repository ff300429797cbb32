"""Cross-validation: every row is held out once, no series on both sides.

    python examples/kfold.py

Ends with exit status 1 if the folds are not the frame, or if a fold's network learns nothing.
"""

import sys
from pathlib import Path

import keras
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import DataFrameSequence, predict, split_dataframe

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
FOLDS = 4


def network() -> keras.Model:
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
    model.compile("adam", "categorical_crossentropy")
    return model


df = pd.read_csv(SAMPLE_DATA / "labels.csv")
# Classes are said once, so that a fold that lacks one numbers the others alike.
said = {
    "directory": SAMPLE_DATA,
    "target_size": (32, 32),
    "rescale": 1 / 255,
    "classes": sorted(df["class"].unique()),
    "seed": 1,
}
folds = split_dataframe(df, [1 / FOLDS] * FOLDS, stratify="class", group="group", seed=1)
answers = []
for number, held_out in enumerate(folds):
    training = df.drop(held_out.index)
    if set(training["group"]) & set(held_out["group"]):
        sys.exit("A series is on both sides.")
    model = network()
    model.fit(DataFrameSequence(training, 16, **said), epochs=6, verbose=0)
    answers.append(predict(model, DataFrameSequence(held_out, 16, **said)))
    right = (answers[-1]["prediction"] == answers[-1]["class"]).mean()
    print(f"fold {number}: {len(training)} to train, {len(held_out)} held out, {right:.0%} right")
    if right < 0.5:
        sys.exit("A network learnt nothing.")

# The predictions of all folds together are one for each row, made by a network that never saw it.
joined = pd.concat(answers).sort_index()
print(pd.crosstab(joined["class"], joined["prediction"]))
if not joined["filename"].equals(df["filename"]):
    sys.exit("The folds are not the frame.")

"""An old `flow_from_dataframe` script: first one line changes, then the new words.

    python examples/flow_from_dataframe_migrated.py

Ends with exit status 1 if the migrated call gives other batches than keras-preprocessing.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras_preprocessing import image as old

from dfloader import DataFrameSequence, split_dataframe
from dfloader.legacy import ImageDataGenerator

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"


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
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model


df = pd.read_csv(SAMPLE_DATA / "labels.csv")
call = {"target_size": (32, 32), "interpolation": "bilinear", "batch_size": 16, "seed": 1}

# As it was: the first quarter of the rows is for validation, whatever is in them.
before = old.ImageDataGenerator(rescale=1 / 255, validation_split=0.25)
old_train = before.flow_from_dataframe(df, str(SAMPLE_DATA), subset="training", **call)

# One line changed, `from dfloader.legacy import ImageDataGenerator`, and nothing else.
datagen = ImageDataGenerator(rescale=1 / 255, validation_split=0.25)
train = datagen.flow_from_dataframe(df, SAMPLE_DATA, subset="training", **call)
validation = datagen.flow_from_dataframe(df, SAMPLE_DATA, subset="validation", **call)

differences = []
for _ in range(len(old_train)):
    (x, y), (same_x, same_y) = next(old_train), next(train)
    if not np.array_equal(y, same_y):
        sys.exit("The migrated call gives other rows.")
    differences.append(float(np.abs(x - same_x).max()))
print(f"an epoch of batches differs by {255 * max(differences):.4f} of 255 at most")
if max(differences) > 1 / 255:
    sys.exit("The migrated call gives other pixels.")

model = network()
model.fit_generator(train, epochs=5, validation_data=validation, verbose=2)

# The new words: a split by class and group, and each loader has settings of its own.
training, held_out = split_dataframe(df, (0.75, 0.25), stratify="class", group="group")
said = {"directory": SAMPLE_DATA, "target_size": (32, 32), "rescale": 1 / 255, "seed": 1}
new_train = DataFrameSequence(training, 16, **said)
new_validation = DataFrameSequence(held_out, 16, classes=new_train.encoder, **said)
model = network()
history = model.fit(new_train, epochs=5, validation_data=new_validation, verbose=2).history
print(f"validation loss {history['val_loss'][0]:.2f} -> {history['val_loss'][-1]:.2f}")
if new_train.class_indices != old_train.class_indices:
    sys.exit("Classes have other numbers than before.")

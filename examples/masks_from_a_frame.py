"""Segmentation from a frame: a column of masks, which the augmentation turns with the pictures.

    python examples/masks_from_a_frame.py

Ends with exit status 1 if the mean intersection over union on validation stays below 70 %.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras.layers import Conv2D, Input, MaxPooling2D, Rescaling, UpSampling2D

from dfloader import Augment, DataFrameSequence

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
SIZE = (32, 32)

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
# class_mode=None: the mask alone is y. With another class mode y has "label" and "mask".
said = {"directory": SAMPLE_DATA, "target_size": SIZE, "mask_col": "mask", "class_mode": None}
turned = Augment(flip_horizontal=True, rotation=20, brightness=0.1)
train = DataFrameSequence(df[df["split"] == "train"], 16, augment=turned, seed=1, **said)
validation = DataFrameSequence(df[df["split"] == "val"], 16, shuffle=False, **said)

x, mask = train[0]
print(f"pictures {x.shape} {x.dtype}, masks {mask.shape} {mask.dtype} of {np.unique(mask)}")


def same(filters: int) -> Conv2D:
    return Conv2D(filters, 3, padding="same", activation="relu")


keras.utils.set_random_seed(1)
inputs = Input((*SIZE, 3))
fine = same(16)(Rescaling(1 / 127.5, -1)(inputs))
coarse = same(32)(MaxPooling2D()(fine))
coarser = same(32)(MaxPooling2D()(coarse))
joined = keras.layers.Concatenate()([UpSampling2D(4)(coarser), UpSampling2D()(coarse), fine])
model = keras.Model(inputs, Conv2D(1, 1, activation="sigmoid")(same(16)(joined)))
model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy")
model.fit(train, epochs=8, validation_data=validation, verbose=2)

scores = []
for x, mask in validation:
    found, wanted = model.predict(x, verbose=0) > 0.5, mask > 0
    either = (found | wanted).sum(axis=(1, 2, 3))
    scores += ((found & wanted).sum(axis=(1, 2, 3)) / np.maximum(either, 1)).tolist()
print(f"{np.mean(scores):.1%} mean intersection over union on {len(scores)} validation masks")
if np.mean(scores) < 0.7:
    sys.exit("The network did not learn the masks.")

"""A training loop of one's own in a `tf.function`.

    python examples/custom_loop.py

Ends with exit status 1 if the loss does not fall, or if an epoch does not see every row once.
"""

import sys
from pathlib import Path

import keras
import pandas as pd
import tensorflow as tf
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
ds = to_tf_dataset(
    df,
    16,
    directory=SAMPLE_DATA,
    target_size=(32, 32),
    rescale=1 / 255,
    class_mode="sparse",
    weight_col="weight",
    seed=1,
)

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        Input((32, 32, 3)),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(32, 3, activation="relu"),
        MaxPooling2D(),
        Flatten(),
        Dense(4),
    ]
)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
optimizer = keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def train_one_epoch() -> tuple[tf.Tensor, tf.Tensor]:
    """Train on every row once; give the weighted mean loss, and the rows seen."""
    total, weights, rows = 0.0, 0.0, 0
    for x, y, w in ds:
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True), sample_weight=w)
            mean = loss / tf.reduce_sum(w)
        gradients = tape.gradient(mean, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        total, weights, rows = total + loss, weights + tf.reduce_sum(w), rows + tf.size(y)
    return total / weights, rows


losses = []
# Each call passes over the dataset once, and each pass has an order of its own.
for epoch in range(6):
    loss, rows = train_one_epoch()
    losses.append(float(loss))
    print(f"epoch {epoch}: loss {losses[-1]:.3f} on {int(rows)} rows")
    if rows != len(df):
        sys.exit("An epoch is not the whole frame.")
if losses[-1] > 0.5 * losses[0]:
    sys.exit("The loss did not fall.")

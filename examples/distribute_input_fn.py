"""The `input_fn` that `tf.distribute` asks for: each worker reads its own share of the frame.

    python examples/distribute_input_fn.py

Two logical CPUs stand for two GPUs. Ends with exit status 1 if the shares of two workers overlap
or leave rows out, or if the loss does not fall.
"""

import math
import sys
from pathlib import Path

import keras
import pandas as pd
import tensorflow as tf
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

from dfloader import to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
BATCH_SIZE = 32  # of all replicas together

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

df = pd.read_csv(SAMPLE_DATA / "labels.csv")
df["row"] = range(len(df))
STEPS = math.ceil(len(df) / BATCH_SIZE)


def input_fn(
    context: tf.distribute.InputContext, y_col: str = "class", class_mode: str = "sparse"
) -> tf.data.Dataset:
    """Give this worker's share of the frame, in batches of one replica's size."""
    return to_tf_dataset(
        df,
        context.get_per_replica_batch_size(BATCH_SIZE),
        directory=SAMPLE_DATA,
        target_size=(32, 32),
        rescale=1 / 255,
        y_col=y_col,
        class_mode=class_mode,
        seed=1,  # the same for all workers: their shares are of one order
        input_context=context,
        repeat=True,
    )


# What two workers of one replica each would read.
contexts = [tf.distribute.InputContext(2, worker, 2) for worker in range(2)]
shares = [
    [int(row) for _, rows in input_fn(context, "row", "raw").take(STEPS) for row in rows]
    for context in contexts
]
print(f"two workers read {[len(share) for share in shares]} rows")
if sorted(shares[0] + shares[1]) != list(range(len(df))):
    sys.exit("The shares are not the frame.")

with strategy.scope():
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
    model.compile("adam", "sparse_categorical_crossentropy")
ds = strategy.distribute_datasets_from_function(input_fn)
losses = model.fit(ds, epochs=6, steps_per_epoch=STEPS, shuffle=False, verbose=2).history["loss"]
print("loss of each epoch:", *(f"{loss:.2f}" for loss in losses))
if losses[-1] > 0.6 * losses[0]:
    sys.exit("The loss did not fall.")

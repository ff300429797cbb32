"""A small network to try loaders on. Imports the Keras in use."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from dfloader.backend import keras

WIDTHS = (16, 32, 64, 64)  # filters of each halving block: 16 epochs of 64 x 64 pixels in seconds
SMALLEST = 2 ** len(WIDTHS)  # pixels a side: every block halves
LEARNING_RATE = 4e-3  # falls to zero along a cosine, so that the last epochs agree


@dataclass(frozen=True)
class Training:
    """How well the network did on the validation rows, and how fast the training rows went by."""

    accuracy: float
    images_per_second: float


def train(
    batches: Any,
    validation: Any,
    *,
    rows: int,
    size: int,
    classes: int,
    epochs: int,
    seed: int,
    step: Callable[[], None],
) -> Training:
    """Fit a small convolutional network to (images in 0..1, class number) batches.

    Args:
        batches: what `fit` takes; shuffled by itself, since `fit` is told to keep its order.
        validation: the same, for the accuracy after the last epoch.
        rows: of one epoch of `batches`.
        size: height and width of the images in pixels, at least `SMALLEST`.
        classes: how many.
        epochs: how often to see every row.
        seed: of the first weights. The same seed and batches train the same network.
        step: called after every batch.

    Returns:
        The accuracy, and the median epoch's images a second, validation apart. The first epoch,
        in which TensorFlow compiles the network, does not count if there are others.
    """
    keras.utils.set_random_seed(seed)
    watch = _Watch(step)
    network = _network(size, classes, epochs * len(batches))
    history = network.fit(
        batches,
        validation_data=validation,
        epochs=epochs,
        shuffle=False,
        verbose=0,
        callbacks=[watch],
    )
    counted = watch.seconds[1:] or watch.seconds
    return Training(float(history.history["val_accuracy"][-1]), rows / median(counted))


def _network(size: int, classes: int, steps: int) -> Any:
    blocks = [layer for width in WIDTHS for layer in _block(width)]
    head = [
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(classes, activation="softmax"),
    ]
    network = keras.Sequential([keras.layers.Input((size, size, 3)), *blocks, *head])
    rate = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps)
    network.compile(
        keras.optimizers.Adam(rate),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return network


def _block(width: int) -> list[Any]:
    return [
        keras.layers.Conv2D(width, 3, padding="same", use_bias=False),
        # Keras' 0.99 needs hundreds of steps before validation sees the right statistics.
        keras.layers.BatchNormalization(momentum=0.9),
        keras.layers.ReLU(),
        keras.layers.MaxPooling2D(2),
    ]


class _Watch(keras.callbacks.Callback):  # type: ignore[misc]  # Keras is untyped
    """Seconds of each epoch, from its beginning to the end of its last training batch."""

    def __init__(self, step: Callable[[], None]) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._step = step

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._start = self._last = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._last = time.perf_counter()
        self._step()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds.append(self._last - self._start)

"""Keras layers as augmentation, called on batches where they arrive. Imports backend.

A layer's random state is set from (seed, epoch, batch) before each call, so that a batch is the
same whenever and by whichever engine it is made. The state stays in the layer, so one thread calls
at a time.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.backend import keras
from dfloader.philox import generator

LAYER_STREAM = 5


class Layers:
    """Keras layers, in order.

    Args:
        layers: of the Keras in use.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        self._layers = tuple(layers)
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __bool__(self) -> bool:
        return bool(self._layers)

    def call(self, images: Any, keys: Any) -> Any:
        """Call the layers in training mode on images (n, h, w, c), an array or a tensor.

        Args:
            images: float32, or as the loader's dtype says.
            keys: of the batch.
        """
        with self._lock:
            for number, state in enumerate(_states(self._layers)):
                _set(state, keys[0], keys[1] + number)
            for layer in self._layers:
                images = layer(images, training=True)
        return images

    def on_batch(self, batch: Any, seed: int, epoch: int, i: int) -> Any:
        """Call the layers on the images of a NumPy batch, and give NumPy back."""
        if not self._layers:
            return batch
        images = images_of(batch)
        changed = np.asarray(self.call(images, keys(seed, epoch, i)), images.dtype)
        return with_images(batch, changed)


NO_LAYERS = Layers(())


def keys(seed: int, epoch: int, i: int) -> npt.NDArray[np.int64]:
    """Draw the random state for a batch, int64 (2,)."""
    return generator((seed, epoch), i, LAYER_STREAM).integers(2**31, size=2)


def images_of(batch: Any) -> Any:
    """Give the images of a batch."""
    x = batch[0] if isinstance(batch, tuple) else batch
    return x["image"] if isinstance(x, dict) else x


def with_images(batch: Any, images: Any) -> Any:
    """Put other images into a batch; y too where it is x itself."""
    if not isinstance(batch, tuple):
        return {**batch, "image": images} if isinstance(batch, dict) else images
    x, y, *rest = batch
    changed = with_images(x, images)
    return (changed, changed if y is x else y, *rest)


def _states(layers: Sequence[Any]) -> list[Any]:
    """Find the random states of layers and of layers within."""
    found: list[Any] = []
    for layer in layers:
        for part in layer._flatten_layers(include_self=True, recursive=True):
            found.extend(getattr(part, "_seed_generators", ()))
            if hasattr(part, "_random_generator"):
                found.append(part._random_generator)
    return found


def _set(state: Any, key: Any, number: Any) -> None:
    if hasattr(state, "state"):  # a SeedGenerator of Keras 3
        state.state.assign(keras.ops.cast(keras.ops.stack([key, number]), state.state.dtype))
        return
    state._maybe_init()
    if state._generator is None:
        raise ValueError(
            "augment: a layer of tf_keras draws from TensorFlow's global state, which cannot be "
            "set for each batch. Use a layer for images, as RandomFlip, or put it into the model."
        )
    state._generator.reset_from_key_counter(key, np.array([0, number]))

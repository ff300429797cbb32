"""Python functions as ops, the user's callables among them. Imports batch, layers, transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from dfloader.batch import Loader
from dfloader.layers import Layers, images_of, keys, with_images
from dfloader.transforms import apply


def in_python(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """Make an op of a function that returns nested arrays as `signature` says them."""
    specs = tf.nest.flatten(signature)

    def flat(*args: Any) -> list[Any]:
        values = tf.nest.flatten(function(*args))
        return [np.asarray(v, s.dtype.as_numpy_dtype) for v, s in zip(values, specs, strict=True)]

    def op(*args: "tf.Tensor") -> Any:
        values = tf.numpy_function(flat, args, [spec.dtype for spec in specs])
        values = [tf.ensure_shape(v, s.shape) for v, s in zip(values, specs, strict=True)]
        return tf.nest.pack_sequence_as(signature, values)

    return op


def called(
    loader: Loader, epoch: "tf.Tensor", row: "tf.Tensor", pixels: dict[str, Any]
) -> dict[str, Any]:
    """Let the loader's callables change "image" and "mask" of a row, in one call of Python."""
    if not loader.calls:
        return pixels

    def call(e: Any, r: Any, image: Any, mask: Any = None) -> dict[str, Any]:
        image, mask = apply(loader.calls, image, mask, loader.rng(int(e), int(r)))
        return {"image": image} if mask is None else {"image": image, "mask": mask}

    specs = {name: tf.TensorSpec(part.shape, part.dtype) for name, part in pixels.items()}
    return in_python(call, specs)(epoch, row, *(pixels[name] for name in specs))  # type: ignore[no-any-return]


def layered(layers: Layers, seed: int, epoch: "tf.Tensor", i: "tf.Tensor", batch: Any) -> Any:
    """Call Keras layers on the images of a batch."""
    draw = in_python(lambda e, b: keys(seed, int(e), int(b)), tf.TensorSpec((2,), tf.int64))
    images = images_of(batch)
    changed = tf.cast(layers.call(images, draw(epoch, i)), images.dtype)
    return with_images(batch, tf.ensure_shape(changed, images.shape))

"""Python functions as ops, the user's callables among them. Imports batch, layers, transforms.

`tf.numpy_function` keeps every function for the life of the process: it hangs it on the outermost
graph (script_ops.py of TF 2.21), which in eager mode is never dropped, and with it go the frame and
a cache in memory. So one function is given to it, which calls the others by number:

1. A function lives as long as the graphs that call it, those around them included: as long as the
   dataset that they belong to, what is made of it, and its iterators, which keep it.
2. Nothing else refers to it.
"""

import secrets
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import tensorflow as tf

from dfloader.batch import Loader
from dfloader.layers import Layers, images_of, keys, with_images
from dfloader.transforms import apply

_functions: "WeakValueDictionary[int, Callable[..., Any]]" = WeakValueDictionary()


def _call(number: Any, *args: Any) -> Any:
    function = _functions.get(int(number))
    if function is None:
        raise RuntimeError("A dataset needs Python that is not in this process, or no longer.")
    return function(*args)


_GRAPH = tf.Graph()  # keeps what the token stands for
with _GRAPH.as_default():
    _TOKEN = tf.numpy_function(_call, [0], tf.int64).op.get_attr("token")


def in_python(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """Make an op of a function that returns nested arrays as `signature` says them."""
    specs = tf.nest.flatten(signature)

    def flat(*args: Any) -> list[Any]:
        values = tf.nest.flatten(function(*args))
        return [np.asarray(v, s.dtype.as_numpy_dtype) for v, s in zip(values, specs, strict=True)]

    # By chance: in another process, a worker of tf.data service, it must stand for nothing.
    number = secrets.randbits(63)
    _functions[number] = flat

    def op(*args: "tf.Tensor") -> Any:
        _keep(flat)
        given = [tf.constant(number, tf.int64), *args]
        values = tf.raw_ops.PyFunc(input=given, token=_TOKEN, Tout=[s.dtype for s in specs])
        values = [tf.ensure_shape(v, s.shape) for v, s in zip(values, specs, strict=True)]
        return tf.nest.pack_sequence_as(signature, values)

    return op


def _keep(function: Callable[..., Any]) -> None:
    """Let the graph that is being made keep a function, and those around it."""
    graph = tf.compat.v1.get_default_graph()
    while hasattr(graph, "outer_graph"):  # the outermost is not a function's, and never ends
        graph.dfloader_functions = [*getattr(graph, "dfloader_functions", ()), function]
        graph = graph.outer_graph


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

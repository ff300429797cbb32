"""Multiply class weights into the sample weights of a batch, in NumPy and in tf.data.

Keras 3 refuses ``class_weight`` for batches that carry weights; Keras 2 multiplied the two.
Classes without a weight count 1, as in Keras.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

ClassWeight = Mapping[int, float]


def weigh_batch(batch: tuple[Any, ...], class_weight: ClassWeight) -> tuple[Any, ...]:
    """Give ``(x, y)`` or ``(x, y, w)`` the weights of its classes.

    Args:
        batch: y is ``(n,)`` or ``(n, 1)`` class numbers, or one-hot along its last axis.
        class_weight: class number to weight.
    """
    if len(batch) < 2:
        raise ValueError("class_weight needs batches with targets: (x, y) or (x, y, weights).")
    x, y, *weights = batch
    return x, y, _times(_weights_of(_single(y), class_weight), weights)


def weigh_dataset(dataset: Any, class_weight: ClassWeight) -> Any:
    """Do the same to every batch of a ``tf.data.Dataset``."""
    table = _table(class_weight)

    def weigh(x: Any, y: Any, *weights: Any) -> tuple[Any, ...]:
        numbers = tf.cast(_class_numbers(tf, _single(y)), tf.int32)
        known = (numbers >= 0) & (numbers < len(table))
        by_class = tf.where(known, tf.gather(table, tf.where(known, numbers, 0)), 1.0)
        if not weights:
            return x, y, by_class
        ones = [1] * (by_class.shape.rank - weights[0].shape.rank)
        column = tf.reshape(weights[0], [-1, *weights[0].shape[1:], *ones])
        return x, y, by_class * tf.cast(column, tf.float32)

    return dataset.map(weigh)


def _weights_of(y: Any, class_weight: ClassWeight) -> np.ndarray:
    numbers = _class_numbers(np, np.asarray(y)).astype(np.int64)
    table = _table(class_weight)
    known = (numbers >= 0) & (numbers < len(table))
    return np.where(known, table[np.where(known, numbers, 0)], np.float32(1))


def _times(by_class: np.ndarray, weights: list[Any]) -> np.ndarray:
    """Multiply by the row's own weight, whatever axes the targets add behind the row."""
    if not weights or weights[0] is None:
        return by_class
    own = np.asarray(weights[0], np.float32)
    return by_class * own.reshape(own.shape + (1,) * (by_class.ndim - own.ndim))


def _class_numbers(xp: Any, y: Any) -> Any:
    if len(y.shape) < 2:
        return xp.round(y)
    return xp.argmax(y, -1) if y.shape[-1] != 1 else xp.round(xp.squeeze(y, -1))


def _table(class_weight: ClassWeight) -> np.ndarray:
    numbers = range(max(map(int, class_weight), default=0) + 1)
    return np.array([class_weight.get(c, 1.0) for c in numbers], np.float32)


def _single(y: Any) -> Any:
    if isinstance(y, list | tuple | dict):
        raise ValueError(
            "class_weight needs a single output. With several, give sample weights per output: "
            "weight_col={output: column}."
        )
    return y

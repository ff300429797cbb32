"""mixup and cutmix in TensorFlow's ops. Imports mix and tfaugment."""

from typing import Any

import tensorflow as tf

from dfloader.mix import Mixing, blended, mixing
from dfloader.tfaugment import TENSORS


def mixed(
    pixels: dict[str, "tf.Tensor"], columns: dict[str, Any], drawn: "tf.Tensor | None"
) -> tuple[dict[str, "tf.Tensor"], dict[str, Any]]:
    """Mix the rows of a batch, as `batch.Loader.finish` does.

    Args:
        pixels: "image" (n, h, w, c) and, where there are masks, "mask" (n, h, w, 1).
        columns: "y" and "w" and others.
        drawn: `Draws.mix` of the rows; None: nothing is mixed.
    """
    if drawn is None:
        return pixels, columns
    height, width = tf.unstack(tf.shape(pixels["image"], tf.int64)[1:3])
    partner = tf.argsort(drawn[:, 4], stable=True)
    how = mixing(drawn, partner, height, width, TENSORS)
    pasted = _pasted(how, height, width)
    pixels = {**pixels, "image": _images(pixels["image"], how, pasted)}
    if "mask" in pixels:
        others = tf.gather(pixels["mask"], partner)
        pixels["mask"] = tf.where(pasted, others, pixels["mask"])
    share = tf.cast(how.share, tf.float32)
    mixed_columns = {
        name: _columns(part, partner, share) if name in ("y", "w") else part
        for name, part in columns.items()
    }
    return pixels, mixed_columns


def _pasted(how: Mixing, height: "tf.Tensor", width: "tf.Tensor") -> "tf.Tensor":
    """Mark the pixels of boxes, bool (n, h, w, 1)."""
    top, left, bottom, right = (edge[:, None, None, None] for edge in how.box)
    rows, columns = tf.range(height)[:, None, None], tf.range(width)[:, None]
    return (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)


def _images(images: "tf.Tensor", how: Mixing, pasted: "tf.Tensor") -> "tf.Tensor":
    others = tf.gather(images, how.partner)
    share = tf.cast(how.share, tf.float32)
    blend = blended(tf.cast(images, tf.float32), tf.cast(others, tf.float32), share)
    blend = blend if images.dtype == tf.float32 else tf.cast(tf.round(blend), images.dtype)
    cut = tf.where(pasted, others, images)
    return tf.where(how.cut[:, None, None, None], cut, blend)


def _columns(values: Any, partner: "tf.Tensor", share: "tf.Tensor") -> Any:
    return tf.nest.map_structure(
        lambda part: blended(part, tf.gather(part, partner), share), values
    )

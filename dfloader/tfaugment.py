"""What `warp` and `augmented` do, in TensorFlow's ops. Imports augment, draws, spec, view.

The arithmetic on sizes and coordinates is `view`'s own; a draw's parts are tensors here.
"""

from typing import Any

import tensorflow as tf

from dfloader.augment import Augment
from dfloader.draws import GAIN, LINEAR, LUMA, PIVOT, SHIFT, Draws
from dfloader.spec import ImageSpec
from dfloader.view import Axis, Numbers, View, averaged, corners, looks, of_mask

TENSORS = Numbers(
    real=lambda whole: tf.cast(whole, tf.float64), whole=lambda real: tf.cast(real, tf.int64)
)


def unstacked(drawn: Draws) -> Draws:
    """Take a row's draw apart into the scalars that `view` calculates with, one op each."""
    matrix = drawn.matrix
    if matrix is not None:
        parts = tf.unstack(tf.reshape(matrix, (6,)))
        matrix = (parts[:3], parts[3:])
    crop, erase = (part if part is None else tf.unstack(part) for part in (drawn.crop, drawn.erase))
    return drawn._replace(crop=crop, matrix=matrix, erase=erase)


def warp(image: "tf.Tensor", view: View, spec: ImageSpec, augment: Augment, white: float) -> Any:
    """Look at a window from each pixel of the target, as `warp.warp` does.

    Args:
        image: the window (h, w, c); float32 of 0..white where values are to mix.
        view: of the row, with a warp.
        spec: target_size, interpolation.
        augment: what lies outside.
        white: the highest value of the example.

    Returns:
        (height, width, c), of the dtype of `image` with nearest sampling, else float32.
    """
    x, y, target = view.x, view.y, view.placement.target
    assert x is not None and y is not None
    size = (target.height, target.width)
    fill = augment.fill_value / 255 * (white if image.dtype == tf.float32 else 255)
    if spec.interpolation == "nearest":
        return _gather(image, x, y, size, augment.fill_mode, fill)
    image = tf.cast(image, tf.float32)
    if spec.interpolation == "area":
        height, y = averaged(y, tf.shape(image, tf.int64)[0], size, TENSORS)
        width, x = averaged(x, tf.shape(image, tf.int64)[1], size, TENSORS)
        image = tf.image.resize(image, tf.cast(tf.stack([height, width]), tf.int32), "area")
    if augment.fill_mode == "wrap":
        return _wrapped(image, x, y, size)
    return _projected(image, x, y, size, augment, augment.fill_value / 255 * white)


def warp_mask(mask: "tf.Tensor", view: View, augment: Augment) -> "tf.Tensor":
    """Let a mask (h, w, 1) follow its picture, as `augmented.render_mask_drawn` does."""
    assert view.x is not None and view.y is not None
    placed, stored = view.placement, tf.shape(mask, tf.int64)
    x = of_mask(view.x, placed.window.left, placed.width, stored[1], TENSORS)
    y = of_mask(view.y, placed.window.top, placed.height, stored[0], TENSORS)
    size = (placed.target.height, placed.target.width)
    return _gather(mask, x, y, size, augment.fill_mode if augment.repeats else "constant", 0)


def flip(image: "tf.Tensor", drawn: Draws) -> "tf.Tensor":
    """Mirror (h, w, c) as a draw without a warp says."""
    if drawn.matrix is None:
        return image
    mirrored = tf.stack([drawn.matrix[1][1] < 0, drawn.matrix[0][0] < 0])
    return tf.reverse(image, tf.where(mirrored)[:, 0])


def colour(image: "tf.Tensor", row: "tf.Tensor", white: float) -> "tf.Tensor":
    """Change the colour of (h, w, c), float32 of 0..white, as `warp.colour` does."""
    channels = image.shape[-1]
    if channels is None:
        return _by_channels(image, lambda some: colour(some, row, white))
    shift = row[SHIFT] * (white / 255)
    means = tf.reduce_mean(tf.cast(image, tf.float64), axis=(0, 1))
    if channels not in (3, 4):
        added = row[PIVOT] * tf.reduce_mean(means) + shift
        changed = image * tf.cast(row[GAIN], tf.float32) + tf.cast(added, tf.float32)
        return tf.clip_by_value(changed, 0, white)
    added = row[PIVOT] * tf.reduce_sum(means[:3] * LUMA) + shift
    linear = tf.cast(tf.reshape(row[LINEAR], (3, 3)), tf.float32)
    changed = tf.tensordot(image[:, :, :3], linear, [[2], [1]]) + tf.cast(added, tf.float32)
    changed = tf.clip_by_value(changed, 0, white)
    return changed if channels == 3 else tf.concat([changed, image[:, :, 3:]], axis=2)


def erase(image: "tf.Tensor", box: Any, value: float) -> "tf.Tensor":
    """Fill a box of (h, w, c): top, left, bottom, right as fractions of its sides."""
    shape = tf.shape(image, tf.int64)
    top, left, bottom, right = corners(box, shape[0], shape[1], TENSORS)
    rows, columns = tf.range(shape[0])[:, None, None], tf.range(shape[1])[:, None]
    inside = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
    return tf.where(inside, tf.cast(value, image.dtype), image)


def _projected(
    image: "tf.Tensor", x: Axis, y: Axis, size: tuple[Any, Any], augment: Augment, fill: float
) -> "tf.Tensor":
    # Like OpenCV, the op counts from the middle of the first pixel.
    numbers = (x.a, x.b, x.c - 0.5, y.a, y.b, y.c - 0.5, 0.0, 0.0)
    transform = tf.stack([tf.cast(number, tf.float32) for number in numbers])
    projected = tf.raw_ops.ImageProjectiveTransformV3(
        images=image[None],
        transforms=transform[None],
        output_shape=tf.cast(tf.stack(size), tf.int32),
        fill_value=fill,
        interpolation="BILINEAR",
        fill_mode=augment.fill_mode.upper(),
    )[0]
    return tf.ensure_shape(projected, (None, None, image.shape[-1]))


def _wrapped(image: "tf.Tensor", x: Axis, y: Axis, size: tuple[Any, Any]) -> "tf.Tensor":
    """Interpolate in an image that repeats; the op's own WRAP has a period one pixel short."""
    points = [_points(axis, size) - 0.5 for axis in (y, x)]
    firsts = [tf.floor(point) for point in points]
    below, right = (
        tf.cast(point - first, tf.float32)[:, :, None]
        for point, first in zip(points, firsts, strict=True)
    )
    row, column = (tf.cast(first, tf.int64) for first in firsts)
    top = _lerp(_at(image, row, column), _at(image, row, column + 1), right)
    bottom = _lerp(_at(image, row + 1, column), _at(image, row + 1, column + 1), right)
    return _lerp(top, bottom, below)


def _points(axis: Axis, size: tuple[Any, Any]) -> "tf.Tensor":
    rows, columns = (tf.cast(tf.range(side), tf.float64) for side in size)
    return axis.a * columns + (axis.b * rows + axis.c)[:, None]


def _lerp(a: "tf.Tensor", b: "tf.Tensor", part: "tf.Tensor") -> "tf.Tensor":
    return a + (b - a) * part


def _at(image: "tf.Tensor", row: "tf.Tensor", column: "tf.Tensor") -> "tf.Tensor":
    shape = tf.shape(image, tf.int64)
    index = _wrap(row, shape[0]) * shape[1] + _wrap(column, shape[1])
    return tf.gather(_pixels(image), index)


def _gather(
    image: "tf.Tensor",
    x: Axis,
    y: Axis,
    size: tuple[Any, Any],
    fill_mode: str,
    fill_value: float,
) -> "tf.Tensor":
    shape = tf.shape(image, tf.int64)
    height, width = shape[0], shape[1]
    rows, columns = (tf.range(tf.cast(side, tf.int64)) for side in size)
    row, column = (looks(axis, columns, rows[:, None], TENSORS) for axis in (y, x))
    fold = _FOLD[fill_mode]
    found = tf.gather(_pixels(image), fold(row, height) * width + fold(column, width))
    if fill_mode != "constant":
        return found
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return tf.where(inside[:, :, None], found, tf.cast(fill_value, image.dtype))


def _pixels(image: "tf.Tensor") -> "tf.Tensor":
    return tf.reshape(image, (-1, image.shape[-1] or tf.shape(image)[-1]))


def _clip(index: "tf.Tensor", length: "tf.Tensor") -> "tf.Tensor":
    return tf.clip_by_value(index, 0, length - 1)


def _reflect(index: "tf.Tensor", length: "tf.Tensor") -> "tf.Tensor":
    return tf.minimum(index % (2 * length), -(index + 1) % (2 * length))


def _wrap(index: "tf.Tensor", length: "tf.Tensor") -> "tf.Tensor":
    return index % length


_FOLD = {"constant": _clip, "nearest": _clip, "reflect": _reflect, "wrap": _wrap}


def _by_channels(image: "tf.Tensor", change: Any) -> "tf.Tensor":
    """Change an image of 1, 3 or 4 channels, of which the graph knows only when it runs."""

    def known(channels: int) -> "tf.Tensor":
        return change(tf.ensure_shape(image, (None, None, channels)))

    cases = {n: lambda n=n: known(n) for n in (1, 3, 4)}
    changed = tf.switch_case(tf.shape(image)[-1], cases, default=lambda: known(2))
    return tf.ensure_shape(changed, image.shape)

"""Contents of files -> example, in TensorFlow's ops: decode and render over again.

Imports geometry, levels' numbers, spec, tfaugment, tfheader, view. The arithmetic on sizes is the
same code.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dfloader.batch import Loader
from dfloader.example import Change
from dfloader.geometry import (
    ORIENTATION_FLAGS,
    SCALES,
    Box,
    nearest_index,
    stored_box,
    upright_size,
    with_margin,
    within,
)
from dfloader.levels import LUMA
from dfloader.spec import ImageSpec
from dfloader.tfaugment import TENSORS, colour, erase, flip, unstacked, warp, warp_mask
from dfloader.tfheader import JPEG, PNG, PYTHON, Header, read_header
from dfloader.view import View, see

_PER_8_BIT_LEVEL = 257  # 65535 / 255

Pixels = dict[str, Any]


def check_supported(loader: Loader) -> None:
    """Check that there are ops for all that a loader does.

    Raises:
        ValueError: there are none.
    """
    spec = loader.image
    if spec.interpolation not in _RESIZE:
        raise ValueError(
            f"to_tf_dataset does not take interpolation={spec.interpolation!r}, only "
            f"{', '.join(map(repr, _RESIZE))}: TensorFlow has no filter of that kind that equals "
            "DataFrameSequence's. Use DataFrameSequence, or interpolation='area'."
        )


def picture(
    data: "tf.Tensor",
    mask: "tf.Tensor | None",
    spec: ImageSpec,
    change: Change,
    *,
    call: Callable[[Pixels], Pixels],
    otherwise: Callable[[], Pixels],
) -> Pixels:
    """Make the example of a file's content, and of its mask's.

    Args:
        data: string scalar.
        mask: likewise; None: there are no masks.
        spec: what to make.
        change: what the row goes through; the parts of its draw are tensors.
        call: lets the user's callables change the example, before `rescale`.
        otherwise: makes an example of what TensorFlow cannot decode.

    Returns:
        "image" and, where there is one, "mask".
    """
    header = read_header(data, exif=spec.exif)
    native = _native(header, spec)
    if mask is not None:
        mask_header = read_header(mask, exif=spec.exif)
        # Of other masks TensorFlow gives colours where their numbers are meant.
        native &= _native(mask_header, spec) & mask_header.is_grey_png

    change = change._replace(drawn=unstacked(change.drawn))

    def made(read: Callable[..., Any]) -> Pixels:
        image, view = read(data, header, spec, change)
        pixels = {"image": _rendered(image, view, spec, change)}
        if mask is not None:
            pixels["mask"] = _mask(mask, view, spec, change)
        pixels = call(pixels)
        if spec.rescale is not None:
            pixels["image"] = pixels["image"] * spec.rescale
        return pixels

    makers = {PYTHON: otherwise, JPEG: lambda: made(_jpeg), PNG: lambda: made(_png)}
    chosen = tf.where(native, header.format, PYTHON)
    pixels: Pixels = tf.switch_case(tf.cast(chosen, tf.int32), makers)
    return pixels


def _native(header: Header, spec: ImageSpec) -> "tf.Tensor":
    if spec.max_pixels is None:
        return tf.constant(True)
    return header.height * header.width <= spec.max_pixels


def _jpeg(
    data: "tf.Tensor", header: Header, spec: ImageSpec, change: Change
) -> tuple["tf.Tensor", View]:
    flags, view = _see(header, spec, change, scaled=True)
    seen = view.placement
    # A decoder that cuts gives other pixels at the edge of what it cuts.
    outer = with_margin(seen.window, seen.height, seen.width)
    cuts = spec.resize_mode == "crop" or view.x is not None or change.drawn.crop is not None

    def at(k: int) -> "tf.Tensor":
        channels = 3 if spec.color_mode == "rgba" else spec.channels or 0
        how = {"channels": channels, "ratio": k, "dct_method": "INTEGER_ACCURATE"}
        if not cuts:
            return tf.io.decode_jpeg(data, **how)
        stored = stored_box(outer, seen.height, seen.width, flags)
        window = tf.cast(tf.stack(stored), tf.int32)
        return tf.raw_ops.DecodeAndCropJpeg(contents=data, crop_window=window, **how)

    # 0, 1, 2, 3 for the scales 1, 2, 4, 8.
    index = tf.cast(seen.scale // 2 - seen.scale // 8, tf.int32)
    image = tf.switch_case(index, [lambda k=k: at(k) for k in sorted(SCALES)])
    image = _upright(_with_channels(image, spec), header, flags)
    return _cut(image, within(seen.window, outer) if cuts else seen.window), view


def _png(
    data: "tf.Tensor", header: Header, spec: ImageSpec, change: Change
) -> tuple["tf.Tensor", View]:
    _, view = _see(header, spec, change, scaled=False)
    channels = {"unchanged": 0, "rgba": 4}.get(spec.color_mode, 3)
    image = _with_channels(tf.io.decode_png(data, channels), spec)
    return _cut(image, view.placement.window), view


def _mask(data: "tf.Tensor", view: View, spec: ImageSpec, change: Change) -> "tf.Tensor":
    """Pick the mask's pixels under those that `_rendered` shows; 0 outside."""
    mask, seen = tf.io.decode_png(data, 1), view.placement
    rows, columns = tf.unstack(tf.shape(mask, tf.int64)[:2])
    apart = tf.abs(columns * seen.height - rows * seen.width)
    most = tf.reduce_max(tf.stack([rows, columns, seen.height, seen.width]))
    with tf.control_dependencies([tf.debugging.assert_less_equal(apart, most)]):
        mask = tf.identity(mask)
    if change.augment is not None and view.x is not None:
        return warp_mask(mask, view, change.augment)
    down = _picked(seen.window.top, seen.window.height, seen.height, rows, seen.target.height)
    across = _picked(seen.window.left, seen.window.width, seen.width, columns, seen.target.width)
    mask = tf.gather(tf.gather(mask, down), across, axis=1)
    return flip(_padded(mask, seen.target, spec), change.drawn)


def _picked(start: Any, length: Any, decoded: Any, stored: Any, n: Any) -> "tf.Tensor":
    return nearest_index(length, tf.range(n + 1), start=start, decoded=decoded, stored=stored)


def _see(header: Header, spec: ImageSpec, change: Change, *, scaled: bool) -> tuple[Any, View]:
    flags = tf.unstack(tf.gather(tf.constant(ORIENTATION_FLAGS, tf.int64), header.orientation))
    height, width = upright_size(header.height, header.width, flags)
    augment, drawn = change.augment, change.drawn
    view = see(height, width, spec, scaled=scaled, augment=augment, drawn=drawn, numbers=TENSORS)
    whole = tf.nest.map_structure(lambda size: tf.cast(size, tf.int64), view.placement)
    return flags, view._replace(placement=whole)


def _with_channels(image: "tf.Tensor", spec: ImageSpec) -> "tf.Tensor":
    if spec.color_mode == "grayscale" and image.shape[-1] != 1:
        luma = tf.reduce_sum(tf.cast(image, tf.int32) * tf.constant(LUMA), axis=-1, keepdims=True)
        return tf.cast((luma + 0x8000) // 0x10000, tf.uint8)
    if spec.color_mode == "rgba" and image.shape[-1] != 4:
        return tf.concat([image, _opaque(image)], axis=2)
    return image


def _opaque(image: "tf.Tensor") -> "tf.Tensor":
    height, width = tf.unstack(tf.shape(image)[:2])
    return tf.fill([height, width, 1], tf.constant(255, tf.uint8))


def _upright(image: "tf.Tensor", header: Header, flags: Any) -> "tf.Tensor":
    transpose, flip_rows, flip_columns = flags

    def turned() -> "tf.Tensor":
        turned = tf.cond(transpose == 1, lambda: tf.transpose(image, (1, 0, 2)), lambda: image)
        return tf.reverse(turned, tf.where(tf.stack([flip_rows, flip_columns]) == 1)[:, 0])

    return tf.cond(header.orientation > 1, turned, lambda: image)


def _cut(image: "tf.Tensor", box: Box) -> "tf.Tensor":
    return image[box.top : box.top + box.height, box.left : box.left + box.width]


def _rendered(image: "tf.Tensor", view: View, spec: ImageSpec, change: Change) -> "tf.Tensor":
    """Do what `augmented.render_drawn` does."""
    augment, drawn = change.augment, change.drawn
    white = 65535.0 if spec.dtype == "uint16" else 255.0
    if spec.dtype == "uint16":
        image = tf.cast(image, tf.float32) * _PER_8_BIT_LEVEL
    elif drawn.colour is not None:
        image = tf.cast(image, tf.float32)
    if augment is not None and view.x is not None:
        image = warp(image, view, spec, augment, white)
    else:
        image = flip(_placed(image, view.placement.target, spec), drawn)
    if drawn.colour is None:
        image = _converted(image, spec.dtype)
    else:
        image = colour(image, drawn.colour, white)
    if augment is not None and drawn.erase is not None:
        image = erase(image, drawn.erase, augment.fill_value / 255 * white)
    return _converted(image, spec.dtype)


def _placed(image: "tf.Tensor", target: Box, spec: ImageSpec) -> "tf.Tensor":
    if spec.target_size is not None:
        image = _RESIZE[spec.interpolation](image, target.height, target.width)
    return _padded(image, target, spec)


def _converted(image: "tf.Tensor", dtype: str) -> "tf.Tensor":
    rounds = dtype != "float32" and image.dtype == tf.float32
    return tf.cast(tf.round(image) if rounds else image, dtype)


def _padded(image: "tf.Tensor", target: Box, spec: ImageSpec) -> "tf.Tensor":
    if spec.target_size is None or spec.resize_mode != "pad":
        return image
    height, width = spec.target_size
    below, right = height - target.top - target.height, width - target.left - target.width
    return tf.pad(image, [[target.top, below], [target.left, right], [0, 0]])


def _bilinear(image: "tf.Tensor", height: "tf.Tensor", width: "tf.Tensor") -> "tf.Tensor":
    return tf.image.resize(image, tf.cast(tf.stack([height, width]), tf.int32))


def _area(image: "tf.Tensor", height: "tf.Tensor", width: "tf.Tensor") -> "tf.Tensor":
    """Average along an axis that shrinks, then interpolate along one that grows."""
    shape = tf.shape(image, tf.int64)
    least = tf.cast(tf.minimum(shape[:2], tf.stack([height, width])), tf.int32)
    shrunk = tf.image.resize(image, least, "area")
    return tf.cond(
        tf.reduce_all(tf.cast(least, tf.int64) == tf.stack([height, width])),
        lambda: shrunk,
        lambda: _bilinear(shrunk, height, width),
    )


def _nearest(image: "tf.Tensor", height: "tf.Tensor", width: "tf.Tensor") -> "tf.Tensor":
    shape = tf.shape(image, tf.int64)
    rows = nearest_index(shape[0], tf.range(height + 1))
    columns = nearest_index(shape[1], tf.range(width + 1))
    return tf.gather(tf.gather(image, rows), columns, axis=1)


_RESIZE = {"bilinear": _bilinear, "nearest": _nearest, "area": _area}

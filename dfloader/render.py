"""Decoded array -> example, in NumPy and OpenCV. Imports geometry, scratch, spec, NumPy, OpenCV,
Pillow and scikit-image for what OpenCV does not resample.

1. One resample, from the decoded pixels into the example's own slot of the batch.
2. Integers of one width stay so; everything else is resampled in float32, so that no rounding
   stands between the file and a float result, and is rounded once at the end.
3. `area` averages along an axis that shrinks and is bilinear along one that grows; `bicubic` and
   `lanczos` are Pillow's, antialiased; `bilinear` and `nearest` are not antialiased.
"""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import skimage
from PIL import Image

from dfloader.geometry import Box, Placement, nearest_index, place
from dfloader.scratch import borrow
from dfloader.spec import ImageSpec

Array = npt.NDArray[Any]

# Threads and processes are the loader's own: one image, one core.
cv2.setNumThreads(1)

_OPENCV_CHANNELS = 4  # INTER_AREA takes no more
_BAND_VALUES = 2**20  # 4 MiB as float32, about what a cache holds
_PER_8_BIT_LEVEL = 257  # 65535 / 255


def render(
    image: Array, spec: ImageSpec, out: Array, *, placement: Placement | None = None
) -> None:
    """Resample `image` straight into `out`.

    Args:
        image: upright (h, w, c): uint8, uint16, or float32 in the range of `spec.dtype`.
        spec: interpolation, resize_mode, rescale.
        out: (target height, target width, c) of `spec.dtype`; all of it is written.
        placement: what `image` is of the whole picture; None: `image` is the whole.
    """
    if placement is None:
        height, width = image.shape[:2]
        placement = place(height, width, spec.target_size, resize_mode=spec.resize_mode)
    resample(image, spec, out, placement)
    if spec.rescale is not None:
        np.multiply(out, spec.rescale, out=out)


def resample(image: Array, spec: ImageSpec, out: Array, placement: Placement) -> None:
    """Do what `render` does, without `spec.rescale`."""
    slot = _slot(placement, out)
    part = cut(image, placement.window)
    if part.shape == slot.shape or spec.interpolation == "nearest":
        convert(_picked(part, slot), slot)
    else:
        _resample(*_straight(part, slot), spec.interpolation)


def render_mask(mask: npt.NDArray[np.uint8], placement: Placement, out: Array) -> None:
    """Pick the mask's pixels under the pixels that `render` shows; the rest is 0.

    Args:
        mask: upright (h, w, 1), of any size: it is taken to cover the whole picture.
        placement: the picture's.
        out: (target height, target width, 1) uint8.
    """
    slot = _slot(placement, out)
    window = placement.window
    rows = nearest_index(
        window.height,
        np.arange(slot.shape[0] + 1),
        start=window.top,
        decoded=placement.height,
        stored=mask.shape[0],
    )
    columns = nearest_index(
        window.width,
        np.arange(slot.shape[1] + 1),
        start=window.left,
        decoded=placement.width,
        stored=mask.shape[1],
    )
    slot[...] = mask[rows[:, None], columns]


def _slot(placement: Placement, out: Array) -> Array:
    """Give the part of `out` that the picture fills, after filling the rest with 0."""
    slot = cut(out, placement.target)
    if slot.shape != out.shape:
        out.fill(0)
    return slot


def cut(image: Array, box: Box) -> Array:
    return image[box.top : box.top + box.height, box.left : box.left + box.width]


def _picked(image: Array, out: Array) -> Array:
    if image.shape == out.shape:
        return image
    rows = nearest_index(image.shape[0], np.arange(out.shape[0] + 1))
    columns = nearest_index(image.shape[1], np.arange(out.shape[1] + 1))
    picked: Array = image[rows[:, None], columns]
    return picked


def _straight(image: Array, out: Array) -> tuple[Array, Array]:
    """Undo the flips and the transpose of an upright view, in both alike.

    OpenCV reads whole rows. Turning the small result is cheaper than turning the picture.
    """
    flips = tuple(slice(None, None, -1 if step < 0 else 1) for step in image.strides[:2])
    image, out = image[flips], out[flips]
    if image.strides[0] < image.strides[1]:
        image, out = image.swapaxes(0, 1), out.swapaxes(0, 1)
    return image, out


def _resample(image: Array, out: Array, interpolation: str) -> None:
    many = image.shape[2] > _OPENCV_CHANNELS
    if image.dtype != out.dtype or many or interpolation in _FILTERS:
        large = image.size > _BAND_VALUES and not many and interpolation not in _FILTERS
        image = _narrow(image, out, interpolation) if large else _in_float(image, out)
    if image.dtype == out.dtype and _has_whole_pixels(out):
        _resize(image, out, interpolation)
    else:
        result = borrow("result", out.shape, image.dtype)
        _resize(image, result, interpolation)
        convert(result, out)


def _in_float(image: Array, out: Array) -> Array:
    """Give `image` in float32 and the range of `out`."""
    source = borrow("source", image.shape, np.float32)
    convert(image, source, times=levels(image.dtype, out.dtype))
    return source


def _narrow(image: Array, out: Array, interpolation: str) -> Array:
    """Give `image` in float32, already as wide as `out`.

    Rows are resampled apart from columns, so that a band of rows at a time is enough: 12 megapixels
    in float32 are 144 MB, which it takes longer to touch than to decode.
    """
    narrow = borrow("narrow", (image.shape[0], *out.shape[1:]), np.float32)
    rows = max(1, _BAND_VALUES // (image.shape[1] * image.shape[2]))
    for top in range(0, image.shape[0], rows):
        band = _in_float(image[top : top + rows], out)
        _resize(band, narrow[top : top + rows], interpolation)
    return narrow


def _resize(image: Array, out: Array, interpolation: str) -> None:
    """Resample between arrays of one dtype."""
    if interpolation in _FILTERS:
        _filter(image, out, _FILTERS[interpolation])
        return
    if interpolation == "area":
        shape = tuple(np.minimum(image.shape, out.shape).tolist())
        if shape == out.shape:
            average(image, out)
            return
        shrunk = borrow("shrunk", shape, image.dtype)
        average(image, shrunk)
        image = shrunk
    _interpolate(image, out)


def _interpolate(image: Array, out: Array) -> None:
    if image.shape[2] > _OPENCV_CHANNELS:
        out[...] = skimage.transform.resize(
            image, out.shape, order=1, mode="edge", anti_aliasing=False, preserve_range=True
        )
    else:
        _opencv(image, out, cv2.INTER_LINEAR)


def average(image: Array, out: Array) -> None:
    """Shrink to `out`, of one dtype and no larger: each pixel the mean of those it covers."""
    if image.shape[2] > _OPENCV_CHANNELS:
        out[...] = skimage.transform.resize_local_mean(
            image, out.shape[:2], preserve_range=True, channel_axis=2
        )
    else:
        _opencv(image, out, cv2.INTER_AREA)


def _opencv(image: Array, out: Array, interpolation: int) -> None:
    if out.shape[2] == 1:
        image, out = image[:, :, 0], out[:, :, 0]
    cv2.resize(image, out.shape[1::-1], dst=out, interpolation=interpolation)


def _filter(image: Array, out: Array, resampling: Image.Resampling) -> None:
    """Resample each channel by itself: Pillow has no other float images."""
    for channel in range(out.shape[2]):
        plane = Image.fromarray(np.ascontiguousarray(image[:, :, channel]))
        out[:, :, channel] = plane.resize(out.shape[1::-1], resampling)


_FILTERS = {"bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}


def levels(source: np.dtype[Any], target: np.dtype[Any]) -> float:
    """Say how many levels of `target` one level of `source` is."""
    if source == np.uint16:
        return 1.0 if target == np.uint16 else 1 / _PER_8_BIT_LEVEL
    if source == np.uint8 and target == np.uint16:
        return float(_PER_8_BIT_LEVEL)
    return 1.0


def convert(image: Array, out: Array, *, times: float | None = None) -> None:
    """Copy values into another dtype: scaled, rounded once, and cut off at the ends of the range.

    Only what a filter overshoots is ever cut off: decode checks what a file holds.
    """
    times = levels(image.dtype, out.dtype) if times is None else times
    if image.dtype == out.dtype or (out.dtype == np.float32 and times == 1):
        np.copyto(out, image)
    elif out.dtype == np.float32:
        np.multiply(image, np.float32(times), out=out, casting="unsafe")
    else:
        values = borrow("rounded", image.shape, np.float32)
        np.multiply(image, np.float32(times), out=values, casting="unsafe")
        np.rint(values, out=values)
        np.clip(values, 0, np.iinfo(out.dtype).max, out=values)
        np.copyto(out, values, casting="unsafe")


def _has_whole_pixels(out: Array) -> bool:
    """Tell whether OpenCV can write here: the pixels of a row lie side by side."""
    return out.strides[1:] == (out.shape[2] * out.itemsize, out.itemsize) and out.strides[0] > 0

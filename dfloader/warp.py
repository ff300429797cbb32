"""Warps and colour of one picture, in NumPy and OpenCV. Imports draws, view, NumPy, OpenCV."""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from dfloader.draws import GAIN, LINEAR, LUMA, PIVOT, SHIFT
from dfloader.view import PYTHON, Axis, corners, looks

Image = npt.NDArray[Any]

_BORDER = {
    "constant": cv2.BORDER_CONSTANT,
    "nearest": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT,
    "wrap": cv2.BORDER_WRAP,
}
_FLAGS = {
    "bilinear": cv2.INTER_LINEAR,
    "area": cv2.INTER_LINEAR,
    "bicubic": cv2.INTER_CUBIC,
    "lanczos": cv2.INTER_LANCZOS4,
}
_MOST_CHANNELS = 4  # that OpenCV warps at once
_FLIP_CODE = {(False, True): 1, (True, False): 0, (True, True): -1}


def warp(
    image: Image,
    x: Axis,
    y: Axis,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    out: Image,
) -> None:
    """Look at `image` (h, w, c) from each pixel of `out` (height, width, c) of the same dtype.

    Args:
        image: the decoded window.
        x: where the pixels of `out` look along the columns of `image`; y: along its rows.
        interpolation: how to read between pixels.
        fill_mode: what lies outside.
        fill_value: for ``fill_mode="constant"``, in the values of `image`.
        out: is written to.
    """
    if interpolation == "nearest":
        np.copyto(out, gather(image, x, y, out.shape[:2], fill_mode, fill_value))
        return
    # OpenCV counts from the middle of the first pixel.
    matrix = np.array([[x.a, x.b, x.c - 0.5], [y.a, y.b, y.c - 0.5]])
    for first in range(0, out.shape[2], _MOST_CHANNELS):
        part = slice(first, min(first + _MOST_CHANNELS, out.shape[2]))
        result = cv2.warpAffine(
            np.ascontiguousarray(image[:, :, part]),
            matrix,
            (out.shape[1], out.shape[0]),
            dst=out if out.shape[2] <= _MOST_CHANNELS and out.flags.c_contiguous else None,
            flags=_FLAGS[interpolation] | cv2.WARP_INVERSE_MAP,
            borderMode=_BORDER[fill_mode],
            borderValue=(fill_value,) * _MOST_CHANNELS,
        )
        if not np.shares_memory(result, out):
            out[:, :, part] = result.reshape(*out.shape[:2], -1)


def gather(
    image: Image, x: Axis, y: Axis, size: tuple[int, int], fill_mode: str, fill_value: float
) -> Image:
    """Read the pixel that each target pixel looks at; no value is mixed with another.

    Args:
        image: (h, w, c).
        x: along the columns of `image`; y: along its rows.
        size: (height, width) of the result.
        fill_mode: what lies outside.
        fill_value: for ``fill_mode="constant"``.
    """
    rows, columns = np.arange(size[0])[:, None], np.arange(size[1])
    row, column = looks(y, columns, rows, PYTHON), looks(x, columns, rows, PYTHON)
    height, width = image.shape[:2]
    found: Image = image[_FOLD[fill_mode](row, height), _FOLD[fill_mode](column, width)]
    if fill_mode == "constant":
        found[(row < 0) | (row >= height) | (column < 0) | (column >= width)] = fill_value
    return found


def flip(image: Image, down: bool, across: bool) -> None:
    """Mirror `image` (h, w, c) in place."""
    if down or across:
        cv2.flip(image, _FLIP_CODE[down, across], dst=image)


def colour(image: Image, row: npt.NDArray[np.float64], white: float) -> None:
    """Change the colour of `image` (h, w, c), float32 of 0..white, in place.

    Grey has no hue and no saturation; neither has a picture of other than 3 or 4 channels, whose
    channels mean something else. The fourth of four, alpha, stays.
    """
    levels = white / 255
    if image.shape[2] not in (3, 4):
        pivot = row[PIVOT] * float(np.mean(image, dtype=np.float64)) if row[PIVOT] else 0.0
        np.multiply(image, np.float32(row[GAIN]), out=image)
        np.add(image, np.float32(pivot + row[SHIFT] * levels), out=image)
    else:
        pivot = row[PIVOT] * float(LUMA @ cv2.mean(image)[:3]) if row[PIVOT] else 0.0
        matrix = np.eye(image.shape[2], image.shape[2] + 1)
        matrix[:3, :3] = row[LINEAR].reshape(3, 3)
        matrix[:3, -1] = pivot + row[SHIFT] * levels
        cv2.transform(image, matrix, dst=image)
    np.clip(image, 0, white, out=image)


def erase(image: Image, box: npt.NDArray[np.float64], value: float) -> None:
    """Fill a box of `image` (h, w, c): top, left, bottom, right as fractions of its sides."""
    top, left, bottom, right = corners(box, image.shape[0], image.shape[1], PYTHON)
    image[top:bottom, left:right] = value


_FOLD = {
    "constant": lambda index, length: np.clip(index, 0, length - 1),
    "nearest": lambda index, length: np.clip(index, 0, length - 1),
    "reflect": lambda index, length: np.minimum(index % (2 * length), -(index + 1) % (2 * length)),
    "wrap": lambda index, length: index % length,
}

"""Bytes -> array: the only place that imports an image decoder. Imports errors, spec, NumPy.

1. Content decides the format, not the name.
2. The result is always uint8 (height, width, channels), channels as `color_mode` says.
3. A scaled JPEG is decoded at 1/1, 1/2, 1/4 or 1/8, the smallest that covers the target.
"""

from typing import Any

import imageio.v3 as iio
import numpy as np
import numpy.typing as npt
import simplejpeg

from dfloader import geometry
from dfloader.errors import DecodeError
from dfloader.spec import ImageSpec

JPEG_MAGIC = b"\xff\xd8\xff"
SCALES = (8, 4, 2, 1)

_JPEG_COLOR = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "GRAY", "unchanged": "RGB"}
_PILLOW_MODE = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L", "unchanged": None}


def decode(data: bytes, spec: ImageSpec) -> npt.NDArray[np.uint8]:
    """Decode an encoded image.

    Raises:
        DecodeError: the bytes are not an image, or a broken one.
    """
    try:
        if data.startswith(JPEG_MAGIC):
            return _decode_jpeg(data, spec)
        return _decode_other(data, spec)
    except (ValueError, OSError, SyntaxError) as error:
        raise DecodeError(f"cannot decode: {error}") from error


def _decode_jpeg(data: bytes, spec: ImageSpec) -> npt.NDArray[np.uint8]:
    height, width = simplejpeg.decode_jpeg_header(data)[:2]
    k = geometry.place(
        height,
        width,
        spec.target_size,
        resize_mode=spec.resize_mode,
        scaled=spec.decode == "scaled",
    ).scale
    image: npt.NDArray[np.uint8] = simplejpeg.decode_jpeg(
        data,
        _JPEG_COLOR[spec.color_mode],
        min_height=-(-height // k),
        min_width=-(-width // k),
        min_factor=1,
    )
    return image


def _decode_other(data: bytes, spec: ImageSpec) -> npt.NDArray[np.uint8]:
    image: npt.NDArray[Any] = iio.imread(
        data, index=0, plugin="pillow", mode=_PILLOW_MODE[spec.color_mode]
    )
    return image if image.ndim == 3 else image[:, :, None]

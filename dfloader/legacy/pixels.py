"""A path as the original's ``load_img`` reads it, faster where the result is the same to the bit.

JPEGs go through simplejpeg and, for ``nearest``, OpenCV; every other file, and every JPEG that is
broken or has another colour space, through ``load_img`` itself.
"""

import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import simplejpeg
from PIL import Image

from dfloader.backend import keras

_JPEG_MAGIC = b"\xff\xd8\xff"
_EQUAL_COLOUR_SPACES = (
    "YCbCr",
    "Gray",
)  # where simplejpeg equals Pillow; CMYK is converted otherwise
_RESAMPLING = {
    name: Image.Resampling[name.upper()]
    for name in ("bilinear", "bicubic", "hamming", "box", "lanczos")
}

Pixels = npt.NDArray[Any]


@dataclass(frozen=True)
class Look:
    """How a file becomes an array.

    Attributes:
        target_size: height, width.
        color_mode: rgb, rgba or grayscale.
        interpolation: Pillow's name of it.
        data_format: channels_last or channels_first.
    """

    target_size: tuple[int, int]
    color_mode: str
    interpolation: str
    data_format: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of an image in a batch."""
        channels = {"rgb": 3, "rgba": 4, "grayscale": 1}[self.color_mode]
        if self.data_format == "channels_last":
            return (*self.target_size, channels)
        return (channels, *self.target_size)


def load(path: str, look: Look) -> Pixels:
    """Read a file as an array of ``look.shape``, in the dtype it is stored in.

    Raises:
        OSError: there is no such file, or Pillow cannot read it.
    """
    data = Path(path).read_bytes()
    image = _load_jpeg(data, look) if data.startswith(_JPEG_MAGIC) else None
    if image is None:
        image = _load_original(data, look)
    if image.ndim == 2:
        image = image[:, :, None]
    return image if look.data_format == "channels_last" else image.transpose(2, 0, 1)


def _load_original(data: bytes, look: Look) -> Pixels:
    return np.asarray(
        keras.utils.load_img(
            io.BytesIO(data),
            color_mode=look.color_mode,
            target_size=look.target_size,
            interpolation=look.interpolation,
        )
    )


def _load_jpeg(data: bytes, look: Look) -> Pixels | None:
    """Decode a JPEG; None: only the original can say what it is."""
    try:
        height, width, colour_space, _ = simplejpeg.decode_jpeg_header(data)
        if colour_space not in _EQUAL_COLOUR_SPACES:
            return None
        image: Pixels = simplejpeg.decode_jpeg(data, _decoded_as(look, colour_space))
    except ValueError:
        return None
    if (height, width) != look.target_size:
        if look.interpolation in _RESAMPLING:
            return _resize_like_original(image, look)
        if look.interpolation != "nearest":
            return None
        image = resize_nearest(image, look.target_size)
    return _to_grey(image) if look.color_mode == "grayscale" else image


def _decoded_as(look: Look, colour_space: str) -> str:
    if look.color_mode == "grayscale":
        return "GRAY" if colour_space == "Gray" else "RGB"
    return "RGB" if look.color_mode == "rgb" else "RGBA"


def _to_grey(image: Pixels) -> Pixels:
    """Weigh RGB as Pillow does; the Y of a JPEG is rounded otherwise."""
    return image if image.shape[2] == 1 else np.asarray(Image.fromarray(image).convert("L"))


def _resize_like_original(image: Pixels, look: Look) -> Pixels:
    grey = look.color_mode == "grayscale"
    picture = Image.fromarray(_to_grey(image).squeeze() if grey else image)
    return np.asarray(picture.resize(look.target_size[::-1], _RESAMPLING[look.interpolation]))


def resize_nearest(image: Pixels, size: tuple[int, int]) -> Pixels:
    """Resize an image (height, width, channels) to ``size``, picking the pixels Pillow picks."""
    rows, columns = (_picked(old, new) for old, new in zip(image.shape, size, strict=False))
    if _opencv_picks(image.shape[0], size[0]) and _opencv_picks(image.shape[1], size[1]):
        resized = cv2.resize(image, size[::-1], interpolation=cv2.INTER_NEAREST_EXACT)
        return resized.reshape(*size, image.shape[2])
    return image[rows].take(columns, axis=1)


@lru_cache(maxsize=4096)
def _picked(old: int, new: int) -> npt.NDArray[np.intp]:
    """Give the old index of each new pixel: Pillow adds up the step, rounding as it goes."""
    steps = np.full(new, old / new)
    steps[0] /= 2
    return np.minimum(np.add.accumulate(steps).astype(np.intp), old - 1)


@lru_cache(maxsize=4096)
def _opencv_picks(old: int, new: int) -> bool:
    """Whether OpenCV's fixed-point arithmetic picks the same indices."""
    ramp = np.arange(old, dtype=np.float32)[None]
    picked = cv2.resize(ramp, (new, 1), interpolation=cv2.INTER_NEAREST_EXACT)
    return bool((picked[0] == _picked(old, new)).all())

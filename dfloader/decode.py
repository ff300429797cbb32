"""Bytes -> array. Imports header, levels, probe, scratch, spec; with `probe` the only place that
asks an image decoder.

1. Content decides the format, not the name; of an animation, the first frame.
2. The result is (height, width, channels): uint8, uint16, or float32 in the range of `spec.dtype`;
   upright where `spec.exif` says so (a turned view: no pixel is moved).
3. A palette gives its colours, one bit black and white, CMYK its RGB; alpha is dropped or kept,
   never mixed in.
4. JPEG pixels equal libjpeg's with the accurate transform, bit for bit, at 1/1, 1/2, 1/4 and 1/8.
5. Whatever is wrong with the bytes, the error is a `DecodeError`.
"""

from typing import Any

import imagecodecs
import imageio.v3 as iio
import numpy as np
import numpy.typing as npt
import simplejpeg

from dfloader.errors import DecodeError
from dfloader.header import CMYK, Header, npy_layout
from dfloader.levels import ink_to_rgb, to_channels, to_levels
from dfloader.probe import PILLOW_DEEP, guarded, probe
from dfloader.scratch import borrow
from dfloader.spec import ImageSpec

Array = npt.NDArray[Any]

_JPEG_COLOR = {"rgb": ("RGB", 3), "rgba": ("RGBA", 4), "grayscale": ("GRAY", 1)}
_JPEG_STORED = {1: ("GRAY", 1), 3: ("RGB", 3), CMYK: ("CMYK", CMYK)}
# Warnings of libjpeg after which every pixel is there.
_HARMLESS = ("extraneous bytes before marker", "transferred too many scanlines")
_END_OF_IMAGE = b"\xff\xd9"

_PILLOW_COLOR = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}
_PILLOW_STORED = {"1": "L", "L": "L", "LA": "LA", "PA": "RGBA", "RGBA": "RGBA"}


def decode(data: bytes, spec: ImageSpec, header: Header | None = None, *, scale: int = 1) -> Array:
    """Decode an encoded image.

    Args:
        data: the file's content.
        spec: color_mode, dtype, exif, max_pixels.
        header: what `probe` said, which also keeps to `max_pixels`; None: ask it.
        scale: k, to decode at 1/k; other than 1 only where `header.scalable`.

    Returns:
        A view of memory that this thread keeps, or an array of its own: it is valid until the
        thread decodes again.

    Raises:
        DecodeError: the bytes are not an image, a broken one, or one that `spec` excludes.
    """
    header = header or probe(data, max_pixels=spec.max_pixels)
    pixels: Array = guarded(_pixels, data, spec, header, scale)
    said = (-(-header.height // scale), -(-header.width // scale), channels(header, spec))
    if pixels.shape != said:
        raise DecodeError(f"the header says {said} pixels and channels, the rest {pixels.shape}")
    return _upright(pixels, header, exif=spec.exif)


def channels(header: Header, spec: ImageSpec) -> int:
    """Say how many channels `decode` gives."""
    if spec.channels is not None:
        return spec.channels
    if header.pillow_mode in PILLOW_DEEP:
        return 1
    if header.pillow_mode:
        return len(_PILLOW_STORED.get(header.pillow_mode, "RGB"))
    return 3 if header.format == "jpeg" and header.channels == CMYK else header.channels


def decode_mask(data: bytes, spec: ImageSpec) -> npt.NDArray[np.uint8]:
    """Decode a mask: the stored numbers, (h, w, 1), upright; of a palette the indices.

    Raises:
        DecodeError: as `decode`; or its values are not whole numbers from 0 to 255 in one channel.
    """
    header = probe(data, max_pixels=spec.max_pixels)
    mask = _upright(guarded(_stored, data, header), header, exif=spec.exif)
    if mask.shape[2] > 1 and not (mask[:, :, 1:3] == mask[:, :, :1]).all():
        raise DecodeError(
            f"the mask has {mask.shape[2]} channels that differ; one channel of class numbers is "
            "needed"
        )
    mask = mask[:, :, :1]
    if mask.dtype != np.uint8 and not np.isin(mask, np.arange(256)).all():
        raise DecodeError(
            f"the mask holds {mask.dtype} values from {mask.min()} to {mask.max()}; whole numbers "
            "from 0 to 255 are needed"
        )
    return mask.astype(np.uint8, copy=False)


def _upright(pixels: Array, header: Header, *, exif: bool) -> Array:
    transpose, flip_rows, flip_columns = header.flags(exif=exif)
    if transpose:
        pixels = pixels.swapaxes(0, 1)
    return pixels[:: 1 - 2 * flip_rows, :: 1 - 2 * flip_columns]


def _pixels(data: bytes, spec: ImageSpec, header: Header, scale: int) -> Array:
    if header.scalable:
        return _jpeg(data, spec, header, scale)
    if header.pillow_mode and header.pillow_mode not in PILLOW_DEEP:
        mode = _PILLOW_COLOR.get(spec.color_mode, _PILLOW_STORED.get(header.pillow_mode, "RGB"))
        return _pillow(data, mode)
    pixels = to_levels(_stored(data, header), header.depth, spec.dtype)
    return to_channels(pixels, spec.color_mode, spec.dtype)


def _stored(data: bytes, header: Header) -> Array:
    """Give the numbers of a file as they stand in it."""
    if header.pillow_mode:
        pixels = _pillow(data, "P" if header.pillow_mode == "P" else None)
        return pixels.astype(np.uint16) if header.kind == "uint" and header.depth == 16 else pixels
    if header.format == "png":
        return _png(data, header)
    if header.format == "npy":
        return _npy(data)
    if header.format == "tiff":
        return _tiff(data, header)
    if header.depth == 8:
        name, channels = _JPEG_STORED[header.channels]
        return _simplejpeg(data, name, channels, header, 1)
    return _with_channels(imagecodecs.jpeg8_decode(data))


def _jpeg(data: bytes, spec: ImageSpec, header: Header, scale: int) -> Array:
    if header.channels == CMYK:
        ink = _simplejpeg(data, "CMYK", CMYK, header, scale)
        return to_channels(ink_to_rgb(ink, inverted=header.inverted), spec.color_mode, spec.dtype)
    name, channels = _JPEG_COLOR.get(spec.color_mode) or _JPEG_STORED[header.channels]
    return _simplejpeg(data, name, channels, header, scale)


def _simplejpeg(data: bytes, name: str, channels: int, header: Header, scale: int) -> Array:
    """Decode into this thread's kept memory."""
    height, width = -(-header.height // scale), -(-header.width // scale)
    # What it chooses is the smallest scale that is no smaller than this; 0: full size.
    least = {"min_height": height, "min_width": width} if scale > 1 else {}
    memory = borrow("decoded", (height, width, channels), np.uint8)
    try:
        image: Array = simplejpeg.decode_jpeg(data, name, min_factor=1, buffer=memory, **least)
    except ValueError as error:
        if not any(words in str(error) for words in _HARMLESS) or _END_OF_IMAGE not in data[-1024:]:
            raise
        image = simplejpeg.decode_jpeg(
            data, name, min_factor=1, buffer=memory, strict=False, **least
        )
    return image


def _png(data: bytes, header: Header) -> Array:
    dtype = np.uint8 if header.depth == 8 else np.uint16
    memory = borrow("decoded", (header.height, header.width, header.channels), dtype)
    imagecodecs.png_decode(data, out=memory[:, :, 0] if header.channels == 1 else memory)
    return memory


def _npy(data: bytes) -> Array:
    shape, fortran, dtype, start = npy_layout(data)
    count = int(np.prod(shape, dtype=np.int64))
    values = np.frombuffer(data, dtype, count, start)
    array = values.reshape(shape[::-1]).T if fortran else values.reshape(shape)
    return _with_channels(array.astype(dtype.newbyteorder("="), copy=False))


def _tiff(data: bytes, header: Header) -> Array:
    page: Array = iio.imread(data, plugin="tifffile", index=..., page=0)  # type: ignore[arg-type]
    if page.ndim == 3 and page.shape[0] == header.channels != page.shape[2]:
        page = np.moveaxis(page, 0, 2)  # the channels lie in planes
    pixels = _with_channels(page)
    if header.inverted:
        most = 1 if pixels.dtype.kind == "b" else 2**header.depth - 1
        pixels = (most - pixels.astype(np.int64)).astype(pixels.dtype)
    return pixels


def _pillow(data: bytes, mode: str | None) -> Array:
    image: Array = iio.imread(data, plugin="pillow", index=0, mode=mode, writeable_output=False)
    return _with_channels(image)


def _with_channels(image: Array) -> Array:
    return image if image.ndim == 3 else image[:, :, None]

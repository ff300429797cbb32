"""Bytes -> `Header`: what a file says of its picture. Imports header.

Content decides the format, not the name.
"""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import simplejpeg
import tifffile
from PIL import Image

from dfloader.errors import DecodeError
from dfloader.header import (
    CMYK,
    JPEG_MAGIC,
    NPY_MAGIC,
    ORIENTATION_TAG,
    PNG_MAGIC,
    TIFF_MAGICS,
    Header,
    Kind,
    read_jpeg,
    read_npy,
    read_png,
    usable,
)

_LIMIT_CHANNELS = 4

_KINDS: dict[str, Kind] = {"b": "uint", "u": "uint", "i": "int", "f": "float"}
_TIFF_FAX = (2, 3, 4)
PILLOW_DEEP: dict[str, tuple[Kind, int]] = {
    "I;16": ("uint", 16),
    "I;16B": ("uint", 16),
    "I;16L": ("uint", 16),
    "I": ("int", 32),
    "F": ("float", 32),
}


def probe(data: bytes, *, max_pixels: int | None) -> Header:
    """Read what a file says of its picture, without decoding it.

    Args:
        data: the file's content.
        max_pixels: the most that are allowed; None: any number.

    Raises:
        DecodeError: the bytes are not an image, their header is broken, or it says that there are
            more than `max_pixels`.
    """
    header: Header = guarded(_probe, data)
    if header.height < 1 or header.width < 1 or header.channels < 1:
        raise DecodeError(f"the header says {header.height} x {header.width} pixels; it is corrupt")
    # Many channels count for the pixels of four that they hold.
    pixels = header.height * header.width * max(1, header.channels // _LIMIT_CHANNELS)
    if max_pixels is not None and pixels > max_pixels:
        raise DecodeError(
            f"the header says {header.height} x {header.width} pixels of {header.channels} "
            f"channels, more than max_pixels={max_pixels} allows; raise it if the file is sound"
        )
    return header


def guarded(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function`, and turn whatever goes wrong into a DecodeError.

    Decoders raise anything at all on broken bytes (struct.error, IndexError, RecursionError, ...),
    and all of it means one thing.
    """
    try:
        return function(*args)
    except DecodeError:
        raise
    except Exception as error:
        raise DecodeError(f"cannot decode: {str(error) or type(error).__name__}") from error


def _probe(data: bytes) -> Header:
    if data.startswith(JPEG_MAGIC):
        return _probe_jpeg(data)
    if data.startswith(PNG_MAGIC):
        return read_png(data)
    if data.startswith(NPY_MAGIC):
        return read_npy(data)
    if data.startswith(TIFF_MAGICS):
        return _probe_tiff(data)
    if not data:
        raise DecodeError("the file is empty")
    return _probe_pillow(data)


def _probe_jpeg(data: bytes) -> Header:
    header = read_jpeg(data)
    try:
        simplejpeg.decode_jpeg_header(data)
    except ValueError:  # a subsampling it does not know, or stray bytes; libjpeg itself reads both
        if header.depth == 8 and header.channels != CMYK:
            return _probe_pillow(data)
    return header


def _probe_tiff(data: bytes) -> Header:
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages.first
        dtype, photometric = page.dtype, int(page.photometric)
        if photometric > 2 or int(page.compression) in _TIFF_FAX:
            return _probe_pillow(data)
        if dtype is None or page.imagedepth > 1:
            raise DecodeError("the TIFF holds numbers of a kind, or in a shape, that is no picture")
        return Header(
            "tiff",
            int(page.imagelength),
            int(page.imagewidth),
            int(page.samplesperpixel),
            int(np.max(page.bitspersample)),
            _KINDS[dtype.kind],
            usable(page.tags.valueof(ORIENTATION_TAG)),
            inverted=photometric == 0,
        )


def _probe_pillow(data: bytes) -> Header:
    try:
        image = Image.open(io.BytesIO(data))
    except Image.UnidentifiedImageError as error:
        raise DecodeError(f"not an image: it begins with {data[:16]!r}") from error
    with image:
        mode, name = image.mode, (image.format or "").lower()
        kind, depth = PILLOW_DEEP.get(mode, ("uint", 8))
        if mode == "I" and name == "ppm":
            kind, depth = "uint", 16  # Pillow has scaled it
        return Header(
            name,
            image.height,
            image.width,
            3 if mode == "P" else len(image.getbands()),
            depth,
            kind,
            usable(image.getexif().get(ORIENTATION_TAG)),
            pillow_mode=mode,
        )

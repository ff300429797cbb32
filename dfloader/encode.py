"""Encoded image -> a smaller one: the only place that asks an image encoder."""

import imagecodecs
import numpy as np
import numpy.typing as npt

from dfloader.decode import channels, decode, decode_mask
from dfloader.geometry import fitted, place
from dfloader.header import Header
from dfloader.probe import probe
from dfloader.render import render, render_mask
from dfloader.spec import MAX_PIXELS, Dtype, ImageSpec

# libjpeg's scale. From here on a second compression is hard to see, and files halve against 98.
JPEG_QUALITY = 95
_PNG_CHANNELS = 4
_DTYPES: dict[int, Dtype] = {8: "uint8", 16: "uint16"}


def shrunk(data: bytes, max_side: int) -> bytes:
    """Make an image no longer than `max_side` pixels: a JPEG of a JPEG, a PNG of anything else.

    It comes out upright. An image that is small enough, or that neither format holds (floats, more
    than four channels), is given back as it is.

    Raises:
        DecodeError: it is not an image, or a broken one.
    """
    header = probe(data, max_pixels=MAX_PIXELS)
    size = _size(header, max_side)
    if size is None or header.kind != "uint" or header.depth not in _DTYPES:
        return data
    spec = ImageSpec(
        target_size=size,
        color_mode="unchanged",
        interpolation="area",
        dtype=_DTYPES[header.depth],
    )
    depth = channels(header, spec)
    if depth > _PNG_CHANNELS:
        return data
    height, width = header.size()
    placement = place(height, width, size, scaled=header.scalable)
    out: npt.NDArray[np.uint8] = np.empty((*size, depth), spec.dtype)
    render(decode(data, spec, header, scale=placement.scale), spec, out, placement=placement)
    return _jpeg(out) if header.format == "jpeg" and header.depth == 8 else _png(out)


def shrunk_mask(data: bytes, max_side: int) -> bytes:
    """Make a mask no longer than `max_side`, of pixels that it has: a PNG.

    Raises:
        DecodeError: it is not a mask, or a broken one.
    """
    size = _size(probe(data, max_pixels=MAX_PIXELS), max_side)
    if size is None:
        return data
    mask = decode_mask(data, ImageSpec())
    out = np.empty((*size, 1), np.uint8)
    render_mask(mask, place(mask.shape[0], mask.shape[1], size), out)
    return _png(out)


def _size(header: Header, max_side: int) -> tuple[int, int] | None:
    """Say how large to make it; None: it is small enough."""
    height, width = header.size()
    if max(height, width) <= max_side:
        return None
    box = fitted(height, width, max_side, max_side)
    return int(box.height), int(box.width)


def _jpeg(image: npt.NDArray[np.uint8]) -> bytes:
    return bytes(imagecodecs.jpeg8_encode(_flat(image), level=JPEG_QUALITY))


def _png(image: npt.NDArray[np.uint8]) -> bytes:
    return bytes(imagecodecs.png_encode(_flat(image)))


def _flat(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return image[:, :, 0] if image.shape[2] == 1 else image

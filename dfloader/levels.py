"""What the numbers in a file mean: channels and levels. Imports errors, spec, NumPy.

1. Whole numbers are scaled by their depth, so that the deepest black and the brightest white of any
   file are those of 8 bits: what comes out is uint8, or uint16 over its whole range.
2. Fractions (float files with values in 0..1 only) are scaled to the range of `dtype`; other float
   and signed numbers are taken as they are. Both come out as float32.
3. Nothing is saturated: a number that an integer `dtype` cannot hold is an error.
4. Grey is ITU-R 601-2 in 16 bits, as Pillow and libjpeg have it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.errors import DecodeError
from dfloader.spec import ColorMode, Dtype

Array = npt.NDArray[Any]

LUMA = (19595, 38470, 7471)
_LUMA_ONE = 65536
_ALPHA = {2: 1, 4: 3}  # where alpha is, by the number of channels


def to_levels(pixels: Array, depth: int, dtype: Dtype) -> Array:
    """Scale stored numbers as the contract above says.

    Args:
        pixels: (h, w, c), any kind of number.
        depth: bits of a whole number.
        dtype: of the batch.
    """
    if pixels.dtype.kind in "bu":
        return _scaled_by_depth(pixels, 1 if pixels.dtype.kind == "b" else depth, dtype)
    values = pixels.astype(np.float32)
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise DecodeError("the file holds NaN or infinity; replace them before training")
    if pixels.dtype.kind == "f" and low >= 0 and high <= 1:
        values *= _top(dtype)
    elif dtype != "float32" and (low < 0 or high > _top(dtype)):
        raise DecodeError(
            f"the file holds {pixels.dtype} values from {low:g} to {high:g}, which {dtype} cannot "
            "hold; use dtype='float32'"
        )
    return values


def to_channels(pixels: Array, mode: ColorMode, dtype: Dtype) -> Array:
    """Turn (h, w, c) into the channels of `mode`; `pixels` itself where it has them."""
    count = pixels.shape[2]
    if mode == "unchanged":
        return pixels
    if count > 4:
        raise DecodeError(
            f"the file has {count} channels, and color_mode={mode!r} takes at most 4; use "
            "color_mode='unchanged'"
        )
    colours = pixels[:, :, : _ALPHA.get(count, count)]
    if mode == "grayscale":
        return colours if colours.shape[2] == 1 else to_grey(colours)
    if mode == "rgb":
        return colours if colours.shape[2] == 3 else colours.repeat(3, axis=2)
    if count == 4:
        return pixels
    alpha = (
        pixels[:, :, 1:] if count == 2 else np.full_like(pixels[:, :, :1], _white(pixels, dtype))
    )
    return np.concatenate([colours.repeat(3 // colours.shape[2], axis=2), alpha], axis=2)


def to_grey(colours: Array) -> Array:
    """Weigh RGB (h, w, 3) into (h, w, 1) of the same dtype."""
    if colours.dtype.kind == "f":
        return np.asarray(colours @ np.array(LUMA, np.float32) / _LUMA_ONE)[:, :, None]
    weighed = colours.astype(np.uint32) @ np.array(LUMA, np.uint32)
    return np.asarray((weighed + _LUMA_ONE // 2) // _LUMA_ONE, colours.dtype)[:, :, None]


def ink_to_rgb(ink: Array, *, inverted: bool) -> Array:
    """Turn CMYK (h, w, 4) uint8 into RGB: what the colour's ink and the black ink let through."""
    light = ink if inverted else 255 - ink
    return np.asarray(light[:, :, :3].astype(np.uint16) * light[:, :, 3:] // 255, np.uint8)


def _scaled_by_depth(pixels: Array, depth: int, dtype: Dtype) -> Array:
    most = 2**depth - 1
    if depth in (8, 16):
        return pixels.astype(f"uint{depth}", copy=False)
    if depth > 16:
        return np.asarray(pixels * (_top(dtype) / most), np.float32)
    wide = np.uint8 if depth < 8 else np.uint16
    return np.asarray(np.rint(pixels * (np.iinfo(wide).max / most)), wide)


def _top(dtype: Dtype) -> int:
    return 65535 if dtype == "uint16" else 255


def _white(pixels: Array, dtype: Dtype) -> int:
    return _top(dtype) if pixels.dtype.kind == "f" else int(np.iinfo(pixels.dtype).max)

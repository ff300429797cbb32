"""Decoded image + view + draw -> example: placed or warped, flipped, coloured, erased.

Imports augment, draws, render, scratch, spec, view, warp.

1. Without an `Augment` it is `resample`, bit for bit. `rescale` comes later.
2. What colours is computed in float32 and rounded once, at the end.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.augment import Augment
from dfloader.draws import Draws
from dfloader.render import average, convert, cut, levels, render_mask, resample
from dfloader.scratch import borrow
from dfloader.spec import ImageSpec
from dfloader.view import PYTHON, Axis, View, averaged, of_mask
from dfloader.warp import colour, erase, flip, gather, warp

Array = npt.NDArray[Any]


def render_drawn(
    image: Array, view: View, spec: ImageSpec, augment: Augment | None, drawn: Draws, out: Array
) -> None:
    """Make the example of a row, straight into `out` where nothing stands between.

    Args:
        image: upright (h, w, c), decoded as `view` says.
        view: of the row.
        spec: interpolation, resize_mode, dtype.
        augment: what may change.
        drawn: the row's draw, without a leading axis.
        out: (target height, target width, c) of `spec.dtype`; all of it is written.
    """
    if augment is None:
        resample(image, spec, out, view.placement)
        return
    white = _white(out.dtype)
    work = out
    if drawn.colour is not None and out.dtype != np.float32:
        values = borrow("values", image.shape, np.float32)
        convert(image, values, times=levels(image.dtype, out.dtype))
        image, work = values, borrow("coloured", out.shape, np.float32)
    _place(image, view, spec, augment, drawn, work, white)
    if drawn.colour is not None:
        colour(work, drawn.colour, white)
    if drawn.erase is not None:
        erase(work, drawn.erase, augment.fill_value / 255 * white)
    if work is not out:
        convert(work, out)


def render_mask_drawn(
    mask: npt.NDArray[np.uint8], view: View, augment: Augment | None, drawn: Draws, out: Array
) -> None:
    """Let a mask follow its picture: each pixel is one of the mask's, 0 outside.

    Where the picture is seen again outside of it (reflect, wrap), so is the mask.

    Args:
        mask: upright (h, w, 1), of any size: it is taken to cover the whole picture.
        view: the picture's.
        augment: what may change.
        drawn: the row's draw.
        out: (target height, target width, 1) uint8.
    """
    if augment is None or view.x is None or view.y is None:
        render_mask(mask, view.placement, out)
        flip(out, *flips(drawn))
        return
    placed, (height, width) = view.placement, mask.shape[:2]
    x = of_mask(view.x, placed.window.left, placed.width, width, PYTHON)
    y = of_mask(view.y, placed.window.top, placed.height, height, PYTHON)
    fill_mode = augment.fill_mode if augment.repeats else "constant"
    np.copyto(out, gather(mask, x, y, out.shape[:2], fill_mode, 0))


def flips(drawn: Draws) -> tuple[bool, bool]:
    """Tell whether a draw mirrors top and bottom, left and right."""
    if drawn.matrix is None:
        return False, False
    return bool(drawn.matrix[1][1] < 0), bool(drawn.matrix[0][0] < 0)


def _place(
    image: Array,
    view: View,
    spec: ImageSpec,
    augment: Augment,
    drawn: Draws,
    out: Array,
    white: float,
) -> None:
    if view.x is None or view.y is None:
        resample(image, spec, out, view.placement)
        flip(out, *flips(drawn))
        return
    part, x, y = _ready(image, view, spec.interpolation, out)
    fill = augment.fill_value / 255 * (white if part.dtype == np.float32 else _white(part.dtype))
    if part.dtype == out.dtype and out.flags.c_contiguous:
        warp(part, x, y, spec.interpolation, augment.fill_mode, fill, out)
    else:
        result = borrow("result", out.shape, part.dtype)
        warp(part, x, y, spec.interpolation, augment.fill_mode, fill, result)
        convert(result, out)


def _ready(image: Array, view: View, interpolation: str, out: Array) -> tuple[Array, Axis, Axis]:
    """Give what a warp reads: the window, in float32 of the range of `out` if values will mix."""
    assert view.x is not None and view.y is not None
    part, x, y = cut(image, view.placement.window), view.x, view.y
    if interpolation != "area" and (part.dtype == out.dtype or interpolation == "nearest"):
        return part, x, y
    source = borrow("source", part.shape, np.float32)
    convert(part, source, times=levels(part.dtype, out.dtype))
    if interpolation != "area":
        return source, x, y
    height, y = averaged(y, part.shape[0], out.shape[:2], PYTHON)
    width, x = averaged(x, part.shape[1], out.shape[:2], PYTHON)
    fewer = borrow("averaged", (height, width, part.shape[2]), np.float32)
    average(source, fewer)
    return fewer, x, y


def _white(dtype: np.dtype[Any]) -> float:
    """Give the highest value of an example: floats are 0..255."""
    return 255.0 if dtype == np.float32 else float(np.iinfo(dtype).max)

"""A picture's size and a row's draw -> what to decode, and where each target pixel looks.

Pure arithmetic like `geometry`, which it builds on: the same lines run on the numbers of the NumPy
engine and on the tensors of tf.data, so that both see the same pixels. Imports augment, draws,
geometry, spec.

1. A crop becomes a box of whole pixels. With no more than flips besides, it is resized.
2. With a warp, target pixel (column i, row j) looks at the point (a i + b j + c, d i + e j + f) of
   the decoded window: pixel edges are whole numbers there, pixel 0 reaches from 0 to 1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dfloader.augment import Augment
from dfloader.draws import NOTHING, Draws
from dfloader.geometry import DETAIL, Box, Placement, largest, least, place
from dfloader.spec import ImageSpec

# Steps of a pixel that matrices are rounded to, of windows up to `_SHORT` pixels long; half as many
# for each doubling. Then 24 bits hold a coordinate, and any order of float32 operations gives it
# exactly: OpenCV and TensorFlow look at the very same points. Over 224 target pixels the rounding
# moves the last one by 0.007 pixels of such a window.
_SHORT, _SHORT_STEPS = 1024, 2**14
_MOST_DOUBLINGS = 14

# Fixed point of `looks`: 2**32 steps for each of up to 2**31 pixels fill an int64.
_STEPS = 2**32

# Pixels that sampling reads to each side of where it looks: four for Lanczos, one for rounding.
_REACH = 5


class Numbers(NamedTuple):
    """How an engine turns numbers into others.

    Attributes:
        real: whole number to float64.
        whole: float64 without a fraction to whole number.
    """

    real: Callable[[Any], Any]
    whole: Callable[[Any], Any]


PYTHON = Numbers(float, int)
ARRAYS = Numbers(
    real=lambda numbers: np.asarray(numbers, np.float64),
    whole=lambda numbers: numbers.astype(np.int64),
)


class Axis(NamedTuple):
    """Where target pixels look along one axis of the decoded window: at a i + b j + c."""

    a: Any
    b: Any
    c: Any


class View(NamedTuple):
    """How a row sees its picture.

    Attributes:
        placement: what to decode, and where it goes.
        x: where target pixels look along the window's columns; None: there is no warp.
        y: likewise along its rows.
    """

    placement: Placement
    x: Axis | None = None
    y: Axis | None = None


def see(
    height: Any,
    width: Any,
    spec: ImageSpec,
    *,
    scaled: bool,
    augment: Augment | None = None,
    drawn: Draws = NOTHING,
    numbers: Numbers = PYTHON,
) -> View:
    """Say how a row sees an upright picture of `height` x `width`.

    Args:
        height: of the picture.
        width: likewise.
        spec: target_size, resize_mode, decode.
        scaled: the picture can be decoded at 1/2, 1/4 and 1/8.
        augment: None: no change.
        drawn: the row's draw.
        numbers: of the engine.
    """
    crop = drawn.crop
    matrix = drawn.matrix if augment is not None and augment.warps else None
    placed = place(
        height,
        width,
        spec.target_size,
        resize_mode=spec.resize_mode,
        scaled=scaled and spec.decode == "scaled",
        window=None if crop is None else crop_box(height, width, crop, numbers),
        detail=(DETAIL, DETAIL) if matrix is None else _detail(matrix, numbers),
    )
    if matrix is None:
        return View(placed)
    assert augment is not None
    size = spec.target_size or (height, width)
    return _warped(placed, matrix, size, numbers, endless=augment.repeats)


def crop_box(height: Any, width: Any, crop: Any, numbers: Numbers) -> Box:
    """Find the box of a drawn crop in a picture of `height` x `width`.

    Args:
        height: of the picture.
        width: likewise.
        crop: part of the area, width / height, place from left to right and top to bottom.
        numbers: of the engine.
    """
    area, ratio, x, y = crop[0], crop[1], crop[2], crop[3]
    high, wide = numbers.real(height), numbers.real(width)
    # As wide as the ratio asks, but neither wider nor, with the area kept, higher than the picture.
    part = _lower(_upper((area * ratio * high / wide) ** 0.5, area), 1.0)
    columns = least(largest(_rounded(part * wide, numbers), 1), width)
    rows = least(largest(_rounded(area / part * high, numbers), 1), height)
    left = _rounded(x * numbers.real(width - columns), numbers)
    top = _rounded(y * numbers.real(height - rows), numbers)
    return Box(top, left, rows, columns)


def _detail(matrix: Any, numbers: Numbers) -> tuple[Any, Any]:
    """Say how far a warp steps along the picture's rows and columns, in 1/DETAIL of a pixel."""
    rows = (matrix[1][0] * matrix[1][0] + matrix[1][1] * matrix[1][1]) ** 0.5
    columns = (matrix[0][0] * matrix[0][0] + matrix[0][1] * matrix[0][1]) ** 0.5
    return _rounded(rows * DETAIL, numbers), _rounded(columns * DETAIL, numbers)


def _warped(
    placed: Placement,
    matrix: Any,
    target_size: tuple[Any, Any],
    numbers: Numbers,
    *,
    endless: bool,
) -> View:
    """Put a warp after a placement.

    Args:
        placed: where the picture goes without it.
        matrix: of the row, (2, 3), see `draws`.
        target_size: (height, width).
        numbers: of the engine.
        endless: outside the picture it is seen again (reflect, wrap), so that a window which
            reaches out must hold all of it.

    Returns:
        The placement with the window that is seen, filling the target; and where the target's
        pixels look along the columns and along the rows of that window.
    """
    window, target = placed.window, placed.target
    size = (numbers.real(target_size[0]), numbers.real(target_size[1]))
    across, down = (window.left, window.width), (window.top, window.height)
    x = _axis(matrix[0], size, size[1], across, (target.left, target.width), numbers)
    y = _axis(matrix[1], size, size[0], down, (target.top, target.height), numbers)
    left, columns = _seen(x, size, placed.width, numbers, endless=endless)
    top, rows = _seen(y, size, placed.height, numbers, endless=endless)
    seen = placed._replace(window=Box(top, left, rows, columns), target=Box(0, 0, *target_size))
    x, y = _from(x, left, numbers), _from(y, top, numbers)
    return View(seen, _exact(x, size, numbers), _exact(y, size, numbers))


def looks(axis: Axis, columns: Any, rows: Any, numbers: Numbers) -> Any:
    """Give the pixel, outside ones too, that target pixels at `columns`, `rows` (int64) look at.

    In whole numbers, so that every engine picks the same pixel: with floating point they disagree
    about a point on the edge between two.
    """
    a, b, c = (_rounded(part * _STEPS, numbers) for part in axis)
    return (columns * a + (rows * b + c)) // _STEPS


def averaged(
    axis: Axis, length: Any, target_size: tuple[Any, Any], numbers: Numbers
) -> tuple[Any, Axis]:
    """Say how many pixels to average the window's `length` into before a warp, and look at these.

    One for each step of the warp, so that it neither skips pixels nor blurs more than it must.
    """
    step = _upper((axis.a * axis.a + axis.b * axis.b) ** 0.5, 1.0)
    fewer = largest(_rounded(numbers.real(length) / step, numbers), 1)
    times = numbers.real(fewer) / numbers.real(length)
    size = (numbers.real(target_size[0]), numbers.real(target_size[1]))
    return fewer, _exact(Axis(axis.a * times, axis.b * times, axis.c * times), size, numbers)


def corners(box: Any, height: Any, width: Any, numbers: Numbers) -> tuple[Any, Any, Any, Any]:
    """Round top, left, bottom, right from fractions of the sides to whole pixels."""
    high, wide = numbers.real(height), numbers.real(width)
    scaled = (box[0] * high, box[1] * wide, box[2] * high, box[3] * wide)
    top, left, bottom, right = (_rounded(edge, numbers) for edge in scaled)
    return top, left, bottom, right


def of_mask(axis: Axis, start: Any, decoded: Any, stored: Any, numbers: Numbers) -> Axis:
    """Carry an axis over to the mask of a picture.

    Args:
        axis: along the window of the picture.
        start: first pixel of that window.
        decoded: pixels of the decoded picture along this axis.
        stored: pixels of the mask.
        numbers: of the engine.
    """
    times = numbers.real(stored) / numbers.real(decoded)
    return Axis(axis.a * times, axis.b * times, (axis.c + numbers.real(start)) * times)


def _axis(
    line: Any,
    target_size: tuple[Any, Any],
    side: Any,
    window: tuple[Any, Any],
    target: tuple[Any, Any],
    numbers: Numbers,
) -> Axis:
    """Count from the corner instead of the centre, in decoded pixels instead of target pixels.

    Args:
        line: a row of the matrix.
        target_size: (height, width), float64.
        side: that of the target along this axis.
        window: first pixel and number of pixels that are placed on
        target: first pixel and number of pixels.
        numbers: of the engine.
    """
    rows, columns = target_size
    start, first = numbers.real(window[0]), numbers.real(target[0])
    step = numbers.real(window[1]) / numbers.real(target[1])
    a, b, shift = line[0], line[1], line[2]
    centre = side / 2 + shift * side - a * ((columns - 1) / 2) - b * ((rows - 1) / 2)
    return Axis(a * step, b * step, start + (centre - first) * step)


def _seen(
    axis: Axis, target_size: tuple[Any, Any], length: Any, numbers: Numbers, *, endless: bool
) -> tuple[Any, Any]:
    """Give first pixel and number of pixels that sampling reads, of the `length` there are."""
    rows, columns = target_size
    middle = axis.c + axis.a * ((columns - 1) / 2) + axis.b * ((rows - 1) / 2)
    half = abs(axis.a) * ((columns - 1) / 2) + abs(axis.b) * ((rows - 1) / 2)
    start = numbers.whole((middle - half) // 1) - _REACH
    stop = numbers.whole((middle + half) // 1) + 1 + _REACH
    if endless:
        out = least(largest(-start, 0) + largest(stop - length, 0), 1)
        return start - out * start, (stop - start) + out * (length - stop + start)
    start = least(largest(start, 0), length - 1)
    stop = least(largest(stop, start + 1), length)
    return start, stop - start


def _from(axis: Axis, start: Any, numbers: Numbers) -> Axis:
    return axis._replace(c=axis.c - numbers.real(start))


def _exact(axis: Axis, target_size: tuple[Any, Any], numbers: Numbers) -> Axis:
    """Round an axis so that float32 arithmetic has no more rounding to do."""
    rows, columns = target_size
    most = abs(axis.c) + abs(axis.a) * columns + abs(axis.b) * rows
    times = numbers.whole(most // _SHORT)
    doublings = sum(2**n * least(times // 2**n, 1) for n in range(_MOST_DOUBLINGS))
    steps = numbers.real(_SHORT_STEPS // (1 + doublings))
    return Axis(*(((part * steps + 0.5) // 1) / steps for part in axis))


def _rounded(value: Any, numbers: Numbers) -> Any:
    return numbers.whole((value + 0.5) // 1)


def _lower(a: Any, b: Any) -> Any:
    return (a + b - abs(a - b)) / 2


def _upper(a: Any, b: Any) -> Any:
    return (a + b + abs(a - b)) / 2

"""Where pixels go: sizes in, boxes of pixels out. Pure arithmetic; imports typing only.

1. Sizes may be ints, NumPy arrays or tensors (int64) alike: nothing branches on a size. So the
   NumPy engine, the tf.data engine and random crops share this one definition.
2. Boxes are whole pixels, of the upright picture unless a name says `stored`.
3. A picture is decoded at 1/k, which gives ceil(size / k) pixels; what is kept of it is a box of
   these, resampled as if it were the whole picture (so nothing outside shines in).
"""

from typing import Any, NamedTuple

# Chroma upsampling makes the outermost pixel of a cropped JPEG decode wrong: cut this many off.
MARGIN = 2

# The unit of `place`'s detail: so many are one pixel of the target.
DETAIL = 1024

# For each EXIF orientation, from stored to upright: transpose, then flip rows, then flip columns.
# Entry 0 is for files that say nothing.
ORIENTATION_FLAGS = (
    (0, 0, 0),
    (0, 0, 0),
    (0, 0, 1),
    (0, 1, 1),
    (0, 1, 0),
    (1, 0, 0),
    (1, 0, 1),
    (1, 1, 1),
    (1, 1, 0),
)


# Of a JPEG; 5/8 and the like cost more than a full decode.
SCALES = (8, 4, 2, 1)
# Decoders are told the size they should give; of a smaller picture, 1/2 and 3/8 give the same.
_SCALABLE_SIDE = 6


class Box(NamedTuple):
    """A rectangle of whole pixels."""

    top: Any
    left: Any
    height: Any
    width: Any


class Placement(NamedTuple):
    """What to decode of a picture, and where it goes.

    Attributes:
        scale: k; decode at 1/k.
        height: of the upright picture decoded at 1/k.
        width: likewise.
        window: the part of the decoded picture that is needed.
        target: the part of the target it fills; the rest is fill.
    """

    scale: Any
    height: Any
    width: Any
    window: Box
    target: Box


def place(
    height: Any,
    width: Any,
    target_size: tuple[int, int] | None,
    *,
    resize_mode: str = "stretch",
    scaled: bool = False,
    window: Box | None = None,
    detail: tuple[Any, Any] = (DETAIL, DETAIL),
) -> Placement:
    """Say how an upright picture becomes the target.

    Args:
        height: of the upright picture at full size.
        width: likewise.
        target_size: (height, width); None: the size it has.
        resize_mode: stretch, crop (keep aspect, cut the middle) or pad (keep aspect, fill).
        scaled: the picture can be decoded at 1/2, 1/4 and 1/8 and may be.
        window: take this part of the picture (in pixels at full size) as the picture.
        detail: height and width, in 1/DETAIL of a target pixel, of what a warp shows in one: less
            asks for a finer decode.
    """
    whole = Box(0, 0, height, width) if window is None else window
    if target_size is None:
        return Placement(1, height, width, whole, Box(0, 0, whole.height, whole.width))
    target = Box(0, 0, *target_size)
    if resize_mode == "pad":
        target = fitted(whole.height, whole.width, *target_size)
    seen = (whole.height * detail[0] // DETAIL, whole.width * detail[1] // DETAIL)
    k = scale(*seen, target.height, target.width) if scaled else 1
    part = shrunk(whole, k)
    if resize_mode == "crop":
        part = cropped(part, *target_size)
    return Placement(k, _ceil(height, k), _ceil(width, k), part, target)


def scale(height: Any, width: Any, rows: Any, columns: Any) -> Any:
    """Choose k of 1, 2, 4, 8: the largest that leaves at least `rows` x `columns`."""
    # ceil(height / k) >= rows  <=>  k <= (height - 1) / (rows - 1)
    most = least((height - 1) // largest(rows - 1, 1), (width - 1) // largest(columns - 1, 1))
    most = least(most, largest(height, width) // _SCALABLE_SIDE * max(SCALES))
    return 1 + least(most // 2, 1) + 2 * least(most // 4, 1) + 4 * least(most // 8, 1)


def shrunk(box: Box, k: Any) -> Box:
    """Give the pixels at 1/k that `box` touches."""
    top, left = box.top // k, box.left // k
    bottom, right = _ceil(box.top + box.height, k), _ceil(box.left + box.width, k)
    return Box(top, left, bottom - top, right - left)


def cropped(box: Box, rows: Any, columns: Any) -> Box:
    """Cut the largest box with the aspect of `rows` x `columns` out of the middle."""
    height = least(box.height, largest(_round(box.width * rows, columns), 1))
    width = least(box.width, largest(_round(box.height * columns, rows), 1))
    top, left = box.top + (box.height - height) // 2, box.left + (box.width - width) // 2
    return Box(top, left, height, width)


def fitted(height: Any, width: Any, rows: Any, columns: Any) -> Box:
    """Put a picture into the middle of `rows` x `columns`, as large as its aspect allows."""
    high = least(rows, largest(_round(height * columns, width), 1))
    wide = least(columns, largest(_round(width * rows, height), 1))
    return Box((rows - high) // 2, (columns - wide) // 2, high, wide)


def with_margin(box: Box, height: Any, width: Any, margin: int = MARGIN) -> Box:
    """Grow a box on all sides, as far as the picture of `height` x `width` reaches."""
    top, left = largest(box.top - margin, 0), largest(box.left - margin, 0)
    bottom = least(box.top + box.height + margin, height)
    right = least(box.left + box.width + margin, width)
    return Box(top, left, bottom - top, right - left)


def within(box: Box, outer: Box) -> Box:
    """Give `box` in the pixels of `outer`, which holds it."""
    return Box(box.top - outer.top, box.left - outer.left, box.height, box.width)


def upright_size(height: Any, width: Any, flags: Any) -> tuple[Any, Any]:
    """Give the upright size of a stored one. `flags`: an entry of `ORIENTATION_FLAGS`."""
    transpose = flags[0]
    return height + transpose * (width - height), width + transpose * (height - width)


def stored_box(box: Box, height: Any, width: Any, flags: Any) -> Box:
    """Find an upright box in the stored picture. `height`, `width`: the upright picture's."""
    transpose, flip_rows, flip_columns = flags[0], flags[1], flags[2]
    top = box.top + flip_rows * (height - 2 * box.top - box.height)
    left = box.left + flip_columns * (width - 2 * box.left - box.width)
    high, wide = upright_size(box.height, box.width, flags)
    return Box(top + transpose * (left - top), left + transpose * (top - left), high, wide)


def nearest_index(
    length: Any, target: Any, *, start: Any = 0, decoded: Any = 1, stored: Any = 1
) -> Any:
    """Give the source pixel of each target pixel along an axis.

    floor(start + (i + 1/2) length / n), in whole numbers (int64 arrays or tensors), so that every
    engine picks the same pixel: OpenCV and TensorFlow compute it in floating point and disagree at
    ties.

    Args:
        length: pixels of the window along the source axis.
        target: the pixel numbers 0..n-1 of the target axis, followed by n.
        start: first pixel of the window.
        decoded: pixels of the whole axis that `start` and `length` count in, and
        stored: pixels of the axis to index, where it is another one: a mask follows its image so.
    """
    n = target[-1]
    return ((2 * target[:-1] + 1) * length + 2 * start * n) * stored // (2 * n * decoded)


def least(a: Any, b: Any) -> Any:
    """Give the smaller of two whole numbers, arrays or tensors."""
    return (a + b - abs(a - b)) // 2


def largest(a: Any, b: Any) -> Any:
    """Give the larger of two whole numbers, arrays or tensors."""
    return (a + b + abs(a - b)) // 2


def _ceil(a: Any, b: Any) -> Any:
    return -(-a // b)


def _round(a: Any, b: Any) -> Any:
    return (2 * a + b) // (2 * b)

"""What a file says of its picture, read in the graph. Imports header and TensorFlow.

It tells the files whose pixels TensorFlow's decoders give as the NumPy engine does, which are JPEG
of one or three channels and PNG of 8 bits without a palette, from all others.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from dfloader.header import JPEG_MAGIC, ORIENTATION_TAG, PNG_MAGIC

PYTHON, JPEG, PNG = 0, 1, 2

_JFIF = b"\xff\xd8\xff\xe0\x00\x10JFIF\0"  # of 16 bytes, as all but those with a preview are
_TABLE = b"\xff\xdb"
_CMYK = 4
_EXIF, _COMMENT = 0xE1, 0xFE
_SHORT, _LONG = 3, 4  # the types of a tag that an orientation can have
_PNG_GREY = 0
_PNG_TYPES = (_PNG_GREY, 2, 4, 6)  # all but the palette


class Header(NamedTuple):
    """What a file says of its picture, int64 scalars.

    Attributes:
        format: JPEG, PNG or PYTHON, which is every other.
        height: of the picture as it is stored; 0 for PYTHON.
        width: likewise.
        orientation: EXIF's, 1 to 8.
        is_grey_png: bool; one channel of 8 bits.
    """

    format: "tf.Tensor"
    height: "tf.Tensor"
    width: "tf.Tensor"
    orientation: "tf.Tensor"
    is_grey_png: "tf.Tensor"


def read_header(data: "tf.Tensor", *, exif: bool) -> Header:
    """Read the header of a file's content.

    Args:
        data: string scalar.
        exif: the orientation matters.
    """

    def any_other() -> "tf.Tensor":
        return tf.cond(_begins(data, JPEG_MAGIC), lambda: _jpeg(data, exif), not_jpeg)

    def not_jpeg() -> "tf.Tensor":
        return tf.cond(_begins(data, PNG_MAGIC), lambda: _png(data, exif), _unknown)

    numbers = tf.cond(_is_plain_jpeg(data), lambda: _jpeg(data, exif=False), any_other)
    kind, height, width, orientation, grey = tf.unstack(numbers, 5)
    return Header(kind, height, width, orientation, grey == 1)


def _is_plain_jpeg(data: "tf.Tensor") -> "tf.Tensor":
    """Tell a JPEG that begins with a JFIF segment and a table: it has no EXIF to search for.

    Most files do, and a branch or a loop costs as much as 20 operations on numbers.
    """
    head = tf.io.decode_raw(tf.strings.substr(data, 0, 22), tf.uint8, fixed_length=22)
    wanted = tf.constant(list(_JFIF + _TABLE), tf.uint8)
    return tf.reduce_all(tf.gather(head, [*range(len(_JFIF)), 20, 21]) == wanted)


def _begins(data: "tf.Tensor", magic: bytes) -> "tf.Tensor":
    return tf.strings.substr(data, 0, len(magic)) == magic


def _unknown() -> "tf.Tensor":
    return tf.constant([PYTHON, 0, 0, 1, 0], tf.int64)


def _jpeg(data: "tf.Tensor", exif: bool) -> "tf.Tensor":
    height, width, channels = tf.unstack(tf.image.extract_jpeg_shape(data))
    orientation = _jpeg_orientation(data) if exif else tf.constant(1, tf.int32)
    native = tf.where(channels == _CMYK, PYTHON, JPEG)
    return tf.cast(tf.stack([native, height, width, orientation, 0]), tf.int64)


def _jpeg_orientation(data: "tf.Tensor") -> "tf.Tensor":
    """Look into the EXIF segment, which stands among the application's segments, at the front."""

    def numbers(at: "tf.Tensor") -> "tf.Tensor":
        return _bytes(tf.strings.substr(data, at, 10))

    def is_exif(head: "tf.Tensor") -> "tf.Tensor":
        return (head[1] == _EXIF) & tf.reduce_all(head[4:9] == list(b"Exif\0"))

    def goes_on(_: "tf.Tensor", head: "tf.Tensor") -> "tf.Tensor":
        ours = (head[1] >= 0xE0) & (head[1] <= 0xEF) | (head[1] == _COMMENT)
        return ours & ~is_exif(head)

    def step(at: "tf.Tensor", head: "tf.Tensor") -> tuple["tf.Tensor", "tf.Tensor"]:
        at += 2 + 256 * head[2] + head[3]
        return at, numbers(at)

    start = tf.constant(2)
    at, head = tf.while_loop(
        goes_on,
        step,
        (start, numbers(start)),
        shape_invariants=(tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.int32)),
    )
    length = 256 * head[2] + head[3] - 8
    segment = _when(is_exif(head), lambda: tf.strings.substr(data, at + 10, length), b"")
    return _when(segment != b"", lambda: _orientation(_bytes(segment)), 1)


def _orientation(exif: "tf.Tensor") -> "tf.Tensor":
    """Find the orientation in EXIF data, which is a TIFF without pixels; 1 where there is none."""
    little = tf.reduce_all(exif[:2] == list(b"II"))
    weights = tf.where(little, [1, 256, 256**2, 256**3], [256**3, 256**2, 256, 1])
    halves = tf.where(little, [1, 256], [256, 1])
    start = tf.reduce_sum(exif[4:8] * weights)
    there = tf.maximum(tf.size(exif) - start - 2, 0) // 12
    count = tf.minimum(tf.reduce_sum(exif[start : start + 2] * halves), there)
    entries = tf.reshape(exif[start + 2 : start + 2 + 12 * count], (count, 12))
    tags = tf.reduce_sum(entries[:, :2] * halves, axis=1)
    kinds = tf.reduce_sum(entries[:, 2:4] * halves, axis=1)
    short = tf.reduce_sum(entries[:, 8:10] * halves, axis=1)
    long = tf.reduce_sum(entries[:, 8:12] * weights, axis=1)
    found = (tags == ORIENTATION_TAG) & ((kinds == _SHORT) | (kinds == _LONG))
    values = tf.concat([tf.where(kinds == _SHORT, short, long)[found], [1]], axis=0)
    return tf.where((values[0] >= 1) & (values[0] <= 8), values[0], 1)


def _png(data: "tf.Tensor", exif: bool) -> "tf.Tensor":
    head = _bytes(tf.strings.substr(data, 16, 10))
    weights = [256**3, 256**2, 256, 1]
    width, height = tf.reduce_sum(head[:4] * weights), tf.reduce_sum(head[4:8] * weights)
    plain = (head[8] == 8) & tf.reduce_any(head[9] == _PNG_TYPES)
    grey = tf.cast(head[9] == _PNG_GREY, tf.int32)
    native = _when(plain & ~_png_names_before_pixels(data, exif), lambda: tf.constant(PNG), PYTHON)
    return tf.cast(tf.stack([native, height, width, 1, grey]), tf.int64)


def _png_names_before_pixels(data: "tf.Tensor", exif: bool) -> "tf.Tensor":
    """Tell whether a chunk before the pixels makes a PNG one for Python: turned, or transparent."""
    special = (b"tRNS", b"eXIf") if exif else (b"tRNS",)

    def name(at: "tf.Tensor") -> "tf.Tensor":
        return tf.strings.substr(data, at + 4, 4)

    def is_special(found: "tf.Tensor") -> "tf.Tensor":
        return tf.reduce_any(found == special)

    def goes_on(_: "tf.Tensor", found: "tf.Tensor") -> "tf.Tensor":
        return ~is_special(found) & (found != b"IDAT")

    def step(at: "tf.Tensor", _: "tf.Tensor") -> tuple["tf.Tensor", "tf.Tensor"]:
        length = tf.reduce_sum(_bytes(tf.strings.substr(data, at, 4)) * [256**3, 256**2, 256, 1])
        at += 12 + length
        return at, name(at)

    start = tf.constant(8)
    return is_special(tf.while_loop(goes_on, step, (start, name(start)))[1])


def _bytes(data: "tf.Tensor") -> "tf.Tensor":
    return tf.cast(tf.io.decode_raw(data, tf.uint8), tf.int32)


def _when(
    condition: "tf.Tensor", value: "Callable[[], tf.Tensor]", otherwise: object
) -> "tf.Tensor":
    return tf.cond(condition, value, lambda: tf.constant(otherwise))

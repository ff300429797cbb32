"""The TFRecord format: records in a file, and a tf.train.Example in a record.

Imports errors, NumPy and google-crc32c. TensorFlow's own writer would cost each writing process
seven seconds and 750 MiB for these few bytes of framing; a test holds both to the same bytes.

1. A record is its length (uint64), the masked CRC-32C of these eight bytes (uint32), the data, and
   the data's masked CRC-32C (uint32), all little-endian (tensorflow/core/lib/io/record_writer.h).
2. A tf.train.Example is protobuf: a map from names to lists of bytes, float32 or int64
   (tensorflow/core/example/feature.proto).
"""

import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from dfloader.errors import DecodeError

Value = bytes | npt.NDArray[Any]

HEADER_BYTES = 12
FOOTER_BYTES = 4

_MASK_DELTA = 0xA282EAD8
# Protobuf's tags: field number times 8, plus 2 for "a length follows".
_FIELD_1, _FIELD_2 = b"\x0a", b"\x12"
# Shorter parts are put together: a checksum or a write of its own costs more than the copy.
_LARGE_BYTES = 4096
_SMALL_VARINTS = [bytes([value]) for value in range(0x80)]
_KIND_TAGS = {"bytes": b"\x0a", "float32": b"\x12", "int64": b"\x1a"}


class Encoded(NamedTuple):
    """An Example as bytes.

    Attributes:
        parts: the protobuf, end to end; in parts, so that no picture is copied on its way.
        starts: for each feature that is bytes, where in the protobuf its content begins.
    """

    parts: list[bytes]
    starts: dict[str, int]


def crc32c(data: bytes) -> int:
    """Give the CRC-32C of bytes."""
    return int(google_crc32c.value(data))


def frame(parts: Sequence[bytes]) -> list[bytes]:
    """Give the parts of a record that holds `parts` end to end."""
    length = struct.pack("<Q", _size(parts))
    return [length + _masked([length]), *parts, _masked(parts)]


def records(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Give the data of each record, checked.

    Raises:
        DecodeError: a record is cut off, or a checksum is wrong; names file, record and place.
    """
    number, place = 0, 0
    while header := file.read(HEADER_BYTES):
        length = _length(header)
        data = b"" if length is None else file.read(length)
        if length is None or len(data) < length or file.read(FOOTER_BYTES) != _masked([data]):
            raise DecodeError(
                f"{name!r}: record {number} (at byte {place}) is cut off or corrupt.",
                path=name,
                hint="Delete this file and write the records again: only missing shards are made.",
            )
        yield data
        number, place = number + 1, place + HEADER_BYTES + length + FOOTER_BYTES


def encode(features: Mapping[str, Value]) -> Encoded:
    """Encode a tf.train.Example.

    Args:
        features: bytes (one value), or arrays of float32 or int64 (flattened) by name.
    """
    entries = {name: _entry(name, value) for name, value in features.items()}
    parts = _field(_FIELD_1, [part for entry in entries.values() for part in entry])
    starts, end = {}, len(parts[0])
    for name, entry in entries.items():
        end += _size(entry)
        value = features[name]
        if isinstance(value, bytes):
            starts[name] = end - len(value)  # nothing follows a content inside its entry
    return Encoded(_joined(parts), starts)


def _length(header: bytes) -> int | None:
    """Read a record's length; None where the header is cut off or corrupt."""
    if len(header) < HEADER_BYTES or _masked([header[:8]]) != header[8:]:
        return None
    return int(struct.unpack("<Q", header[:8])[0])


def _masked(parts: Iterable[bytes]) -> bytes:
    crc = 0
    for part in parts:
        crc = google_crc32c.extend(crc, part)
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return struct.pack("<I", (rotated + _MASK_DELTA) & 0xFFFFFFFF)


def _entry(name: str, value: Value) -> list[bytes]:
    kind, packed = ("bytes", value) if isinstance(value, bytes) else _packed(value)
    feature = _field(_KIND_TAGS[kind], _field(_FIELD_1, [packed]))
    return _field(_FIELD_1, [*_field(_FIELD_1, [name.encode()]), *_field(_FIELD_2, feature)])


def _packed(values: npt.NDArray[Any]) -> tuple[str, bytes]:
    if values.dtype == np.float32:
        return "float32", values.astype("<f4", copy=False).tobytes()
    # Protobuf writes a negative int64 as its two's complement of 64 bits.
    return "int64", b"".join(_varint(value % 2**64) for value in values.ravel().tolist())


def _field(tag: bytes, content: list[bytes]) -> list[bytes]:
    return [tag + _varint(_size(content)), *content]


def _joined(parts: Iterable[bytes]) -> list[bytes]:
    runs = itertools.groupby(parts, lambda part: len(part) >= _LARGE_BYTES)
    return [part for large, run in runs for part in (run if large else [b"".join(run)])]


def _size(parts: Iterable[bytes]) -> int:
    return sum(map(len, parts))


def _varint(value: int) -> bytes:
    if value < len(_SMALL_VARINTS):
        return _SMALL_VARINTS[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

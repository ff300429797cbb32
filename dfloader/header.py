"""What a file says of its picture, read from the first bytes. Imports errors, geometry, NumPy.

JPEG, PNG and .npy are read here, in microseconds; `decode.probe` asks a decoder about the rest.
"""

import io
import struct
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dfloader.errors import DecodeError
from dfloader.geometry import ORIENTATION_FLAGS, upright_size

Kind = Literal["uint", "int", "float"]

JPEG_MAGIC = b"\xff\xd8\xff"
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
NPY_MAGIC = b"\x93NUMPY"
TIFF_MAGICS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

ORIENTATION_TAG = 0x0112
_SHORT, _LONG = 3, 4  # the types of a tag that an orientation can have
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}  # by colour type; a palette holds RGB
_PNG_PALETTE = 3
CMYK = 4  # channels of a JPEG that holds ink

# Markers of JPEG (ITU T.81, table B.1).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})  # without a length: TEM, restarts, start of image
_SCAN, _END, _EXIF, _ADOBE = 0xDA, 0xD9, 0xE1, 0xEE


@dataclass(frozen=True)
class Header:
    """What a file says of its picture.

    Attributes:
        format: jpeg, png, npy, tiff, or Pillow's name in small letters.
        height: of the picture as it is stored.
        width: likewise.
        channels: as stored; 3 for a palette, 4 for CMYK.
        depth: bits of a channel.
        kind: of number.
        orientation: EXIF's, 1 to 8; 1 where the file says nothing that can be used.
        inverted: the numbers run the other way: CMYK as Adobe writes it (255 is no ink), or grey
            from white to black.
        pillow_mode: Pillow's name for the pixels, where Pillow is to read them; else "".
    """

    format: str
    height: int
    width: int
    channels: int = 3
    depth: int = 8
    kind: Kind = "uint"
    orientation: int = 1
    inverted: bool = False
    pillow_mode: str = ""

    @property
    def scalable(self) -> bool:
        """Whether the picture can be decoded at 1/2, 1/4 and 1/8."""
        return self.format == "jpeg" and self.depth == 8 and not self.pillow_mode

    def size(self, *, exif: bool = True) -> tuple[int, int]:
        """Give (height, width): of the upright picture, or with ``exif=False`` of the stored."""
        return upright_size(self.height, self.width, self.flags(exif=exif))

    def flags(self, *, exif: bool = True) -> tuple[int, int, int]:
        """Give the entry of `ORIENTATION_FLAGS` that applies."""
        return ORIENTATION_FLAGS[self.orientation if exif else 1]


def read_jpeg(data: bytes) -> Header:
    """Read the header of a JPEG.

    Raises:
        DecodeError: it has no frame header.
    """
    at, orientation, inverted = 2, 1, False
    frame: tuple[int, int, int, int] | None = None
    while (at := data.find(b"\xff", at)) >= 0 and at + 4 <= len(data):
        marker = data[at + 1]
        if marker == 0xFF or marker == 0 or marker in _ALONE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in (_SCAN, _END):
            break
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        segment = data[at + 4 : at + 2 + length]
        if marker in _FRAMES and len(segment) >= 6:
            frame = struct.unpack_from(">BHHB", segment)
        elif marker == _EXIF and segment.startswith(b"Exif\0"):
            orientation = read_orientation(segment[6:])
        elif marker == _ADOBE and segment.startswith(b"Adobe"):
            inverted = True
        at += 2 + max(length, 2)
    if frame is None:
        raise DecodeError("the JPEG has no frame header; it is cut off or corrupt")
    depth, height, width, channels = frame
    return Header("jpeg", height, width, channels, depth, "uint", orientation, inverted)


def read_png(data: bytes) -> Header:
    """Read the header of a PNG, and its EXIF chunk where that stands before the pixels.

    Raises:
        DecodeError: the header is cut off or corrupt.
    """
    if len(data) < 29 or data[12:16] != b"IHDR":
        raise DecodeError("the PNG has no header; it is cut off or corrupt")
    width, height, depth, colour = struct.unpack_from(">IIBB", data, 16)
    if colour not in _PNG_CHANNELS:
        raise DecodeError(f"the PNG has an unknown colour type, {colour}; it is corrupt")
    channels, before = _PNG_CHANNELS[colour], _png_chunks(data)
    mode = ""
    if colour == _PNG_PALETTE or depth < 8:
        mode, depth = "P" if colour == _PNG_PALETTE else "L", 8
    elif b"tRNS" in before:
        channels += 1
    orientation = read_orientation(before.get(b"eXIf", b""))
    return Header("png", height, width, channels, depth, "uint", orientation, pillow_mode=mode)


def _png_chunks(data: bytes) -> dict[bytes, bytes]:
    """Give those before the pixels."""
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        if name == b"IDAT":
            break
        chunks[name] = data[at + 8 : at + 8 + length]
        at += 12 + length
    return chunks


def read_npy(data: bytes) -> Header:
    """Read the header of an array in NumPy's own format.

    Raises:
        DecodeError: it is cut off or corrupt, or does not hold (h, w) or (h, w, c) numbers.
    """
    shape, _, dtype, _ = npy_layout(data)
    kinds: dict[str, Kind] = {"b": "uint", "u": "uint", "i": "int", "f": "float"}
    if len(shape) not in (2, 3) or 0 in shape or dtype.kind not in kinds:
        raise DecodeError(
            f"an array of shape {shape} and dtype {dtype} is not a picture: (height, width) or "
            "(height, width, channels) of numbers is needed"
        )
    depth = 1 if dtype.kind == "b" else 8 * dtype.itemsize
    channels = shape[2] if len(shape) == 3 else 1
    return Header("npy", shape[0], shape[1], channels, depth, kinds[dtype.kind])


def npy_layout(data: bytes) -> tuple[tuple[int, ...], bool, "np.dtype[np.generic]", int]:
    """Give shape, whether in Fortran order, dtype, and where the values begin."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(file)
    except (ValueError, KeyError, TypeError) as error:
        raise DecodeError(f"the .npy header is cut off or corrupt: {error}") from error
    return shape, fortran, dtype, file.tell()


def read_orientation(exif: bytes) -> int:
    """Find the orientation in EXIF data, which is a TIFF without pixels; 1 where there is none."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(order + "I", exif, 4)
        (count,) = struct.unpack_from(order + "H", exif, start)
        for i in range(count):
            tag, kind = struct.unpack_from(order + "HH", exif, start + 2 + 12 * i)
            if tag == ORIENTATION_TAG and kind in (_SHORT, _LONG):
                form = order + ("H" if kind == _SHORT else "I")
                return usable(struct.unpack_from(form, exif, start + 10 + 12 * i)[0])
    except struct.error:  # a broken note in a file whose pixels may be whole
        return 1
    return 1


def usable(orientation: object) -> int:
    """Give an orientation that is one of 1 to 8; 1 for anything else."""
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1

"""Byte strings that lie inside files. Imports errors, packed, NumPy and google-crc32c."""

import os
from dataclasses import dataclass
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt

from dfloader.errors import DecodeError
from dfloader.packed import Packed


@dataclass(frozen=True, eq=False)
class Ranges:
    """A column of byte strings, each read from its file when asked for.

    Attributes:
        files: the paths.
        file: int32 (n,) which of them; -1: the row has no string.
        start: int64 (n,) its first byte there.
        length: int64 (n,) how many bytes.
        crc: uint32 (n,) their CRC-32C.
    """

    files: Packed
    file: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    crc: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.file)

    def __getitem__(self, i: int) -> bytes:
        """Read string `i`.

        Raises:
            OSError: its file cannot be read.
            DecodeError: the file does not hold what was written.
        """
        path = self.files[self.file[i]]
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (a path of bytes)
            data = os.pread(file.fileno(), self.length[i], self.start[i])
        if google_crc32c.value(data) != self.crc[i]:
            raise DecodeError(
                f"{os.fsdecode(path)!r} is corrupt at byte {self.start[i]}.",
                rows=[i],
                path=os.fsdecode(path),
                hint="Write that shard again.",
            )
        return data

    def identity(self, i: int) -> bytes:
        """Give bytes that differ where the strings do, without reading string `i`."""
        return b"%d %d" % (self.length[i], self.crc[i])

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Read the strings of `rows` into an object array (len(rows),) of bytes."""
        out = np.empty(len(rows), dtype=object)
        out[:] = [self[row] for row in rows.tolist()]
        return out

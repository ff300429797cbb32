"""Byte strings end to end, in one buffer. Imports NumPy only.

A million Python strings in a forked worker are copied page by page by their reference counts; one
buffer with offsets is not, costs a pickle nothing and can lie in shared memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Packed:
    """An immutable column of byte strings.

    Attributes:
        buffer: uint8 (total length,).
        offsets: int64 (n + 1,); string i is ``buffer[offsets[i]:offsets[i + 1]]``.
    """

    buffer: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> bytes:
        return self.buffer[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def identity(self, i: int) -> bytes:
        """Give bytes that differ where the strings do: string `i` itself."""
        return self[i]

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Give the strings of `rows` as an object array (len(rows),) of bytes."""
        out = np.empty(len(rows), dtype=object)
        out[:] = [self[row] for row in rows]
        return out


def pack(strings: Iterable[bytes]) -> Packed:
    """Put byte strings end to end."""
    parts = list(strings)
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    return Packed(np.frombuffer(b"".join(parts), np.uint8), offsets)

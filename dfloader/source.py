"""Where images come from: one column of paths, or of the encoded bytes themselves.

Imports packed, ranges and remote. Arrays are kept as the bytes of a .npy file, so that they are one
more format for the decoder, told by its magic like every other.
"""

import os
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dfloader import remote
from dfloader.packed import Packed
from dfloader.ranges import Ranges

_ADDRESS = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: C:// is a drive


@dataclass(frozen=True)
class Source:
    """One column of images; row i is the frame's i-th row.

    Attributes:
        kind: "path" (file system encoded, or an address as s3://) or "encoded" (a file's content).
        data: the path or the content of each row.
        column: the column's name, for messages.
    """

    kind: Literal["path", "encoded"]
    data: Packed | Ranges
    column: str = ""

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> bytes:
        return self.data[row]

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Give the paths or contents of `rows` as an object array (len(rows),) of bytes."""
        return self.data.take(rows)

    def path(self, row: int) -> str | None:
        """Give the path of a row; None where the frame holds the content."""
        return os.fsdecode(self.data[row]) if self.kind == "path" else None

    def read(self, row: int) -> bytes:
        """Give the content of a row's file.

        Raises:
            OSError: the file cannot be read.
        """
        content = self.data[row]
        if self.kind == "encoded":
            return content
        if is_address(content):
            return remote.read(os.fsdecode(content))
        with open(content, "rb") as file:  # noqa: PTH123 (twice as fast as Path.read_bytes)
            return file.read()


def is_address(path: bytes) -> bool:
    """Tell an address (https://, s3://, ...) from a local path."""
    # The search for a substring is a third of the time, and most paths end there.
    return b"://" in path and _ADDRESS.match(path) is not None

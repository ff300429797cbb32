"""Where images come from: one column of paths, or of the encoded bytes themselves.

Imports errors, packed, ranges and remote. Arrays are kept as the bytes of a .npy file, so that they
are one more format for the decoder, told by its magic like every other.
"""

import io
import os
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dfloader import remote
from dfloader.errors import DataFrameError, DecodeError
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
        loader: the user's function from a path to an array, instead of reading the file; or None.
    """

    kind: Literal["path", "encoded"]
    data: Packed | Ranges
    column: str = ""
    loader: Callable[[str], Any] | None = None

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> bytes:
        return self.data[row]

    @property
    def loader_identity(self) -> bytes:
        """Give bytes that tell the user's function, with what is bound to it, from others.

        Raises:
            DataFrameError: it is a lambda, or made inside a function: no name tells it from others.
        """
        if self.loader is None:
            return b""
        try:
            return pickle.dumps(self.loader)
        except Exception as error:  # pickle raises AttributeError, TypeError, PicklingError
            raise DataFrameError(
                f"loader={self.loader!r} cannot be told from other functions, as a cache and "
                "records need.",
                column=self.column,
                hint="Define it at the top of a module.",
            ) from error

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
            DecodeError: the user's loader failed, or gave something else than a picture.
        """
        content = self.data[row]
        if self.loader is not None:
            return _loaded(self.loader, os.fsdecode(content))
        if self.kind == "encoded":
            return content
        if is_address(content):
            return remote.read(os.fsdecode(content))
        with open(content, "rb") as file:  # noqa: PTH123 (twice as fast as Path.read_bytes)
            return file.read()


def is_picture(value: Any) -> bool:
    """Tell an array that holds a picture: (h, w) or (h, w, c) numbers."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim in (2, 3)
        and value.size > 0
        and value.dtype.kind in "biuf"
    )


def as_npy(array: npt.NDArray[Any]) -> bytes:
    """Give a picture as the content of a .npy file."""
    with io.BytesIO() as file:
        np.save(file, array if array.ndim == 3 else array[:, :, None])
        return file.getvalue()


def _loaded(loader: Callable[[str], Any], path: str) -> bytes:
    try:
        array = loader(path)
    except OSError:
        raise
    except Exception as error:  # the user's own function may raise anything
        raise DecodeError(f"loader failed: {type(error).__name__}: {error}") from error
    if not is_picture(array):
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array)
        raise DecodeError(f"loader must give an array of numbers, (h, w) or (h, w, c), not {found}")
    return as_npy(array)


def is_address(path: bytes) -> bool:
    """Tell an address (https://, s3://, ...) from a local path."""
    # The search for a substring is a third of the time, and most paths end there.
    return b"://" in path and _ADDRESS.match(path) is not None

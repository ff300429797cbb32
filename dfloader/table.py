"""The frame resolved once into plain NumPy. Imports spec, packed, labels and NumPy; never pandas.

A worker process holds this and nothing of the frame.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.labels import LabelEncoder
from dfloader.packed import Packed
from dfloader.spec import ArraySpec, ClassMode


@dataclass(frozen=True)
class Target:
    """One encoded target column.

    Attributes:
        mode: how `values` become y.
        values: class numbers int32 (n,) for the class modes; numbers (n, ...) for ``raw``.
        encoder: the classes; None for ``raw``.
    """

    mode: ClassMode
    values: npt.NDArray[Any]
    encoder: LabelEncoder | None

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Give y of `rows`, as `signature` says."""
        values: npt.NDArray[Any] = self.values[rows]
        if self.mode == "categorical":
            values = values[:, None] == np.arange(self._classes)
        return values.astype(self.signature().dtype)

    def signature(self) -> ArraySpec:
        if self.mode == "categorical":
            return ArraySpec((self._classes,), "float32")
        dtypes = {"sparse": "int32", "binary": "float32", "raw": self.values.dtype.name}
        return ArraySpec(self.values.shape[1:], dtypes[self.mode])

    @property
    def _classes(self) -> int:
        return len(self.encoder or ())


class Columns(NamedTuple):
    """What a batch takes from the frame besides pixels: arrays, or the `ArraySpec` of each."""

    y: Any = None


@dataclass(frozen=True)
class Table:
    """The columns of a frame that a loader needs; row i is the frame's i-th row.

    Attributes:
        images: path of each row's image, file system encoded.
        target: y, or None for ``class_mode=None``.
    """

    images: Packed
    target: Target | None

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: npt.NDArray[np.int64]) -> Columns:
        """Give the columns of `rows`, as `signature` says."""
        return Columns(None if self.target is None else self.target.take(rows))

    def signature(self) -> Columns:
        return Columns(None if self.target is None else self.target.signature())

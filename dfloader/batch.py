"""load(epoch, i) -> (x, y): the definition of a batch.

1. A batch is a pure function of (table, spec, seed, epoch, i).
2. Every engine gives these very batches; if one differs, that one is wrong.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.decode import decode
from dfloader.errors import DecodeError
from dfloader.plan import Plan
from dfloader.render import render
from dfloader.spec import ImageSpec
from dfloader.table import Columns, Table

Batch = Any  # x, (x, y) or (x, y, w), each an array or a dict of arrays


def assemble(image: Any, columns: Columns) -> Batch:
    """Put a batch together from NumPy arrays or tensors: x, or (x, y)."""
    return image if columns.y is None else (image, columns.y)


@dataclass(frozen=True)
class Loader:
    """All that a batch depends on."""

    table: Table
    image: ImageSpec
    plan: Plan

    def __len__(self) -> int:
        return len(self.plan)

    def load(self, epoch: int, i: int) -> Batch:
        """Load batch `i` of an epoch, 0 <= i < len(self).

        Raises:
            DecodeError: a file cannot be read or decoded; names row and path.
        """
        rows = self.plan.rows(epoch, i)
        return assemble(self._images(rows), self.table.take(rows))

    def example(self, row: int) -> npt.NDArray[np.uint8]:
        """Read and decode the image of a row, (h, w, c), before any resize."""
        path = os.fsdecode(self.table.images[row])
        try:
            with open(path, "rb") as file:  # noqa: PTH123 (twice as fast as Path.read_bytes)
                return decode(file.read(), self.image)
        except (OSError, DecodeError) as error:
            raise DecodeError(f"Row {row}: {path!r}: {error}", rows=[row], path=path) from error

    def _images(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        spec = self.image
        if spec.target_size is None:
            return self._same_size(rows)
        channels = spec.channels or self.example(int(rows[0])).shape[2]
        out = np.empty((len(rows), *spec.target_size, channels), spec.dtype)
        for slot, row in zip(out, rows.tolist(), strict=True):
            render(self.example(row), spec, slot)
        return out

    def _same_size(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        images = [self.example(row) for row in rows.tolist()]
        out = np.empty((len(rows), *images[0].shape), self.image.dtype)
        for slot, image, row in zip(out, images, rows.tolist(), strict=True):
            if image.shape != slot.shape:
                raise DecodeError(
                    f"Row {row} is {image.shape[:2]}, row {rows[0]} is {slot.shape[:2]}, and "
                    "target_size=None needs one size.",
                    rows=[int(rows[0]), row],
                    path=os.fsdecode(self.table.images[row]),
                    hint="Say target_size=(height, width).",
                )
            render(image, self.image, slot)
        return out

"""load(epoch, i) -> (x, y): the definition of a batch.

1. A batch is a pure function of (table, spec, seed, epoch, i).
2. Every engine gives these very batches; if one differs, that one is wrong.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.decode import decode
from dfloader.errors import DecodeError
from dfloader.plan import Plan
from dfloader.render import render
from dfloader.spec import ImageSpec, Spec
from dfloader.table import Columns, Table, source_rows

Batch = Any  # x, (x, y) or (x, y, w), each an array or a dict of arrays


def assemble(image: Any, columns: Columns, *, mask: Any = None, y_is_x: bool = False) -> Batch:
    """Put a batch, or an example, together from NumPy arrays or tensors.

    Args:
        image: the pictures.
        columns: what the table gives.
        mask: the rendered masks; None: there are none.
        y_is_x: `Table.y_is_x`.

    Returns:
        x, (x, y) or (x, y, w); each an array or a dict of arrays, w as y.
    """
    x = image if columns.extra is None else {"image": image, **columns.extra}
    y = _with_mask(x if y_is_x else columns.y, mask)
    if y is None:
        return x
    return (x, y) if columns.w is None else (x, y, _weights(columns.w, y))


def prepare(table: Table, spec: Spec) -> "Loader":
    """Make the loader of a table: its plan, and weights where padding needs them."""
    plan = Plan(spec.order, len(table), table.kept, table.chances)
    return Loader(table.weighed() if plan.pads else table, spec.image, plan)


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
        images = self._images(source_rows(rows))
        return assemble(images, self.table.take(rows), y_is_x=self.table.y_is_x)

    def example(self, row: int) -> npt.NDArray[np.uint8]:
        """Read and decode the image of a row, (h, w, c), before any resize."""
        try:
            return decode(self.table.images.read(row), self.image)
        except (OSError, DecodeError) as error:
            raise DecodeError(
                f"Row {row}: {self._name(row)}: {error}",
                rows=[row],
                path=self.table.images.path(row),
            ) from error

    def _name(self, row: int) -> str:
        path = self.table.images.path(row)
        return f"column {self.table.images.column!r}" if path is None else repr(path)

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
                    path=self.table.images.path(row),
                    hint="Say target_size=(height, width).",
                )
            render(image, self.image, slot)
        return out


def _with_mask(y: Any, mask: Any) -> Any:
    if mask is None:
        return y
    if y is None:
        return mask
    return {**(y if isinstance(y, dict) else {"label": y}), "mask": mask}


def _weights(w: Any, y: Any) -> Any:
    """Shape weights as y: one for each output, with the axes that a loss leaves of it.

    A loss takes y's last axis away and Keras multiplies what is left by the weights, so that those
    of a picture (n, h, w, c) must be (n, 1, 1). Ranks, not sizes: an example has one axis less.
    """
    if isinstance(y, dict):
        return {name: _weights(w[name] if isinstance(w, dict) else w, y[name]) for name in y}
    return w[(..., *[None] * max(0, len(y.shape) - len(w.shape) - 1))]

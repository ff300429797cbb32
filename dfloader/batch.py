"""load(epoch, i) -> (x, y): the definition of a batch.

1. A batch is a pure function of (table, spec, seed, epoch, i).
2. Every engine gives these very batches; if one differs, that one is wrong. An engine decides
   only whose memory `fill` writes into, and who runs it for which rows of the batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.augment import Augment, check_crop
from dfloader.cache import Cache, open_cache
from dfloader.draws import CALL_STREAM, Draws, draw
from dfloader.errors import DecodeError
from dfloader.example import Change, example_shape, parts_of, write_decoded, write_example
from dfloader.mix import check_mixes, mix_columns, mix_images, mix_masks, mixing_of
from dfloader.philox import generator
from dfloader.plan import Plan
from dfloader.rows import Rows, draw_keys, source_rows
from dfloader.spec import ArraySpec, ImageSpec, Spec
from dfloader.table import Columns, Table
from dfloader.transforms import Call, resolve
from dfloader.trial import tried_on_a_row

Batch = Any  # x, (x, y) or (x, y, w), each an array or a dict of arrays
Pixels = dict[str, npt.NDArray[Any]]  # what is rendered for each row, by name; axis 0: the rows


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
    """Make the loader of a table: its plan, and weights where some rows may not count."""
    plan = Plan(spec.order, len(table), table.kept, table.chances)
    weighs = plan.pads or spec.image.on_error == "skip"
    table = table.weighed() if weighs else table
    augment, calls, _ = resolve(spec.augment)
    if augment is not None:
        check_crop(augment, spec.image.target_size)
        check_mixes(augment, table.signature().y, masks=table.masks is not None)
    calls = tried_on_a_row(calls, table, spec.image)
    cache = None if spec.cache is None else open_cache(table, spec.image, spec.cache)
    return Loader(table, spec.image, plan, augment, calls, cache)


class Loaded(NamedTuple):
    """A batch, and the rows of it that `on_error="skip"` left black with weight 0."""

    batch: Batch
    failures: tuple[DecodeError, ...]


@dataclass(frozen=True)
class Loader:
    """All that a batch depends on."""

    table: Table
    image: ImageSpec
    plan: Plan
    augment: Augment | None = None
    calls: tuple[Call, ...] = ()
    cache: Cache | None = None

    def __len__(self) -> int:
        return len(self.plan)

    def load(self, epoch: int, i: int) -> Batch:
        """Load batch `i` of an epoch, 0 <= i < len(self).

        Raises:
            DecodeError: a file cannot be read or decoded; names row and path.
        """
        return self.loaded(epoch, i).batch

    def loaded(self, epoch: int, i: int) -> Loaded:
        """Load a batch as `load` does, and say which rows failed."""
        return self.loaded_rows(epoch, self.plan.rows(epoch, i))

    def loaded_rows(self, epoch: int, rows: Rows) -> Loaded:
        """Load the batch of any rows, as they are in `epoch`; `~r` is padding with row r."""
        pixels = self.empty(rows)
        failures = self.fill(epoch, rows, pixels)
        return Loaded(self.finish(epoch, rows, pixels, failures), failures)

    def empty(self, rows: Rows) -> Pixels:
        """Make memory for `fill` to write rows into."""
        return {
            name: np.empty((len(rows), *spec.shape), spec.dtype)  # type: ignore[arg-type]
            for name, spec in (self.pixels() or self._pixels_of(rows)).items()
        }

    def pixels(self) -> dict[str, ArraySpec] | None:
        """Say what `fill` writes for a row; None: only the files know."""
        image = self.image.signature()
        return None if None in image.shape else parts_of(self.table, image)

    def fill(self, epoch: int, rows: Rows, pixels: Pixels) -> tuple[DecodeError, ...]:
        """Render rows, as they are in `epoch`, into memory as `pixels` says it: all of it.

        Returns:
            The rows that failed and were left black, with ``on_error="skip"``.
        """
        failures = []
        changes = self._changes(epoch, rows)
        for i, row in enumerate(source_rows(rows).tolist()):
            slots = {name: values[i] for name, values in pixels.items()}
            try:
                self._write(row, slots, next(changes))
            except DecodeError as error:
                if self.image.on_error == "raise":
                    raise
                failures.append(error)
                for slot in slots.values():
                    slot.fill(0)
        return tuple(failures)

    def draws(self, epoch: int, rows: Rows) -> Draws:
        """Give what each row goes through in an epoch; padding as its row, a repeat as another."""
        if self.augment is None:
            return Draws()
        return draw(self.augment, self.plan.spec.seed, epoch, draw_keys(rows))

    def rng(self, epoch: int, key: int) -> np.random.Generator:
        """Give the generator of the callables for a row; `key`: one of `draw_keys`."""
        return generator((self.plan.spec.seed, epoch), key, CALL_STREAM)

    def change(self, epoch: int, number: int) -> Change:
        """Give what one row goes through in an epoch."""
        return next(self._changes(epoch, np.array([number])))

    def finish(
        self, epoch: int, rows: Rows, pixels: Pixels, failures: Sequence[DecodeError] = ()
    ) -> Batch:
        """Make the batch of rendered rows: add what the table has, and mix."""
        columns = self.table.take(rows)
        if failures:
            failed = [row for error in failures for row in error.rows]
            columns = columns.weighed(~np.isin(source_rows(rows), failed))
        if self.augment is not None and self.augment.mixes:
            columns = self._mixed(self.draws(epoch, rows), pixels, columns)
        return assemble(pixels["image"], columns, mask=pixels.get("mask"), y_is_x=self.table.y_is_x)

    def _mixed(self, draws: Draws, pixels: Pixels, columns: Columns) -> Columns:
        mixed = mixing_of(draws.mix, *pixels["image"].shape[1:3])
        mix_images(pixels["image"], mixed)
        if "mask" in pixels:
            mix_masks(pixels["mask"], mixed)
        return mix_columns(columns, mixed)

    def _changes(self, epoch: int, rows: Rows) -> Iterator[Change]:
        draws = self.draws(epoch, rows)
        for i, key in enumerate(draw_keys(rows).tolist()):
            rng = partial(self.rng, epoch, key)
            yield Change(self.augment, draws.row(i), self.calls, rng)

    def _write(self, row: int, slots: dict[str, npt.NDArray[Any]], change: Change) -> None:
        if self.cache is None:
            write_example(self.table, self.image, row, slots, change)
        else:
            write_decoded(self.table, self.image, row, self.cache.row(row), slots, change)

    def _pixels_of(self, rows: Rows) -> dict[str, ArraySpec]:
        """Ask the first file that can be read."""
        for row in source_rows(rows).tolist():
            try:
                shape = example_shape(self.table, self.image, row)
            except DecodeError:
                if self.image.on_error == "raise" or row == source_rows(rows)[-1]:
                    raise
                continue
            return parts_of(self.table, ArraySpec(shape, self.image.dtype))
        raise AssertionError("a batch has rows")


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

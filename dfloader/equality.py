"""The proof that comes before a comparison: this package's loaders give equal batches.

Every loader is compared, batch by batch, with the sequence that loads in the calling thread, under
the keywords of its kind: labels, weights and masks exactly, pixels as promised in TOLERANCE.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from dfloader.bout import count
from dfloader.comparison import Proof
from dfloader.contestants import Contestant
from dfloader.errors import DataFrameError, DecodeError
from dfloader.peers import Given

EPOCHS = 2
# Largest difference of pixels in their own dtype, float32 before `rescale`: promise 2.
TOLERANCE = {"float32": 0.02, "uint8": 1.0, "uint16": 257.0}
_GREY = 1.0  # more, where colour becomes grey: decoders round its weights apart
_MIXED = 1e-6  # of labels that mixup weighs
Keywords = tuple[tuple[str, Any], ...]

_REFERENCE = Contestant("inline", 0)


class UnequalBatchesError(Exception):
    """Two loaders of this package gave different batches; nothing was compared."""


@dataclass(frozen=True)
class Proved:
    """What the proof brought besides itself.

    Attributes:
        proof: of those that were compared.
        refused: why a loader would not load this, by name.
    """

    proof: Proof
    refused: Mapping[Contestant, str]


@dataclass(frozen=True)
class Proving:
    """What is to be proved, in a fresh process.

    Attributes:
        contestants: of this package.
        given: a few batches of the frame.
    """

    contestants: Sequence[Contestant]
    given: Given

    def __call__(self) -> Proved:
        """Compare.

        Raises:
            UnequalBatchesError: a loader gave other batches than the calling thread.
        """
        references: dict[Keywords, list[Any]] = {(): self._loaded(_REFERENCE, ())}
        largest = 0.0
        refused: dict[Contestant, str] = {}
        others = [each for each in self.contestants if each != _REFERENCE]
        for each in others:
            said = each.kind.proved_with
            if said not in references:
                references[said] = self._loaded(_REFERENCE, said)
            found = self._batches(each, said, refused)
            if found is not None:
                largest = max(largest, self._difference(each, found, references[said]))
        names = tuple(each.name for each in others if each not in refused)
        rows = sum(count(batch) for batch in references[()])
        return Proved(Proof(names, rows, largest), refused)

    def _batches(
        self, each: Contestant, said: Keywords, refused: dict[Contestant, str]
    ) -> list[Any] | None:
        try:
            return self._loaded(each, said)
        except (DataFrameError, DecodeError):
            raise
        except ValueError as error:  # what only the other engine does
            refused[each] = str(error)
            return None

    def _loaded(self, each: Contestant, said: Keywords) -> list[Any]:
        given = replace(self.given, spec={**self.given.spec, **dict(said)})
        with ExitStack() as stack:
            passes = each.kind.build(given, each.workers, stack)
            return [batch for _ in range(EPOCHS) for batch in passes()]

    def _difference(self, each: Contestant, found: list[Any], wanted: list[Any]) -> float:
        tolerance = tolerance_of(self.given)
        largest = 0.0
        for i, (got, want) in enumerate(zip_longest(found, wanted)):
            try:
                largest = max(largest, difference(got, want, tolerance))
            except ValueError as error:
                raise UnequalBatchesError(
                    f"{each.name} and {_REFERENCE.name} do not give equal batches: batch {i}: "
                    f"{error}. Nothing was compared: its figures would be of different work."
                ) from error
        return largest * 255 / _full_scale(self.given)


def tolerance_of(given: Given) -> float:
    """Say by how much pixels may differ, in the values of a batch."""
    image = given.loader.image
    grey = _GREY if image.color_mode == "grayscale" and image.dtype == "float32" else 0.0
    return (TOLERANCE[image.dtype] + grey) * abs(image.rescale or 1.0)


def difference(got: Any, want: Any, tolerance: float) -> float:
    """Give the largest difference of two batches' pixels.

    Raises:
        ValueError: they differ by more, or in anything else.
    """
    if got is None or want is None:
        raise ValueError("one has fewer batches")
    largest = 0.0
    for (name, one), (other_name, other) in zip_longest(
        _parts(got), _parts(want), fillvalue=("nothing", np.empty(0))
    ):
        if (name, one.shape, one.dtype) != (other_name, other.shape, other.dtype):
            raise ValueError(
                f"{name} {one.shape} {one.dtype} against {other_name} {other.shape} {other.dtype}"
            )
        apart = float(np.abs(one.astype(float) - other.astype(float)).max(initial=0.0))
        pixels = one.ndim == 4 and not name.endswith("mask")
        if not apart <= (tolerance if pixels else _MIXED if one.dtype.kind == "f" else 0):
            raise ValueError(f"{name} differs by up to {apart:.4g}")
        largest = max(largest, apart if pixels else 0.0)
    return largest


def _parts(batch: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Give the arrays of a batch, each with a name."""
    if isinstance(batch, dict):
        for key in sorted(batch):
            yield from _parts(batch[key], f"{name} {key}".strip())
    elif isinstance(batch, tuple):
        for part, word in zip(batch, ("x", "y", "w"), strict=False):
            yield from _parts(part, word)
    else:
        yield name or "x", np.asarray(batch)


def _full_scale(given: Given) -> float:
    """Give what white is in the values of a batch."""
    image = given.loader.image
    return (65535.0 if image.dtype == "uint16" else 255.0) * abs(image.rescale or 1.0)

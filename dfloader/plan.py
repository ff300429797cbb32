"""(seed, epoch) -> which rows, in which order. The only randomness. Imports spec and NumPy.

1. A plan is a pure function of its arguments: no state, no global random state.
2. Streams are NumPy's counter-based Philox (Salmon et al., SC 2011), keyed by (seed, epoch).
3. Orders are ranks of raw bits, because NumPy promises that a bit generator's raw stream never
   changes, and does not promise the same of `Generator.permutation`.
4. A pass is every row once. Passes follow each other without end, and an epoch is the next
   `samples_per_epoch` of that stream; by default one pass. With chances there are no passes: each
   place of an epoch draws its row.
5. Shard k of n has the places k, k + n, k + 2n, ... of an epoch. A share that is one short has its
   first row once more, as padding. What the numbers of an order mean, `rows` says.
"""

import secrets
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dfloader.errors import DataFrameError
from dfloader.rows import Rows, repeated, times_before
from dfloader.spec import OrderSpec

_ORDER_STREAM = 1
_DRAW_STREAM = 2
_SHARD_STREAM = 5  # 3 and 4 are those of draws
# A double has 53 bits: the raw 64 bits lose 11 and become a fraction in [0, 1).
_FRACTION_BITS = 53


@dataclass(frozen=True, eq=False)  # told apart by identity: arrays neither compare nor hash
class Plan:
    """The order of the rows in every epoch.

    Attributes:
        spec: batch size, shuffle, seed, drop_remainder, shard, samples_per_epoch.
        n: rows of the frame.
        kept: int64 positions of the rows that take part; None: all `n`.
        chances: float64, how likely each kept row is drawn, any scale; None: each row once.
    """

    spec: OrderSpec
    n: int
    kept: Rows | None = None
    chances: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        _, count = self.spec.shard or (0, 1)
        if count > self.samples:
            raise DataFrameError(
                f"shard={self.spec.shard!r}: {self.samples} rows do not give {count} processes "
                "one each.",
                hint="Use fewer processes.",
            )

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return self.spec.batches(self.share)

    @property
    def rows_kept(self) -> int:
        return self.n if self.kept is None else len(self.kept)

    @property
    def samples(self) -> int:
        """Places in an epoch, all shards together."""
        return self.spec.samples_per_epoch or self.rows_kept

    @property
    def share(self) -> int:
        """Places in this shard's epoch, padding included; the same for every shard."""
        return -(-self.samples // self._shard[1])

    @property
    def pads(self) -> bool:
        """Whether a shard has padding, so that every shard needs weights."""
        return self.samples % self._shard[1] != 0

    def order(self, epoch: int) -> Rows:
        """Give the row numbers of an epoch, in order."""
        return self._at(epoch, np.arange(self.share, dtype=np.int64))

    def rows(self, epoch: int, i: int) -> Rows:
        """Give the row numbers of batch `i`, 0 <= i < len(self)."""
        start = i * self.spec.batch_size
        stop = min(start + self.spec.batch_size, self.share)
        return self._at(epoch, np.arange(start, stop, dtype=np.int64))

    def ordered(self) -> "Plan":
        """Give the plan of one unshuffled pass over the same rows: each once, in frame order."""
        spec = replace(self.spec, shuffle=False, drop_remainder=False, samples_per_epoch=None)
        return replace(self, spec=spec, chances=None)

    @property
    def _shard(self) -> tuple[int, int]:
        return self.spec.shard or (0, 1)

    def _at(self, epoch: int, share_places: Rows) -> Rows:
        index, count = self._shard
        places = index + count * share_places
        padding = places >= self.samples
        rows = self._rows_at(epoch, np.where(padding, index, places))
        return np.where(padding, ~rows, rows)

    def _rows_at(self, epoch: int, places: Rows) -> Rows:
        if self.chances is not None:
            picks, times = (drawn[places] for drawn in _draws(self, epoch))
        else:
            picks, times = self._in_passes(epoch * self.samples, places)
        return repeated(picks if self.kept is None else self.kept[picks], times)

    def _in_passes(self, start: int, places: Rows) -> tuple[Rows, Rows]:
        """Give picks at places of the stream from `start` on, and the pass of the epoch of each."""
        passes, within = np.divmod(start + places, self.rows_kept)
        times = passes - start // self.rows_kept
        if not self.spec.shuffle:
            return within, times
        out = np.empty_like(within)
        for number in np.unique(passes).tolist():
            here = passes == number
            out[here] = _permutation(self.rows_kept, self.spec.seed, number)[within[here]]
        return out, times


def fresh_seed() -> int:
    """Draw a seed from the operating system, leaving every random state as it was."""
    return secrets.randbits(63)


def mix(n: int, seed: int, epoch: int) -> tuple[Rows, int]:
    """Give an order of `n` shards, and a seed for the buffer that mixes their records."""
    raw = _stream(seed, epoch, _SHARD_STREAM).random_raw(n + 1)
    return np.argsort(raw[:n], kind="stable"), int(raw[n] >> np.uint64(1))


@lru_cache(maxsize=8)
def _permutation(n: int, seed: int, number: int) -> Rows:
    order = np.argsort(_stream(seed, number, _ORDER_STREAM).random_raw(n), kind="stable")
    order.flags.writeable = False
    return order


@lru_cache(maxsize=4)
def _draws(plan: Plan, epoch: int) -> tuple[Rows, Rows]:
    """Draw an epoch with replacement: for each place the row on whose share of 0..1 it falls.

    Returns:
        The rows, and how often each place's row was drawn before it.
    """
    assert plan.chances is not None
    raw = _stream(plan.spec.seed, epoch, _DRAW_STREAM).random_raw(plan.samples)
    fractions = (raw >> np.uint64(64 - _FRACTION_BITS)) * 2.0**-_FRACTION_BITS
    ends = np.cumsum(plan.chances)
    rows: Rows = np.searchsorted(ends, fractions * ends[-1], side="right").astype(np.int64)
    # Rounding may lift the product to the total itself, beyond the last row that has a chance.
    np.minimum(rows, np.flatnonzero(plan.chances)[-1], out=rows)
    return rows, times_before(rows)


def _stream(seed: int, epoch: int, purpose: int) -> np.random.Philox:
    return np.random.Philox(
        key=np.array([seed, epoch], np.uint64), counter=np.array([0, 0, 0, purpose], np.uint64)
    )

"""(seed, epoch) -> which rows, in which order. The only randomness. Imports spec and NumPy.

1. A plan is a pure function of its arguments: no state, no global random state.
2. Streams are NumPy's counter-based Philox (Salmon et al., SC 2011), keyed by (seed, epoch).
3. Orders are ranks of raw bits, because NumPy promises that a bit generator's raw stream never
   changes, and does not promise the same of `Generator.permutation`.
"""

import secrets
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dfloader.spec import OrderSpec

_ORDER_STREAM = 1


@dataclass(frozen=True)
class Plan:
    """The order of `n` rows in every epoch.

    Attributes:
        spec: batch size, shuffle, seed, drop_remainder.
        n: rows of the frame.
    """

    spec: OrderSpec
    n: int

    def __len__(self) -> int:
        return self.spec.batches(self.n)

    def order(self, epoch: int) -> npt.NDArray[np.int64]:
        """Give the row positions of an epoch, in order."""
        return _order(self.n, self.spec.shuffle, self.spec.seed, epoch)

    def rows(self, epoch: int, i: int) -> npt.NDArray[np.int64]:
        """Give the row positions of batch `i`, 0 <= i < len(self)."""
        start = i * self.spec.batch_size
        return self.order(epoch)[start : start + self.spec.batch_size]


def fresh_seed() -> int:
    """Draw a seed from the operating system, leaving every random state as it was."""
    return secrets.randbits(63)


@lru_cache(maxsize=8)
def _order(n: int, shuffle: bool, seed: int, epoch: int) -> npt.NDArray[np.int64]:
    if shuffle:
        order = np.argsort(_stream(seed, epoch, _ORDER_STREAM).random_raw(n), kind="stable")
    else:
        order = np.arange(n, dtype=np.int64)
    order.flags.writeable = False
    return order


def _stream(seed: int, epoch: int, purpose: int) -> np.random.Philox:
    return np.random.Philox(
        key=np.array([seed, epoch], np.uint64), counter=np.array([0, 0, 0, purpose], np.uint64)
    )

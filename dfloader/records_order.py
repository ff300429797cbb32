"""Which records a process reads in an epoch, and in what order. Imports plan, spec, NumPy.

Records are read one after the other, from a few shards at once: what disks and networks do well.
So a shuffled order is not the plan's: the shards change their order every epoch, and a buffer mixes
what is read.

1. Unshuffled, the order is the plan's: that of the frame, of which shard k of n has every n-th row.
2. Shuffled, shard k of n has a run of the epoch's records. Runs are of one length or one shorter,
   and those that are shorter repeat their first record as padding.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.plan import mix
from dfloader.spec import OrderSpec

Numbers = npt.NDArray[np.int64]


class Reading(NamedTuple):
    """What to read in an epoch, in order.

    Attributes:
        parts: int64 (k, 3): number of a file, records of it to pass over, records to take then.
        pad: int64 (0 or 1, 3): likewise, the record to repeat.
        seed: of the buffer.
    """

    parts: Numbers
    pad: Numbers
    seed: int


def reading(sizes: Sequence[int], spec: OrderSpec, epoch: int) -> Reading:
    """Plan an epoch of files of `sizes` records."""
    index, count = spec.shard or (0, 1)
    total, counts = sum(sizes), np.array(sizes, np.int64)
    short = int(index >= total % count > 0)
    if not spec.shuffle:
        files = np.arange(len(counts))
        whole, pad = _run(files, counts, 0, total), _run(files, counts, index, index + short)
        return Reading(whole, pad, 0)
    files, seed = mix(len(counts), spec.seed, epoch)
    start, stop = (i * (total // count) + min(i, total % count) for i in (index, index + 1))
    run, pad = _run(files, counts, start, stop), _run(files, counts, start, start + short)
    return Reading(run, pad, seed)


def _run(files: Numbers, counts: Numbers, start: int, stop: int) -> Numbers:
    """Find records `start` to `stop` of the files end to end."""
    ends = np.cumsum(counts[files])
    begins = ends - counts[files]
    first = np.maximum(begins, start)
    last = np.minimum(ends, stop)
    there = first < last
    parts: Numbers = np.stack([files, first - begins, last - first], axis=1)[there]
    return parts

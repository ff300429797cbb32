"""What the numbers in a plan's order stand for. Imports NumPy only.

1. The low 40 bits are a row of the frame.
2. The bits above tell apart what an epoch draws again, so that it is augmented anew: how often that
   row was drawn before, or which pass of the epoch it is. 0 where an epoch is every row once: there
   a number is simply a row.
3. A number below 0 is padding: ``~n`` has n's row, and weight 0.
"""

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

_ROW_BITS = 40


def source_rows(numbers: Rows) -> Rows:
    """Give the row of the frame that each number stands for."""
    return draw_keys(numbers) & ((1 << _ROW_BITS) - 1)


def draw_keys(numbers: Rows) -> Rows:
    """Give what a number's draw depends on besides seed and epoch; the row, unless it repeats."""
    return np.where(numbers < 0, ~numbers, numbers)


def frame_rows(numbers: Rows) -> Rows:
    """Give the rows as a user sees them: -1 for padding."""
    return np.where(numbers < 0, -1, source_rows(numbers))


def repeated(rows: Rows, times: Rows) -> Rows:
    """Give the numbers of rows that the epoch had `times` times before."""
    return rows | times << _ROW_BITS


def times_before(rows: Rows) -> Rows:
    """Count for each place how often its row stands at places before it."""
    order = np.argsort(rows, kind="stable")
    ranked = rows[order]
    times = np.empty_like(rows)
    times[order] = np.arange(len(rows)) - np.searchsorted(ranked, ranked)
    return times

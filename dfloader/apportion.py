"""Whole numbers from fractions: how many rows of each class, and which groups, go to each part.

Imports NumPy only.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Products of a fraction and a count that differ from a whole number by less are that number.
_DIGITS = 9


def apportion(counts: Ints, shares: Floats) -> Ints:
    """Round ``counts x shares`` to whole numbers so that all sums stay right.

    Controlled rounding (Bacharach, 1966): each number goes up or down to the next whole one, each
    row sums to its count, and each column sum is its exact sum rounded up or down. Each row is
    rounded by largest remainders; then units move between columns, along rows where both ends are
    fractions, until the column sums fit. That such moves suffice is the max-flow theorem.

    Args:
        counts: rows of each class (c,).
        shares: fraction of each part (p,), summing to 1.

    Returns:
        int64 (c, p).
    """
    exact = np.round(counts[:, None] * shares, _DIGITS)
    low = np.floor(exact).astype(np.int64)
    rest = exact - low
    up = _largest_remainders(rest, counts - low.sum(axis=1))
    movable = exact > low
    total = np.round(counts.sum() * shares, _DIGITS)
    floor, ceiling = np.floor(total) - low.sum(axis=0), np.ceil(total) - low.sum(axis=0)
    while True:
        sums = up.sum(axis=0)
        path = _path(up, movable, sums, floor, ceiling)
        if not path:
            return low + up
        for start, stop in pairwise(path):
            can = up[:, start] & ~up[:, stop] & movable[:, stop]
            row = _cheapest(can, rest[:, stop] - rest[:, start], counts)
            up[row, start], up[row, stop] = False, True


def assign_groups(groups: Ints, strata: Ints, shares: Floats) -> Ints:
    """Assign whole groups to parts, near each part's share of every stratum.

    Large groups first, each to the part that lacks its rows most; then groups move until every
    part's size is within the largest group of its share, and to parts without any where that
    stays so.

    Args:
        groups: number of each row's group, 0..g-1.
        strata: number of each row's stratum.
        shares: fraction of each part (p,), summing to 1.

    Returns:
        The part of each group, int64 (g,).
    """
    sizes = np.bincount(groups)
    pairs, counts = np.unique(np.stack([groups, strata]), axis=1, return_counts=True)
    starts = np.searchsorted(pairs[0], np.arange(len(sizes) + 1))
    totals = np.bincount(strata)
    lacking = totals[:, None] * shares  # (stratum, part): rows still to come
    lacking_rows = len(groups) * shares
    parts = np.empty(len(sizes), np.int64)
    for group in np.argsort(-sizes, kind="stable").tolist():
        here = slice(starts[group], starts[group + 1])
        own, n = pairs[1, here], counts[here]
        gain = (n / totals[own]) @ lacking[own] + sizes[group] / len(groups) * lacking_rows
        part = int(gain.argmax())
        parts[group] = part
        lacking[own, part] -= n
        lacking_rows[part] -= sizes[group]
    _rebalance(parts, sizes, lacking_rows)
    _fill(parts, sizes, lacking_rows)
    return parts


def _largest_remainders(fractions: Floats, units: Ints) -> npt.NDArray[np.bool_]:
    """Give one unit each to the `units` largest fractions of a row."""
    rank = np.argsort(np.argsort(-fractions, axis=1, kind="stable"), axis=1)
    up: npt.NDArray[np.bool_] = rank < units[:, None]
    return up


def _path(
    up: npt.NDArray[np.bool_],
    movable: npt.NDArray[np.bool_],
    sums: Ints,
    floor: Floats,
    ceiling: Floats,
) -> list[int]:
    """Find columns along which one unit can move to where it mends a sum; [] if all fit."""
    over, under = np.flatnonzero(sums > ceiling), np.flatnonzero(sums < floor)
    if len(over):
        return _search(up, movable, over.tolist(), set(np.flatnonzero(sums < ceiling).tolist()))
    if len(under):
        return _search(up, movable, np.flatnonzero(sums > floor).tolist(), set(under.tolist()))
    return []


def _search(
    up: npt.NDArray[np.bool_], movable: npt.NDArray[np.bool_], starts: list[int], stops: set[int]
) -> list[int]:
    """Search breadth first from `starts` to `stops` over moves that some row allows."""
    paths = [[start] for start in starts]
    seen = set(starts)
    for path in paths:
        if path[-1] in stops:
            return path
        allowed = (up[:, path[-1], None] & ~up & movable).any(axis=0)
        for column in np.flatnonzero(allowed).tolist():
            if column not in seen:
                seen.add(column)
                paths.append([*path, column])
    raise AssertionError("a controlled rounding exists")


def _cheapest(can: npt.NDArray[np.bool_], gain: Floats, counts: Ints) -> int:
    """Choose where a move distorts least; of equals the largest, where it matters least."""
    rows = np.flatnonzero(can)
    return int(rows[np.lexsort((-counts[rows], -np.round(gain[rows], _DIGITS)))[0]])


def _rebalance(parts: Ints, sizes: Ints, lacking: Floats) -> None:
    """Move groups, small ones first, until no part is off by more than the largest group.

    Each move makes the sum of squares of `lacking` smaller, so it ends.
    """
    largest = sizes.max()
    while np.abs(lacking).max() > largest:
        giver, taker = int(lacking.argmin()), int(lacking.argmax())
        own = np.flatnonzero(parts == giver)
        group = own[sizes[own].argmin()]
        parts[group] = taker
        lacking[giver] += sizes[group]
        lacking[taker] -= sizes[group]


def _fill(parts: Ints, sizes: Ints, lacking: Floats) -> None:
    """Give each part without a group the smallest of a part that can spare one."""
    for taker in range(len(lacking)):
        if (parts == taker).any():
            continue
        for giver in np.argsort(lacking, kind="stable").tolist():
            own = np.flatnonzero(parts == giver)
            if len(own) < 2:
                continue
            group = own[sizes[own].argmin()]
            if lacking[giver] + sizes[group] <= sizes.max():
                parts[group] = taker
                lacking[giver] += sizes[group]
                lacking[taker] -= sizes[group]
                break

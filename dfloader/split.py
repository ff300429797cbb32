"""`split_dataframe`: a frame into training, validation, test, by content and seed.

1. Where a row goes depends on its content, the other rows' content and the seed, not on the order
   of the rows nor on their index. Rows of equal content are interchangeable.
2. Parts are disjoint, and together are the frame.
3. A part's size is within one row of its fraction of the frame, or within the largest group where
   groups are kept together; a class's share of a part is within one row too, or without groups.
"""

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.apportion import apportion, assign_groups
from dfloader.columns import check_no_missing, holds_lists, present, to_pandas
from dfloader.errors import DataFrameError

_log = logging.getLogger("dfloader")
_HASH_KEY = "dfloader dfloader"[:16]  # pandas wants 16 bytes; any will do, but it must never change


def split_dataframe(
    df: Any,
    fractions: Sequence[float],
    *,
    stratify: str | Sequence[str] | None = None,
    group: str | None = None,
    seed: int = 0,
) -> list[pd.DataFrame]:
    """Split a frame into parts.

    Args:
        df: the frame; never changed.
        fractions: the parts' sizes; they sum to 1.
        stratify: column, or columns taken together, whose values each part has in like shares.
        group: column whose equal values stay in one part, as a patient's pictures must.
        seed: another seed, another split.

    Returns:
        A frame for each fraction, rows in the order of `df`, with its index.

    Raises:
        DataFrameError: a column is missing or has missing values, or a part gets no row.
        ValueError: the fractions do not sum to 1.

    Examples:
        >>> names = [f"{i}.png" for i in range(10)]
        >>> df = pd.DataFrame({"filename": names, "class": list("aabbb") * 2})
        >>> train, test = split_dataframe(df, (0.5, 0.5), stratify="class")
        >>> train["class"].value_counts().to_dict()
        {'b': 3, 'a': 2}
    """
    frame = to_pandas(df)
    shares = _shares(fractions)
    if not hasattr(seed, "__index__") or isinstance(seed, bool):
        raise ValueError(f"seed={seed!r} is not a whole number.")
    strata = _strata(frame, stratify)
    if group is None:
        _warn_of_small(strata, stratify, len(shares))
        parts = _by_row(frame, strata, shares, seed)
    else:
        parts = _by_group(frame, present(frame, group, "group"), strata, shares, seed)
    _check_all_filled(parts, shares, group)
    return [frame.iloc[np.flatnonzero(parts == part)] for part in range(len(shares))]


def _shares(fractions: Sequence[float]) -> npt.NDArray[np.float64]:
    if isinstance(fractions, (int, float)) or not len(fractions):
        raise ValueError(f"fractions={fractions!r} is not a list, as (0.8, 0.2).")
    shares = np.asarray(fractions, np.float64)
    if not (shares > 0).all() or not math.isclose(shares.sum(), 1, abs_tol=1e-6):
        raise ValueError(f"fractions={fractions!r} are not numbers above 0 that sum to 1.")
    return np.asarray(shares / shares.sum())


def _strata(df: pd.DataFrame, stratify: str | Sequence[str] | None) -> npt.NDArray[np.int64]:
    """Number the rows' strata, in the order of the values; all 0 without `stratify`."""
    if stratify is None:
        return np.zeros(len(df), np.int64)
    columns = [stratify] if isinstance(stratify, str) else list(stratify)
    for column in columns:
        check_no_missing(df, present(df, column, "stratify"))
    hashes = _mixed([_hashed(df[column]) for column in columns])
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def _by_row(
    df: pd.DataFrame, strata: npt.NDArray[np.int64], shares: npt.NDArray[np.float64], seed: int
) -> npt.NDArray[np.int64]:
    order = np.lexsort((_row_keys(df, seed), strata))
    counts = apportion(np.bincount(strata), shares)
    parts = np.empty(len(df), np.int64)
    parts[order] = np.repeat(np.tile(np.arange(len(shares)), len(counts)), counts.ravel())
    return parts


def _by_group(
    df: pd.DataFrame,
    group: str,
    strata: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
    seed: int,
) -> npt.NDArray[np.int64]:
    check_no_missing(df, group, "Give every row a group of its own, or drop those rows.")
    keys = _mixed([_hashed(df[group]), _seeded(seed)])
    _, groups = np.unique(keys, return_inverse=True)  # numbered in the order of their keys
    return assign_groups(groups, strata, shares)[groups]


def _row_keys(df: pd.DataFrame, seed: int) -> npt.NDArray[np.uint64]:
    return _mixed([*(_hashed(df.iloc[:, i]) for i in range(df.shape[1])), _seeded(seed)])


def _seeded(seed: int) -> npt.NDArray[np.uint64]:
    return np.array([seed % 2**64], np.uint64)


def _hashed(series: "pd.Series[Any]") -> npt.NDArray[np.uint64]:
    """Hash each cell by content."""
    if holds_lists(series):
        series = pd.Series([_content(cell) for cell in series], dtype=object)
    return np.asarray(
        pd.util.hash_pandas_object(series, index=False, hash_key=_HASH_KEY), np.uint64
    )


def _content(cell: Any) -> Any:
    """Give something that can be hashed and says all that is in the cell."""
    if isinstance(cell, np.ndarray):
        return f"{cell.dtype}{cell.shape}{cell.tobytes().hex()}"
    if isinstance(cell, (set, frozenset)):
        return repr(sorted(map(repr, cell)))  # a set's own order differs from run to run
    return cell if isinstance(cell, (str, bytes)) else repr(cell)


def _mixed(hashes: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    """Mix hashes, the order of which counts, by SplitMix64 (Steele et al., 2014)."""
    out: npt.NDArray[np.uint64] = np.zeros(1, np.uint64)
    for part in hashes:
        out = (out + part) * np.uint64(0x9E3779B97F4A7C15)
        out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out = out ^ (out >> np.uint64(31))
    return out


def _warn_of_small(strata: npt.NDArray[np.int64], stratify: Any, parts: int) -> None:
    small = int((np.bincount(strata) < parts).sum())
    if stratify is not None and small:
        _log.warning(
            "stratify=%r: %d of its values have fewer rows than there are parts (%d), and are "
            "missing from some.",
            stratify,
            small,
            parts,
        )


def _check_all_filled(
    parts: npt.NDArray[np.int64], shares: npt.NDArray[np.float64], group: str | None
) -> None:
    empty = np.flatnonzero(np.bincount(parts, minlength=len(shares)) == 0)
    if len(empty):
        what = "rows" if group is None else f"groups in column {group!r}"
        raise DataFrameError(
            f"Part {empty[0]} (fraction {shares[empty[0]]:.3g}) gets no row: the frame has "
            f"{len(parts)} rows, too few{'' if group is None else f' or too large {what}'}.",
            column=group,
            hint="Use fewer parts or larger fractions.",
        )

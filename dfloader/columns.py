"""One column of a frame: which it is, and what every reader checks of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.errors import DataFrameError
from dfloader.labels import plain

SHOWN_ROWS = 5
SHOWN_CHARACTERS = 60
CELL_KINDS = (list, tuple, set, frozenset, np.ndarray)  # cells that hold several values
DROP_MISSING = "Drop them with df.dropna(), or set class_mode=None."
X_NAMES = ("filename", "image_name", "image_path", "image", "filepath", "path", "file")
Y_NAMES = ("class", "label", "labels", "target")


def to_pandas(df: Any) -> pd.DataFrame:
    """Give a pandas frame; others (polars, pyarrow) convert themselves.

    Raises:
        TypeError: it is no frame.
        DataFrameError: it has no rows.
    """
    frame = df.to_pandas() if hasattr(df, "to_pandas") else df
    if not isinstance(frame, pd.DataFrame):
        lazy = " Call .collect() first." if hasattr(df, "collect") else ""
        raise TypeError(f"df is a {type(df).__name__}, not a DataFrame.{lazy}")
    if not len(frame):
        raise DataFrameError("The frame has no rows.", hint="Check how it was read or filtered.")
    return frame


def choose(df: pd.DataFrame, given: Any, keyword: str, names: Sequence[str]) -> str:
    """Find the column meant by `keyword`: the one given, `names[0]`, or the only other there.

    Raises:
        DataFrameError: there is none, or more than one could be meant.
    """
    if given is not None:
        return present(df, given, keyword)
    found = [name for name in names if name in df.columns]
    if found and (found[0] == names[0] or len(found) == 1):
        return present(df, found[0], keyword)
    what = f"several: {found}" if found else "none"
    raise DataFrameError(
        f"{keyword} is not given, and of {', '.join(map(repr, names))} the frame has {what}. "
        f"Its columns: {list(df.columns)}.",
        hint=f"Say {keyword}='...'.",
    )


def present(df: pd.DataFrame, name: Any, keyword: str) -> str:
    """Check that a column is there, once, and give its name."""
    if isinstance(name, (list, dict, set)):
        raise TypeError(f"{keyword}={name!r} is a {type(name).__name__}, not one column's name.")
    times = sum(column == name for column in df.columns)
    if times == 0:
        raise DataFrameError(
            f"{keyword}={name!r} is not a column. Columns: {list(df.columns)}.",
            column=str(name),
            hint=f"Say which of them is meant with {keyword}=.",
        )
    if times > 1:
        raise DataFrameError(
            f"{times} columns are named {name!r}.", column=str(name), hint="Rename all but one."
        )
    return name  # type: ignore[no-any-return]  # any hashable may name a column


def name_rows(df: pd.DataFrame, positions: Sequence[int]) -> str:
    """Say which rows: positions, with index labels where these differ; five at most."""
    shown = [int(p) for p in positions[:SHOWN_ROWS]]
    words = [str(p) if df.index[p] == p else f"{p} (index {plain(df.index[p])!r})" for p in shown]
    more = f" and {len(positions) - len(shown)} more" if len(positions) > len(shown) else ""
    return f"row{'s' if len(positions) > 1 else ''} {', '.join(words)}{more}"


def bad_rows(
    df: pd.DataFrame, column: Any, bad: npt.ArrayLike, what: str, hint: str
) -> DataFrameError:
    """Make the error of a column with bad rows.

    Args:
        df: the frame.
        column: the column.
        bad: positions of all bad rows.
        what: what is wrong, after "Column 'x' "; ``{n}`` stands for how many.
        hint: what to do.
    """
    rows = np.asarray(bad).tolist()
    value = df[column].iloc[rows[0]]
    return DataFrameError(
        f"Column {column!r} {what.format(n=len(rows))} ({name_rows(df, rows)}); "
        f"the first is {_brief(value)}.",
        column=str(column),
        rows=rows[:SHOWN_ROWS],
        hint=hint,
    )


def check_no_missing(
    df: pd.DataFrame, column: Any, hint: str = "Drop them with df.dropna()."
) -> None:
    """Raise where a column has NaN, None or NaT."""
    bad = np.flatnonzero(df[column].isna().to_numpy(dtype=bool))
    if len(bad):
        values = "a missing value" if len(bad) == 1 else "{n} missing values"
        raise bad_rows(df, column, bad, f"has {values}", hint)


def cells(df: pd.DataFrame, column: Any) -> npt.NDArray[Any]:
    """Give the cells of a column as Python objects (n,)."""
    out: npt.NDArray[Any] = df[column].to_numpy(dtype=object)
    return out


def numbers(df: pd.DataFrame, column: Any, keyword: str) -> npt.NDArray[Any]:
    """Give a column of numbers as int64 or float64 (n,), or stacked (n, ...) if cells are lists.

    Raises:
        DataFrameError: a value is missing or no number, or lists differ in length.
    """
    check_no_missing(df, column)
    series = df[column]
    kind = pd.api.types
    if kind.is_bool_dtype(series.dtype) or kind.is_integer_dtype(series.dtype):
        values: npt.NDArray[Any] = series.to_numpy(dtype=np.int64)
        _check(df, column, (values < 0) & (series >= 0).to_numpy(dtype=bool), "is beyond int64")
    elif kind.is_float_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64)
    else:
        values = _stacked(df, column, keyword)
    bad = np.isnan(values).reshape(len(values), -1).any(axis=1)
    _check(df, column, bad, "has NaN in {n} rows")
    return values


def scalars(df: pd.DataFrame, column: Any, keyword: str) -> npt.NDArray[Any]:
    """Give a column of one number a row, as `numbers` does.

    Raises:
        DataFrameError: as `numbers`, or cells are lists.
    """
    values = numbers(df, column, keyword)
    lists = np.full(len(values), values.ndim > 1)
    _check(df, column, lists, f"has lists, and {keyword} takes one number a row")
    return values


def holds_lists(series: "pd.Series[Any]") -> bool:
    """Tell whether cells may hold several values each: of type object, or Arrow's lists."""
    return series.dtype == object or isinstance(series.iloc[0], CELL_KINDS)


def by_output(value: Any, names: Sequence[str], keyword: str) -> dict[str, Any]:
    """Give `value` for each output: from a dict by output's name, else the same for all.

    Raises:
        DataFrameError: the dict names an output that is not there.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    strange = [name for name in value if name not in names]
    if strange:
        raise DataFrameError(
            f"{keyword} names {strange[0]!r}, which is no output. Outputs: {list(names)}.",
            hint=f"Use the outputs' names in {keyword}.",
        )
    return {name: value.get(name) for name in names}


def _stacked(df: pd.DataFrame, column: Any, keyword: str) -> npt.NDArray[Any]:
    arrays = [_as_array(cell) for cell in cells(df, column)]
    strange = np.array([array is None or array.dtype.kind not in "biuf" for array in arrays])
    _check(
        df,
        column,
        strange,
        f"is {df[column].dtype}, and {keyword} takes numbers; {{n}} cells hold none",
        "Convert it with pd.to_numeric or .astype(float).",
    )
    shape = Counter(array.shape for array in arrays).most_common(1)[0][0]
    ragged = np.array([array.shape != shape for array in arrays])
    _check(df, column, ragged, f"has {{n}} cells that are not of shape {shape}", "Pad them.")
    values = np.stack(arrays)
    return values.astype(np.int64 if values.dtype.kind in "biu" else np.float64)


def _as_array(cell: Any) -> Any:
    """Give the cell as an array; None where its own lists are ragged."""
    try:
        return np.asarray(cell)
    except ValueError:
        return None


def _check(
    df: pd.DataFrame,
    column: Any,
    bad: npt.NDArray[np.bool_],
    what: str,
    hint: str = "Drop those rows or put numbers there.",
) -> None:
    if bad.any():
        raise bad_rows(df, column, np.flatnonzero(bad), what, hint)


def _brief(value: Any) -> str:
    text = repr(plain(value))
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."

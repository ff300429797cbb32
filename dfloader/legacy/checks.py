"""The original's checks of a frame, with its messages; a note says which row and what helps."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

CLASS_MODES = {"binary", "categorical", "input", "multi_output", "raw", "sparse", None}
WITHOUT_CLASSES = {"input", "multi_output", "raw", None}


@dataclass(frozen=True)
class Columns:
    """Which columns mean what.

    Attributes:
        y: a column; a list of them for ``multi_output``, and if wanted for ``raw``.
        classes: the classes asked for, in order; empty for those of the frame.
    """

    x: str
    y: Any
    weight: str | None
    class_mode: str | None
    classes: Sequence[str]


def check_columns(frame: pd.DataFrame, columns: Columns) -> None:
    """Raise what the original raises, in its order."""
    mode = columns.class_mode
    if mode not in CLASS_MODES:
        raise ValueError(f"Invalid class_mode: {mode}; expected one of: {CLASS_MODES}")
    if mode == "multi_output" and not isinstance(columns.y, list):
        raise TypeError(
            f'If class_mode="{mode}", y_col must be a list. Received {type(columns.y).__name__}.'
        )
    _check_paths(frame, columns)
    if mode in ("binary", "sparse"):
        wanted = f'If class_mode="{mode}", y_col="{columns.y}" column values must be strings.'
        _check_types(frame[columns.y], (str,), wanted, columns)
    if mode == "binary":
        _check_two_classes(frame, columns)
    if mode == "categorical":
        wanted = (
            f'If class_mode="{mode}", y_col="{columns.y}" column values must be type string, '
            "list or tuple."
        )
        _check_types(frame[columns.y], (str, list, tuple), wanted, columns)
    if len(columns.classes) and mode in WITHOUT_CLASSES:
        warnings.warn(f'`classes` will be ignored given the class_mode="{mode}"', stacklevel=4)
    _check_weights(frame, columns)


def values_of(column: Any) -> list[Any]:
    """Return a column's values; a frame of several columns gives these."""
    if isinstance(column, pd.DataFrame):
        return [column.iloc[:, i] for i in range(column.shape[1])]
    return list(column.tolist())


def _check_paths(frame: pd.DataFrame, columns: Columns) -> None:
    column = frame[columns.x]
    if _holds_strings(column):
        return
    values = values_of(column)
    bad = _first_other(values, (str,))
    if bad is not None:
        value = _shown(values[bad])
        raise _with_note(
            TypeError(f"All values in column x_col={columns.x} must be strings."),
            f"Row {bad} holds {value}. Make paths strings with "
            f"dataframe[{columns.x!r}] = dataframe[{columns.x!r}].astype(str), and drop missing "
            "ones.",
        )


def _check_types(column: Any, types: tuple[type, ...], wanted: str, columns: Columns) -> None:
    if _holds_strings(column):
        return
    values = values_of(column)
    bad = _first_other(values, types)
    if bad is None:
        return
    if isinstance(column, pd.DataFrame):
        note = 'Several columns of numbers are targets as they are: class_mode="raw".'
    else:
        name = repr(columns.y)
        note = (
            f"Row {bad} holds {_shown(values[bad])}. Make labels strings with dataframe[{name}] = "
            f'dataframe[{name}].astype(str), or take numbers as they are with class_mode="raw".'
        )
    raise _with_note(TypeError(wanted), note)


def _check_two_classes(frame: pd.DataFrame, columns: Columns) -> None:
    required = 'If class_mode="binary" there must be 2 classes.'
    given = len(set(columns.classes))
    if given and given != 2:
        raise ValueError(f"{required} {given} class/es were given.")
    found = frame[columns.y].nunique()
    if not given and found != 2:
        shown = sorted(frame[columns.y].unique())[:10]
        raise _with_note(
            ValueError(f"{required} Found {found} classes."),
            f'They are {shown}. Use class_mode="categorical" or "sparse".',
        )


def _check_weights(frame: pd.DataFrame, columns: Columns) -> None:
    if columns.weight and not issubclass(frame[columns.weight].dtype.type, np.number):
        raise _with_note(
            TypeError(f"Column weight_col={columns.weight} must be numeric."),
            f"It is {frame[columns.weight].dtype}: use pandas.to_numeric, or astype(float).",
        )


def _holds_strings(column: Any) -> bool:
    """Tell by its dtype whether a column holds strings and nothing else, which costs no look."""
    return isinstance(getattr(column, "dtype", None), pd.StringDtype) and not column.hasnans


def _first_other(values: list[Any], types: tuple[type, ...]) -> int | None:
    """Find the first value of another type; one look at the types present is usually enough."""
    if all(issubclass(kind, types) for kind in set(map(type, values))):
        return None
    return next(i for i, value in enumerate(values) if not isinstance(value, types))


def _shown(value: Any) -> str:
    return f"{value!r}, a {type(value).__name__}"


def _with_note(error: Exception, note: str) -> Exception:
    """Add a note (Python 3.11): the message stays the original's, which scripts may look at."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    return error

"""Frame -> Table: the only place that reads a frame, and where all its checks are."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder
from dfloader.packed import Packed, pack
from dfloader.spec import FrameSpec
from dfloader.table import Table, Target

SHOWN_ROWS = 5
_X_NAMES = ("image_name", "image_path", "image", "filepath", "path", "file")
_Y_NAMES = ("label", "labels", "target")


def resolve(df: pd.DataFrame, spec: FrameSpec) -> Table:
    """Read the frame once.

    Raises:
        DataFrameError: a column is missing or ambiguous, a value cannot be used, a file is missing.
    """
    if not isinstance(df, pd.DataFrame):
        raise TypeError(f"df is a {type(df).__name__}, not a pandas DataFrame.")
    if df.empty:
        raise DataFrameError("The frame has no rows.", hint="Check how it was read or filtered.")
    x_col = _column(df, spec.x_col, "x_col", "filename", _X_NAMES)
    images = _paths(df, x_col, spec.directory)
    target = None if spec.class_mode is None else _target(df, spec)
    if spec.validate:
        _check_files(df, x_col, images)
    return Table(images, target)


def name_rows(df: pd.DataFrame, positions: Sequence[int]) -> str:
    """Say which rows: positions, with index labels where these differ; five at most."""
    shown = [int(p) for p in positions[:SHOWN_ROWS]]
    words = [str(p) if df.index[p] == p else f"{p} (index {df.index[p]!r})" for p in shown]
    more = f" and {len(positions) - len(shown)} more" if len(positions) > len(shown) else ""
    return f"row{'s' if len(positions) > 1 else ''} {', '.join(words)}{more}"


def _column(
    df: pd.DataFrame, given: str | None, keyword: str, first: str, others: Sequence[str]
) -> str:
    if given is not None:
        return _present(df, given, keyword)
    if first in df.columns:
        return _present(df, first, keyword)
    found = [name for name in others if name in df.columns]
    if len(found) == 1:
        return _present(df, found[0], keyword)
    what = f"several of them: {found}" if found else "none of them"
    raise DataFrameError(
        f"{keyword} is not given, and of {first!r}, {', '.join(map(repr, others))} the frame has "
        f"{what}. Its columns: {list(df.columns)}.",
        hint=f"Say {keyword}='...'.",
    )


def _present(df: pd.DataFrame, name: str, keyword: str) -> str:
    times = int((df.columns == name).sum())
    if times == 0:
        raise DataFrameError(
            f"{keyword}={name!r} is not a column. Columns: {list(df.columns)}.",
            column=str(name),
            hint=f"Say which of them is meant with {keyword}=.",
        )
    if times > 1:
        raise DataFrameError(
            f"{times} columns are named {name!r}.", column=name, hint="Rename all but one."
        )
    return name


def _paths(df: pd.DataFrame, column: str, directory: Any) -> Packed:
    values = df[column].to_numpy(dtype=object)
    bad = [i for i, v in enumerate(values) if not isinstance(v, (str, os.PathLike))]
    if bad:
        value = values[bad[0]]
        raise DataFrameError(
            f"Column {column!r} must hold paths; {name_rows(df, bad)}: "
            f"{value!r} is a {type(value).__name__}.",
            column=column,
            rows=bad[:SHOWN_ROWS],
            hint="Make them str, or take those rows out.",
        )
    base = os.fsencode(directory) if directory is not None else b""
    return pack(os.path.join(base, os.fsencode(value)) for value in values)


def _check_files(df: pd.DataFrame, column: str, images: Packed) -> None:
    listings: dict[bytes, frozenset[bytes]] = {}
    bad = []
    for row in range(len(images)):
        folder, name = os.path.split(images[row])
        if folder not in listings:
            listings[folder] = _listing(folder)
        if name not in listings[folder]:
            bad.append(row)
    if bad:
        paths = ", ".join(repr(os.fsdecode(images[row])) for row in bad[:SHOWN_ROWS])
        raise DataFrameError(
            f"Column {column!r}: {len(bad)} of {len(images)} files do not exist "
            f"({name_rows(df, bad)}): {paths}.",
            column=column,
            rows=bad[:SHOWN_ROWS],
            path=os.fsdecode(images[bad[0]]),
            hint="Say where relative paths start with directory=, or take those rows out.",
        )


def _listing(folder: bytes) -> frozenset[bytes]:
    try:
        with os.scandir(folder or b".") as entries:
            return frozenset(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()


def _target(df: pd.DataFrame, spec: FrameSpec) -> Target:
    if isinstance(spec.y_col, (list, tuple)):
        columns = [_present(df, name, "y_col") for name in spec.y_col]
        if spec.class_mode != "raw":
            raise DataFrameError(
                f"y_col={list(columns)!r} names several columns, and class_mode="
                f"{spec.class_mode!r} takes one.",
                hint="Use class_mode='raw', or name one column.",
            )
        return Target("raw", _numbers(df, columns), None)
    column = _column(df, spec.y_col, "y_col", "class", _Y_NAMES)  # type: ignore[arg-type]
    if spec.class_mode == "raw":
        return Target("raw", _numbers(df, [column])[:, 0], None)
    return _classes(df, column, spec)


def _numbers(df: pd.DataFrame, columns: Sequence[str]) -> npt.NDArray[Any]:
    for column in columns:
        _check_no_missing(df, column)
        if not pd.api.types.is_numeric_dtype(df[column]):
            raise DataFrameError(
                f"Column {column!r} is {df[column].dtype}, and class_mode='raw' takes numbers.",
                column=column,
                hint="Convert it with pd.to_numeric, or use class_mode='categorical'.",
            )
    values = np.stack([df[column].to_numpy() for column in columns], axis=1)
    return values.astype(np.int64 if values.dtype.kind in "iub" else np.float32)


def _classes(df: pd.DataFrame, column: str, spec: FrameSpec) -> Target:
    _check_no_missing(df, column)
    series = df[column]
    if spec.classes is not None:
        encoder = LabelEncoder(tuple(spec.classes))
    elif isinstance(series.dtype, pd.CategoricalDtype):
        encoder = LabelEncoder(tuple(series.cat.categories))
    else:
        encoder = LabelEncoder.fit(series.unique())
    if spec.class_mode == "binary" and len(encoder) != 2:
        raise DataFrameError(
            f"class_mode='binary' needs exactly two classes; column {column!r} has "
            f"{len(encoder)}: {list(encoder.class_names)[:10]!r}.",
            column=column,
            hint="Use class_mode='categorical' or 'sparse'.",
        )
    codes = encoder.transform(series.to_numpy(dtype=object), column=column)  # type: ignore[arg-type]
    assert spec.class_mode is not None
    return Target(spec.class_mode, codes, encoder)


def _check_no_missing(df: pd.DataFrame, column: str) -> None:
    bad = np.flatnonzero(df[column].isna().to_numpy())
    if len(bad):
        raise DataFrameError(
            f"Column {column!r} has {len(bad)} missing values ({name_rows(df, bad.tolist())}).",
            column=column,
            rows=bad[:SHOWN_ROWS].tolist(),
            hint="Drop them with df.dropna(), or set class_mode=None.",
        )

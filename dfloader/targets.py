"""Label columns -> encoded targets: every class mode."""

import logging
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.classes import check_known, encoder_for, warn_of_separators
from dfloader.columns import (
    CELL_KINDS,
    DROP_MISSING,
    Y_NAMES,
    bad_rows,
    by_output,
    cells,
    check_no_missing,
    choose,
    holds_lists,
    numbers,
    present,
)
from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder, plain
from dfloader.multilabel import from_cells, from_flags
from dfloader.spec import ClassMode, FrameSpec
from dfloader.table import Target

_log = logging.getLogger("dfloader")


class Read(NamedTuple):
    """What was read of the labels.

    Attributes:
        target: a Target, or a dict of them.
        kept: bool (n,): rows to keep; None: all.
    """

    target: Target | Mapping[str, Target] | None
    kept: npt.NDArray[np.bool_] | None


def read_targets(df: pd.DataFrame, spec: FrameSpec) -> Read:
    """Read what y is made of.

    Raises:
        DataFrameError: a column or a value cannot be used as `spec.class_mode` says.
    """
    if spec.class_mode is None or spec.class_mode == "input":
        return Read(None, None)
    if isinstance(spec.class_mode, Mapping):
        return _several(df, spec, spec.class_mode)
    if isinstance(spec.y_col, (list, tuple)):
        return Read(_from_columns(df, spec.y_col, spec), None)
    column = choose(df, spec.y_col, "y_col", Y_NAMES)
    target = _target(df, column, spec.class_mode, spec.classes, spec)
    return _dropped(df, spec, {column: target}, target)


def _several(df: pd.DataFrame, spec: FrameSpec, modes: Mapping[str, ClassMode]) -> Read:
    if spec.y_col is not None and set(_listed(spec.y_col)) != set(modes):
        raise DataFrameError(
            f"y_col={spec.y_col!r} and class_mode={dict(modes)!r} name different columns.",
            hint="Leave y_col out: the dict names them.",
        )
    classes = by_output(spec.classes, tuple(modes), "classes")
    targets = {
        present(df, column, "class_mode"): _target(df, column, mode, classes[column], spec)
        for column, mode in modes.items()
    }
    return _dropped(df, spec, targets, targets)


def _listed(y_col: str | Sequence[str]) -> list[str]:
    return [y_col] if isinstance(y_col, str) else list(y_col)


def _dropped(df: pd.DataFrame, spec: FrameSpec, targets: Mapping[str, Target], result: Any) -> Read:
    """Find the rows that unknown="drop" leaves out: a label that is none of the classes."""
    kept = np.ones(len(df), bool)
    for column, target in targets.items():
        if target.encoder is None or target.offsets is not None:
            continue
        here = target.data < 0
        if here.any():
            _log.warning(
                "Column %r: %d of %d rows dropped, whose labels are not in classes: %s.",
                column,
                here.sum(),
                len(df),
                dict(Counter(map(plain, cells(df, column)[here])).most_common(5)),
            )
        kept &= ~here
    if kept.all():
        return Read(result, None)
    if not kept.any():
        raise DataFrameError(
            f"No row has a label that is in classes ({', '.join(map(repr, targets))}).",
            hint="Compare classes with the labels: str and int differ.",
        )
    return Read(result, kept)


def _target(
    df: pd.DataFrame, column: Any, mode: ClassMode, classes: Any, spec: FrameSpec
) -> Target:
    if mode == "raw":
        return _raw(numbers(df, column, "class_mode='raw'"))
    check_no_missing(df, column, DROP_MISSING)
    if mode == "multilabel":
        return from_cells(df, column, classes, spec)
    return _single(df, column, mode, classes, spec)


def _raw(values: npt.NDArray[Any]) -> Target:
    dtype = np.int64 if values.dtype.kind in "biu" else np.float32
    return Target("raw", values.astype(dtype), None)


def _single(
    df: pd.DataFrame, column: Any, mode: ClassMode, classes: Any, spec: FrameSpec
) -> Target:
    codes, unique = _factorize(df, column)
    encoder = encoder_for(df, column, classes, unique)
    if mode == "binary" and len(encoder) != 2:
        names = list(encoder.class_names[:10])
        raise DataFrameError(
            f"class_mode='binary' needs exactly two classes; column {column!r} has "
            f"{len(encoder)}: {names!r}.",
            column=str(column),
            hint="Use class_mode='categorical' or 'sparse'.",
        )
    values = encoder.codes(unique)[codes] if len(unique) else np.zeros(0, np.int32)
    if spec.unknown == "raise":
        check_known(f"Column {column!r}", encoder, values, codes, unique)
    if classes is None:
        warn_of_separators(column, encoder)
    return Target(mode, values, encoder)


def _factorize(df: pd.DataFrame, column: Any) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Give for each row the place of its label among the unique ones, and these."""
    series = df[column]
    if holds_lists(series):
        nested = [isinstance(cell, CELL_KINDS) or not isinstance(cell, Hashable) for cell in series]
        if any(nested):
            hint = "Cells with several labels need class_mode='multilabel'."
            what = "has {n} cells that are lists"
            raise bad_rows(df, column, np.flatnonzero(nested), what, hint)
    codes, unique = pd.factorize(series)
    return codes.astype(np.int64, copy=False), [plain(label) for label in unique]


def _from_columns(df: pd.DataFrame, columns: Sequence[str], spec: FrameSpec) -> Target:
    """Read a list of columns: numbers side by side, or one 0/1 column for each label."""
    if not columns:
        raise DataFrameError(f"y_col={columns!r} names no column.", hint="Name one or more.")
    names = [present(df, name, "y_col") for name in columns]
    if spec.class_mode == "raw":
        parts = [numbers(df, name, "class_mode='raw'") for name in names]
        return _raw(np.concatenate([part.reshape(len(df), -1) for part in parts], axis=1))
    if spec.class_mode != "multilabel":
        raise DataFrameError(
            f"y_col={names!r} names several columns, and class_mode={spec.class_mode!r} takes one.",
            hint="For 0/1 columns say class_mode='multilabel', for other numbers 'raw', and for "
            "several outputs a dict {column: mode}.",
        )
    return from_flags(df, replace(_ordered(names, spec.classes), multi=True))


def _ordered(names: list[str], classes: Any) -> LabelEncoder:
    if classes is None:
        return LabelEncoder(tuple(names))
    encoder = classes if isinstance(classes, LabelEncoder) else LabelEncoder(classes)
    if set(encoder.class_names) != set(names):
        raise DataFrameError(
            f"classes={list(encoder.class_names)!r} and y_col={names!r} differ.",
            hint="With a list of 0/1 columns the columns are the classes; classes orders them.",
        )
    return encoder

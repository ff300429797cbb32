"""Label columns -> encoded targets: every class mode."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.columns import (
    Y_NAMES,
    bad_rows,
    by_output,
    cells,
    check_no_missing,
    choose,
    numbers,
    present,
)
from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder, plain
from dfloader.spec import ClassMode, FrameSpec
from dfloader.table import Target

_MISSING = "Drop them with df.dropna(), or set class_mode=None."
_SEPARATORS = (",", "|", ";")
_CELL_KINDS = (list, tuple, set, frozenset, np.ndarray)
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
    check_no_missing(df, column, _MISSING)
    if mode == "multilabel":
        return _multilabel(df, column, classes, spec)
    return _single(df, column, mode, classes, spec)


def _raw(values: npt.NDArray[Any]) -> Target:
    dtype = np.int64 if values.dtype.kind in "biu" else np.float32
    return Target("raw", values.astype(dtype, copy=False), None)


def _single(
    df: pd.DataFrame, column: Any, mode: ClassMode, classes: Any, spec: FrameSpec
) -> Target:
    codes, unique = _factorize(df, column)
    encoder = _encoder(df, column, classes, unique)
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
        _check_known(f"Column {column!r}", encoder, values, codes, unique)
    if classes is None:
        _warn_of_separators(column, encoder)
    return Target(mode, values, encoder)


def _factorize(df: pd.DataFrame, column: Any) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Give for each row the place of its label among the unique ones, and these."""
    series = df[column]
    if series.dtype == object:
        nested = [isinstance(cell, _CELL_KINDS) for cell in series]
        if any(nested):
            hint = "Cells with several labels need class_mode='multilabel'."
            what = "has {n} cells that are lists"
            raise bad_rows(df, column, np.flatnonzero(nested), what, hint)
    codes, unique = pd.factorize(series)
    return codes.astype(np.int64, copy=False), [plain(label) for label in unique]


def _encoder(df: pd.DataFrame, column: Any, classes: Any, unique: Sequence[Any]) -> LabelEncoder:
    if isinstance(classes, LabelEncoder):
        return classes
    if classes is not None:
        return LabelEncoder(classes)
    if isinstance(df[column].dtype, pd.CategoricalDtype):
        return LabelEncoder(tuple(df[column].cat.categories))
    try:
        return LabelEncoder.fit(unique)
    except DataFrameError as error:
        raise DataFrameError(
            f"Column {column!r}: {error.message}", column=str(column), hint=error.hint
        ) from error


def _check_known(
    where: str,
    encoder: LabelEncoder,
    values: npt.NDArray[np.int32],
    codes: npt.NDArray[np.int64],
    unique: Sequence[Any],
) -> None:
    bad = np.flatnonzero(values < 0)
    if len(bad):
        times = np.bincount(codes[bad], minlength=len(unique))
        counts = {unique[i]: int(times[i]) for i in np.flatnonzero(times).tolist()}
        raise encoder.unknown(where, Counter(counts), bad.tolist())


def _warn_of_separators(column: Any, encoder: LabelEncoder) -> None:
    """Say so where "a,b" is a class beside "a" and "b"."""
    names = set(encoder.class_names)
    for separator in _SEPARATORS:
        joined = [
            name
            for name in encoder.class_names
            if isinstance(name, str)
            and separator in name
            and names.issuperset(part.strip() for part in name.split(separator))
        ]
        if joined:
            _log.warning(
                "Column %r: %r is taken as one class, though its parts are classes too. "
                "For several labels in a cell say class_mode='multilabel', label_sep=%r.",
                column,
                joined[0],
                separator,
            )


def _multilabel(df: pd.DataFrame, column: Any, classes: Any, spec: FrameSpec) -> Target:
    labels, offsets = _cell_labels(df, column, spec.label_sep)
    unique: dict[Any, int] = {}
    codes = np.array([unique.setdefault(label, len(unique)) for label in labels], np.int64)
    encoder = _encoder(df, column, classes, list(unique))
    values = encoder.codes(unique)[codes] if unique else np.zeros(0, np.int32)
    if (values < 0).any():
        if spec.unknown == "raise":
            raise _unknown_in_cells(column, encoder, labels, values, offsets)
        values, offsets = _without_unknown(column, values, offsets)
    return Target("multilabel", values, encoder, offsets)


def _cell_labels(
    df: pd.DataFrame, column: Any, separator: str | None
) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Give all labels end to end, and where each row's begin."""
    labels: list[Any] = []
    offsets = np.zeros(len(df) + 1, np.int64)
    for row, cell in enumerate(cells(df, column)):
        labels += _labels_of(cell, separator)
        offsets[row + 1] = len(labels)
    bad = [i for i, label in enumerate(labels) if label is None or label != label]
    if bad:
        rows = np.unique(np.searchsorted(offsets, bad, side="right") - 1)
        raise bad_rows(df, column, rows, "has a missing value inside {n} cells", _MISSING)
    return labels, offsets


def _labels_of(cell: Any, separator: str | None) -> list[Any]:
    if isinstance(cell, str) and separator is not None:
        return [part.strip() for part in cell.split(separator) if part.strip()]
    if isinstance(cell, np.ndarray):
        return [plain(label) for label in cell.ravel()]
    if isinstance(cell, _CELL_KINDS):
        return [plain(label) for label in cell]
    return [plain(cell)]


def _unknown_in_cells(
    column: Any,
    encoder: LabelEncoder,
    labels: Sequence[Any],
    values: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
) -> DataFrameError:
    bad = np.flatnonzero(values < 0)
    rows = np.unique(np.searchsorted(offsets, bad, side="right") - 1)
    return encoder.unknown(
        f"Column {column!r}", Counter(labels[i] for i in bad.tolist()), rows.tolist()
    )


def _without_unknown(
    column: Any, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    known = values >= 0
    _log.warning(
        "Column %r: %d labels dropped from their cells, because they are not in classes.",
        column,
        (~known).sum(),
    )
    before = np.concatenate([[0], np.cumsum(known)])
    return values[known], before[offsets]


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
    return _from_flags(df, _ordered(names, spec.classes))


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


def _from_flags(df: pd.DataFrame, encoder: LabelEncoder) -> Target:
    flags = np.zeros((len(df), len(encoder)), bool)
    for i, name in enumerate(encoder.class_names):
        values = numbers(df, name, "class_mode='multilabel'")
        bad = np.flatnonzero((values != 0) & (values != 1))
        if len(bad):
            raise bad_rows(
                df, name, bad, "must be 0 or 1; {n} rows are not", "Use class_mode='raw'."
            )
        flags[:, i] = values
    rows, codes = np.nonzero(flags)
    offsets = np.searchsorted(rows, np.arange(len(df) + 1))
    return Target("multilabel", codes.astype(np.int32), encoder, offsets.astype(np.int64))

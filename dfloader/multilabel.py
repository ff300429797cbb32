"""Several labels a row: cells of lists or separated text, or 0/1 columns."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.classes import encoder_for
from dfloader.columns import CELL_KINDS, DROP_MISSING, bad_rows, cells, scalars
from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder, plain
from dfloader.spec import FrameSpec
from dfloader.table import Target

_log = logging.getLogger("dfloader")


def from_cells(df: pd.DataFrame, column: Any, classes: Any, spec: FrameSpec) -> Target:
    """Read a column whose cells hold several labels: lists, or text with `label_sep`."""
    labels, offsets = _cell_labels(df, column, spec.label_sep)
    unique: dict[Any, int] = {}
    codes = np.array([unique.setdefault(label, len(unique)) for label in labels], np.int64)
    encoder = replace(encoder_for(df, column, classes, list(unique)), multi=True)
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
    bad = [i for i, label in enumerate(labels) if not _is_label(label)]
    if bad:
        rows = np.unique(np.searchsorted(offsets, bad, side="right") - 1)
        what = "has a missing value, or a list in a list, inside {n} cells"
        raise bad_rows(df, column, rows, what, DROP_MISSING)
    return labels, offsets


def _is_label(label: Any) -> bool:
    return label.__hash__ is not None and not pd.isna(label)


def _labels_of(cell: Any, separator: str | None) -> list[Any]:
    if isinstance(cell, str) and separator is not None:
        return [part.strip() for part in cell.split(separator) if part.strip()]
    if isinstance(cell, np.ndarray):
        return [plain(label) for label in cell.ravel()]
    if isinstance(cell, CELL_KINDS):
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


def from_flags(df: pd.DataFrame, encoder: LabelEncoder) -> Target:
    """Read one 0/1 column for each class."""
    flags = np.zeros((len(df), len(encoder)), bool)
    for i, name in enumerate(encoder.class_names):
        values = scalars(df, name, "class_mode='multilabel'")
        bad = np.flatnonzero((values != 0) & (values != 1))
        if len(bad):
            raise bad_rows(
                df, name, bad, "must be 0 or 1; {n} rows are not", "Use class_mode='raw'."
            )
        flags[:, i] = values
    rows, codes = np.nonzero(flags)
    offsets = np.searchsorted(rows, np.arange(len(df) + 1))
    return Target("multilabel", codes.astype(np.int32), encoder, offsets.astype(np.int64))

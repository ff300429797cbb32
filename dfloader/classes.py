"""The classes of a label column: said, the categories of its type, or its sorted labels."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder

_SEPARATORS = (",", "|", ";")
_log = logging.getLogger("dfloader")


def encoder_for(df: pd.DataFrame, column: Any, classes: Any, unique: Sequence[Any]) -> LabelEncoder:
    """Give the encoder that was said, else that of a column's unique labels."""
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


def check_known(
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


def warn_of_separators(column: Any, encoder: LabelEncoder) -> None:
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

"""Frame -> Rows: the checks, filters and cuts of the original's constructor, in its order.

1. The parameters, against the whole frame; 2. rows whose file is missing go; 3. rows whose class
is not in ``classes`` go, and classes are numbered; 4. the subset is cut. So the classes depend on
which files exist, and are those of both subsets. The caller's frame is not modified.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.legacy.checks import WITHOUT_CLASSES, Columns, check_columns, values_of
from dfloader.legacy.files import image_files

SHOWN_FILES = 5

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """The rows an iterator serves, in frame order.

    Attributes:
        filenames: as the frame has them.
        class_indices: class to number; None for the modes without classes.
        classes: the number of each row's class, or a list of them; None as above.
        targets: what ``raw`` and ``multi_output`` serve, None else.
        weights: a number a row, or None.
    """

    filenames: list[str]
    class_indices: dict[str, int] | None
    classes: list[Any] | None
    targets: Any
    weights: npt.NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.filenames)


def read(
    frame: pd.DataFrame,
    columns: Columns,
    *,
    directory: str,
    validate: bool,
    split: tuple[float, float] | None,
    warn_about_cut: bool,
) -> Rows:
    """Read the frame.

    Args:
        split: which part of the rows, as fractions from and to.
        warn_about_cut: say so if the part's classes are not those of the rest.
    """
    check_columns(frame, columns)
    names = frame[columns.x].tolist()
    kept = _with_files(names, columns, directory) if validate else np.arange(len(names))
    labels: list[Any] = []
    names_of_classes: list[str] | None = None
    if columns.class_mode not in WITHOUT_CLASSES:
        kept, labels, names_of_classes = _with_classes(kept, values_of(frame[columns.y]), columns)
    part = _part(len(kept), split)
    if warn_about_cut and names_of_classes is not None:
        _compare_classes(labels, part)
    kept, labels = kept[part], labels[part]
    numbers = None if names_of_classes is None else {c: i for i, c in enumerate(names_of_classes)}
    return Rows(
        filenames=_take(names, kept),
        class_indices=numbers,
        classes=None if numbers is None else _numbers(labels, numbers),
        targets=_targets(frame, columns, kept),
        weights=_plain(frame[columns.weight])[kept] if columns.weight else None,
    )


def _with_files(names: list[str], columns: Columns, directory: str) -> Positions:
    if not names:
        # The original loses its columns on an empty frame and fails on the next one it needs.
        raise KeyError(columns.x if columns.class_mode in WITHOUT_CLASSES else columns.y)
    found = image_files(directory, names)
    missing = np.flatnonzero(~found)
    if len(missing):
        shown = ", ".join(repr(names[i]) for i in missing[:SHOWN_FILES])
        warnings.warn(
            f'Found {len(missing)} invalid image filename(s) in x_col="{columns.x}". These '
            f"filename(s) will be ignored. They are missing, or no image by their name: {shown}"
            f"{', ...' if len(missing) > SHOWN_FILES else '.'}",
            stacklevel=4,  # the caller of flow_from_dataframe
        )
    return np.flatnonzero(found)


def _with_classes(
    kept: Positions, labels: list[Any], columns: Columns
) -> tuple[Positions, list[Any], list[str]]:
    """Return the rows left, their labels, and the classes in order."""
    labels = _take(labels, kept)
    if not columns.classes:
        return kept, labels, sorted(_distinct(labels))
    classes = list(dict.fromkeys(columns.classes))
    labels = [_only(label, set(classes)) for label in labels]
    known = [i for i, label in enumerate(labels) if label is not None]
    return kept[known], [labels[i] for i in known], classes


def _distinct(labels: Sequence[Any]) -> set[Any]:
    if set(map(type, labels)) <= {str}:
        return set(labels)
    return {one for label in labels for one in ([label] if isinstance(label, str) else label)}


def _only(label: Any, classes: set[Any]) -> Any:
    """Keep the known part of a label; None if nothing is left."""
    if isinstance(label, str):
        return label if label in classes else None
    return [one for one in label if one in classes] or None


def _numbers(labels: Sequence[Any], numbers: dict[str, int]) -> list[Any]:
    if set(map(type, labels)) <= {str}:
        return list(map(numbers.__getitem__, labels))
    return [
        numbers[label] if isinstance(label, str) else [numbers[one] for one in label]
        for label in labels
    ]


def _take(values: list[Any], kept: Positions) -> list[Any]:
    """Pick by position; ``kept`` rises, so as many as there are values is all of them."""
    return values if len(kept) == len(values) else [values[i] for i in kept.tolist()]


def _part(n: int, split: tuple[float, float] | None) -> slice:
    return slice(None) if split is None else slice(int(split[0] * n), int(split[1] * n))


def _compare_classes(labels: list[Any], part: slice) -> None:
    inside, outside = _distinct(labels[part]), _distinct(labels[part.stop :])
    if inside != outside:
        only = [sorted(inside - outside)[:SHOWN_FILES], sorted(outside - inside)[:SHOWN_FILES]]
        warnings.warn(
            f"The validation cut takes the first {len(labels[part])} rows as they stand: classes "
            f"only in validation {only[0]}, only in training {only[1]}. Shuffle the frame first "
            "(dataframe.sample(frac=1, random_state=0)), or cut it with dfloader.split_dataframe.",
            stacklevel=4,  # the caller of flow_from_dataframe
        )


def _targets(frame: pd.DataFrame, columns: Columns, kept: Positions) -> Any:
    if columns.class_mode == "multi_output":
        return [np.array(_take(frame[name].tolist(), kept)) for name in columns.y]
    return _plain(frame[columns.y])[kept] if columns.class_mode == "raw" else None


def _plain(column: Any) -> npt.NDArray[Any]:
    """Return a column's values as NumPy holds them, also where pandas has an array of its own."""
    if isinstance(column, pd.DataFrame):
        plain = {name: _plain(column[name]) for name in column.columns}
        return np.asarray(pd.DataFrame(plain, index=column.index).to_numpy())
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    numbers = getattr(column.dtype, "numpy_dtype", np.dtype(object))
    if numbers.kind in "biuf" and column.isna().any():
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.to_numpy(dtype=numbers))

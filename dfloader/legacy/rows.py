"""Frame -> Rows: the checks, filters and cuts of the original's constructor, in its order.

1. The parameters, against the whole frame; 2. rows whose file is missing go; 3. rows whose class
is not in ``classes`` go, and classes are numbered; 4. the subset is cut. So the classes depend on
which files exist, and are those of both subsets. The caller's frame is not modified.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.legacy.checks import WITHOUT_CLASSES, Columns, check_columns
from dfloader.legacy.files import image_files
from dfloader.legacy.labels import Labels, labels_of
from dfloader.legacy.names import Names, names_of

SHOWN_FILES = 5

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """The rows an iterator serves, in frame order.

    Attributes:
        names: the file names, as the frame has them.
        class_indices: class to number; None for the modes without classes.
        classes: the number of each row's class, or a list of them; None as above.
        targets: what ``raw`` and ``multi_output`` serve, None else.
        weights: a number a row, or None.
    """

    names: Names
    class_indices: dict[str, int] | None
    classes: list[Any] | None
    targets: Any
    weights: npt.NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.names)


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
    names = names_of(frame[columns.x])
    kept = _with_files(names, columns, directory) if validate else np.arange(len(names))
    numbers, classes = None, None
    if columns.class_mode not in WITHOUT_CLASSES:
        kept, labels, order = _with_classes(kept, labels_of(frame[columns.y]), columns)
        part = _part(len(kept), split)
        if warn_about_cut:
            _compare_classes(labels, part)
        numbers = {name: number for number, name in enumerate(order)}
        classes = labels.take(part).numbered(numbers)
    kept = kept[_part(len(kept), split)]
    return Rows(
        names=names.take(kept),
        class_indices=numbers,
        classes=classes,
        targets=_targets(frame, columns, kept),
        weights=_plain(frame[columns.weight])[kept] if columns.weight else None,
    )


def _with_files(names: Names, columns: Columns, directory: str) -> Positions:
    if not len(names):
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
    kept: Positions, labels: Labels, columns: Columns
) -> tuple[Positions, Labels, list[str]]:
    """Return the rows left, their labels, and the classes in order."""
    if len(kept) < len(labels):
        labels = labels.take(kept)
    if not columns.classes:
        return kept, labels, sorted(labels.distinct())
    classes = list(dict.fromkeys(columns.classes))
    known, labels = labels.only(set(classes))
    return kept[known], labels, classes


def _part(n: int, split: tuple[float, float] | None) -> slice:
    return slice(None) if split is None else slice(int(split[0] * n), int(split[1] * n))


def _compare_classes(labels: Labels, part: slice) -> None:
    inside, outside = labels.take(part).distinct(), labels.take(slice(part.stop, None)).distinct()
    if inside != outside:
        only = [sorted(inside - outside)[:SHOWN_FILES], sorted(outside - inside)[:SHOWN_FILES]]
        warnings.warn(
            f"The validation cut takes the first {part.stop} rows as they stand: classes "
            f"only in validation {only[0]}, only in training {only[1]}. Shuffle the frame first "
            "(dataframe.sample(frac=1, random_state=0)), or cut it with dfloader.split_dataframe.",
            stacklevel=4,  # the caller of flow_from_dataframe
        )


def _targets(frame: pd.DataFrame, columns: Columns, kept: Positions) -> Any:
    if columns.class_mode == "multi_output":
        return [np.array(frame[name].iloc[kept].tolist()) for name in columns.y]
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

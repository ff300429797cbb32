"""The labels of rows: one text each, or for several classes a row lists of them."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

Positions = npt.NDArray[np.intp]


class Labels(Protocol):
    """What numbering the classes asks of labels."""

    def __len__(self) -> int: ...

    def take(self, rows: Any) -> "Labels":
        """Keep these rows: positions in order, or a slice."""

    def distinct(self) -> set[Any]:
        """Give the classes that the rows have."""

    def only(self, classes: set[Any]) -> tuple[Positions, "Labels"]:
        """Keep the rows with one of the classes, and of several labels those; say which rows."""

    def numbered(self, numbers: dict[Any, int]) -> list[Any]:
        """Give the class number of each row, or a list of them."""


def labels_of(column: "pd.Series[Any]") -> Labels:
    """Take the labels of a column that holds strings, lists or tuples."""
    holds_strings = isinstance(column.dtype, pd.StringDtype)
    if not holds_strings and set(map(type, values := column.tolist())) != {str}:
        return ListsOfLabels(values)
    codes, texts = pd.factorize(column)
    return OneLabelEach(codes, list(texts))


@dataclass(frozen=True)
class OneLabelEach:
    """Labels as numbers of distinct texts."""

    codes: Positions
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Any) -> Labels:
        return OneLabelEach(self.codes[rows], self.texts)

    def distinct(self) -> set[Any]:
        counts = np.bincount(self.codes, minlength=len(self.texts))
        return {self.texts[code] for code in np.flatnonzero(counts)}

    def only(self, classes: set[Any]) -> tuple[Positions, Labels]:
        known = np.array([text in classes for text in self.texts], np.bool_)
        rows = np.flatnonzero(known[self.codes])
        return rows, self.take(rows)

    def numbered(self, numbers: dict[Any, int]) -> list[Any]:
        number_of = np.array([numbers.get(text, -1) for text in self.texts], np.intp)
        classes: list[int] = number_of[self.codes].tolist()
        return classes


@dataclass(frozen=True)
class ListsOfLabels:
    """Labels as the frame has them: lists, tuples, and strings among them."""

    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Labels:
        if isinstance(rows, slice):
            return ListsOfLabels(self.values[rows])
        return ListsOfLabels([self.values[row] for row in rows.tolist()])

    def distinct(self) -> set[Any]:
        return {
            one for label in self.values for one in ([label] if isinstance(label, str) else label)
        }

    def only(self, classes: set[Any]) -> tuple[Positions, Labels]:
        known = [_only(label, classes) for label in self.values]
        rows = [row for row, label in enumerate(known) if label is not None]
        return np.array(rows, np.intp), ListsOfLabels([known[row] for row in rows])

    def numbered(self, numbers: dict[Any, int]) -> list[Any]:
        return [
            numbers[label] if isinstance(label, str) else [numbers[one] for one in label]
            for label in self.values
        ]


def _only(label: Any, classes: set[Any]) -> Any:
    """Keep the known part of a label; None if nothing is left."""
    if isinstance(label, str):
        return label if label in classes else None
    return [one for one in label if one in classes] or None

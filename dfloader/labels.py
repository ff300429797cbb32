"""Class names to numbers and back. Imports errors and NumPy."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.errors import DataFrameError

_SHOWN = 5


@dataclass(frozen=True)
class LabelEncoder:
    """The classes in order; the number of a class is its place.

    Example:
        >>> encoder = LabelEncoder.fit(["dog", "cat", "dog"])
        >>> encoder.class_indices
        {'cat': 0, 'dog': 1}
        >>> encoder.transform(["dog", "cat"]).tolist()
        [1, 0]
        >>> encoder.inverse_transform([1, 0])
        ['dog', 'cat']
    """

    class_names: tuple[Any, ...]

    def __post_init__(self) -> None:
        repeated = [name for name, times in Counter(self.class_names).items() if times > 1]
        if repeated:
            raise DataFrameError(
                f"classes names {repeated[0]!r} more than once.", hint="Name each class once."
            )

    @classmethod
    def fit(cls, labels: Iterable[Any]) -> "LabelEncoder":
        """Learn the sorted unique labels: numbers in numeric order, the rest in text order."""
        unique = {_plain(label) for label in labels}
        numeric = all(isinstance(label, (int, float)) for label in unique)
        return cls(tuple(sorted(unique) if numeric else sorted(unique, key=str)))

    @cached_property
    def class_indices(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self.class_names)}

    def __len__(self) -> int:
        return len(self.class_names)

    def transform(self, labels: Sequence[Any], *, column: str = "class") -> npt.NDArray[np.int32]:
        """Give the number of each label, int32 (n,).

        Raises:
            DataFrameError: a label is none of the classes; lists labels and counts.
        """
        known = self.class_indices
        codes = [known.get(_plain(label), -1) for label in labels]
        out = np.array(codes, np.int32)
        if (out < 0).any():
            raise self._unknown(labels, np.flatnonzero(out < 0), column)
        return out

    def inverse_transform(self, codes: Iterable[int]) -> list[Any]:
        """Give the class name of each number."""
        return [self.class_names[int(code)] for code in codes]

    def to_json(self) -> str:
        """Write the classes down; `from_json` reads them back."""
        return json.dumps({"class_names": list(self.class_names)})

    @classmethod
    def from_json(cls, text: str) -> "LabelEncoder":
        return cls(tuple(json.loads(text)["class_names"]))

    def _unknown(
        self, labels: Sequence[Any], bad: npt.NDArray[np.int64], column: str
    ) -> DataFrameError:
        counts = Counter(_plain(labels[int(i)]) for i in bad).most_common(_SHOWN)
        listed = ", ".join(f"{label!r} ({count} rows)" for label, count in counts)
        return DataFrameError(
            f"Column {column!r} has labels that are not in classes={list(self.class_names)!r}: "
            f"{listed}.",
            column=column,
            rows=[int(i) for i in bad[:_SHOWN]],
            hint="Add them to classes, or take those rows out of the frame.",
        )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label

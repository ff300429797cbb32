"""Class names to numbers and back. Imports errors and NumPy."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.errors import DataFrameError

_SHOWN = 5
_JSON_TYPES = (str, int, float, bool)


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
        >>> LabelEncoder.from_json(encoder.to_json()) == encoder
        True
    """

    class_names: tuple[Any, ...]

    def __post_init__(self) -> None:
        if isinstance(self.class_names, str) or not isinstance(self.class_names, Iterable):
            raise DataFrameError(
                f"classes={self.class_names!r} is not a list of labels.",
                hint="Give the labels in order, as classes=['cat', 'dog'].",
            )
        names = tuple(plain(name) for name in self.class_names)
        object.__setattr__(self, "class_names", names)
        for name in names:
            _check_label(name)
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise DataFrameError(
                f"classes names {repeated[0]!r} more than once.", hint="Name each class once."
            )

    @classmethod
    def fit(cls, labels: Iterable[Any]) -> "LabelEncoder":
        """Learn the sorted unique labels: numbers in numeric order, text in text order.

        Raises:
            DataFrameError: a label is missing, or labels are of kinds that have no common order.
        """
        plain_labels = [plain(label) for label in labels]
        for label in plain_labels:
            _check_label(label)
        unique = set(plain_labels)
        kinds = sorted({_kind(label) for label in plain_labels})
        if len(kinds) > 1:
            raise DataFrameError(
                f"Labels are of several kinds: {', '.join(kinds)}.",
                hint="Make them one, for example with df[column].astype(str).",
            )
        return cls(tuple(sorted(unique)))

    @cached_property
    def class_indices(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self.class_names)}

    def __len__(self) -> int:
        return len(self.class_names)

    def codes(self, labels: Iterable[Any]) -> npt.NDArray[np.int32]:
        """Give the number of each label, int32 (n,); -1 for one that is none of the classes."""
        known = self.class_indices
        return np.array([known.get(plain(label), -1) for label in labels], np.int32)

    def transform(self, labels: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Give the number of each label, int32 (n,).

        Raises:
            DataFrameError: a label is none of the classes; lists labels and counts.
        """
        codes = self.codes(labels)
        bad = np.flatnonzero(codes < 0).tolist()
        if bad:
            counts = Counter(
                plain(label) for label, code in zip(labels, codes, strict=True) if code < 0
            )
            raise self.unknown("The labels", counts, bad)
        return codes

    def inverse_transform(self, codes: Any) -> list[Any]:
        """Give the class name of each number.

        Args:
            codes: numbers (n,); or one-hot, multi-hot or probabilities (n, classes), of which the
                largest counts: use `names_of` for several labels a row.

        Raises:
            DataFrameError: a number is none of a class.
        """
        values = np.asarray(codes)
        if values.ndim == 2:
            self._check_width(values)
            values = values.argmax(axis=1)
        return [self._name(code) for code in values.tolist()]

    def names_of(self, multi_hot: Any, *, threshold: float = 0.5) -> list[tuple[Any, ...]]:
        """Give the class names of each row of multi-hot values or probabilities (n, classes)."""
        values = np.asarray(multi_hot)
        self._check_width(values)
        return [
            tuple(self.class_names[i] for i in np.flatnonzero(row > threshold)) for row in values
        ]

    def to_json(self) -> str:
        """Write the classes down; `from_json` reads them back.

        Raises:
            DataFrameError: a class is neither text, a number nor a boolean.
        """
        for name in self.class_names:
            if not isinstance(name, _JSON_TYPES):
                raise DataFrameError(
                    f"Class {name!r} is a {type(name).__name__}, which JSON does not have.",
                    hint="Make the labels text with df[column].astype(str).",
                )
        return json.dumps({"class_names": list(self.class_names)})

    @classmethod
    def from_json(cls, text: str) -> "LabelEncoder":
        return cls(tuple(json.loads(text)["class_names"]))

    def unknown(self, where: str, counts: "Counter[Any]", rows: Sequence[int]) -> DataFrameError:
        """Say which labels are none of the classes.

        Args:
            where: what holds them, as "Column 'class'".
            counts: how often each occurs.
            rows: positions, at least the first five.
        """
        shown = ", ".join(f"{label!r} ({n} rows)" for label, n in counts.most_common(_SHOWN))
        more = f" and {len(counts) - _SHOWN} more labels" if len(counts) > _SHOWN else ""
        return DataFrameError(
            f"{where}: labels that are not in classes={_brief(self.class_names)}: {shown}{more}.",
            rows=rows[:_SHOWN],
            hint="Add them to classes, take those rows out, or set unknown='drop'.",
        )

    def _name(self, code: Any) -> Any:
        if code != int(code) or not 0 <= code < len(self):
            raise DataFrameError(f"{code!r} is not the number of a class; there are {len(self)}.")
        return self.class_names[int(code)]

    def _check_width(self, values: npt.NDArray[Any]) -> None:
        if values.ndim != 2 or values.shape[1] != len(self):
            raise DataFrameError(
                f"An array {values.shape} does not have a column for each of {len(self)} classes."
            )


def each_encoder(
    encoder: "LabelEncoder | dict[str, LabelEncoder] | None", get: Callable[[LabelEncoder], Any]
) -> Any:
    """Apply `get` to the one encoder or to each; None gives None."""
    if isinstance(encoder, dict):
        return {name: get(each) for name, each in encoder.items()}
    return None if encoder is None else get(encoder)


def plain(label: Any) -> Any:
    """Turn NumPy's scalars into Python's."""
    return label.item() if isinstance(label, np.generic) else label


def _brief(names: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"[{shown}{f', ... {len(names)} in all' if len(names) > 10 else ''}]"


def _check_label(label: Any) -> None:
    try:
        hash(label)
    except TypeError:
        raise DataFrameError(
            f"Label {label!r} is a {type(label).__name__}.",
            hint="Cells with several labels need class_mode='multilabel'.",
        ) from None
    if label is None or label != label:
        raise DataFrameError(f"Label {label!r} is a missing value.", hint="Drop those rows.")


def _kind(label: Any) -> str:
    """Name what a label is among: labels of one kind can be sorted."""
    if isinstance(label, bool):
        return "bool"
    return "number" if isinstance(label, (int, float)) else type(label).__name__

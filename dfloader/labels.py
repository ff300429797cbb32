"""Class names to numbers and back. Imports errors and NumPy."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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

    Attributes:
        class_names: the classes; given as a dict, they are ordered by its numbers.
        multi: a row has several labels, and its encoding is multi-hot.

    Examples:
        >>> encoder = LabelEncoder.fit(["dog", "cat", "dog"])
        >>> encoder.class_indices
        {'cat': 0, 'dog': 1}
        >>> encoder.transform(["dog", "cat"]).tolist()
        [1, 0]
        >>> encoder.inverse_transform([1, 0])
        ['dog', 'cat']
        >>> LabelEncoder.from_json(encoder.to_json()) == encoder
        True
        >>> LabelEncoder(("sea", "sand"), multi=True).transform([["sea"], []]).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """

    class_names: tuple[Any, ...]
    multi: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.class_names, str) or not isinstance(self.class_names, Iterable):
            raise DataFrameError(
                f"classes={self.class_names!r} is not a list of labels.",
                hint="Give the labels in order, as classes=['cat', 'dog'].",
            )
        given = self.class_names
        ordered = _by_number(given) if isinstance(given, Mapping) else given
        names = tuple(plain(name) for name in ordered)
        object.__setattr__(self, "class_names", names)
        for name in names:
            _check_label(name)
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise DataFrameError(
                f"classes names {repeated[0]!r} more than once.", hint="Name each class once."
            )

    @classmethod
    def fit(cls, labels: Iterable[Any], *, multi: bool = False) -> "LabelEncoder":
        """Learn the sorted unique labels: numbers in numeric order, text in text order.

        Raises:
            DataFrameError: a label is missing, or labels are of kinds that have no common order.
        """
        flat = itertools.chain.from_iterable(labels) if multi else labels
        plain_labels = [plain(label) for label in flat]
        for label in plain_labels:
            _check_label(label)
        kinds = sorted({_kind(label) for label in plain_labels})
        if len(kinds) > 1:
            raise DataFrameError(
                f"Labels are of several kinds: {', '.join(kinds)}.",
                hint="Make them one, for example with df[column].astype(str).",
            )
        try:
            return cls(tuple(sorted(set(plain_labels))), multi)
        except TypeError as error:
            raise DataFrameError(
                f"Labels of type {kinds[0]} have no order.", hint="Give them one with classes=."
            ) from error

    @cached_property
    def class_indices(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self.class_names)}

    def __len__(self) -> int:
        return len(self.class_names)

    def codes(self, labels: Iterable[Any]) -> npt.NDArray[np.int32]:
        """Give the number of each label, int32 (n,); -1 for one that is none of the classes."""
        known = self.class_indices
        return np.array([known.get(plain(label), -1) for label in labels], np.int32)

    def transform(self, labels: Sequence[Any]) -> npt.NDArray[Any]:
        """Give the number of each label, int32 (n,); or multi-hot float32 (n, classes).

        Args:
            labels: one a row; if `multi`, a list of them a row.

        Raises:
            DataFrameError: a label is none of the classes; lists labels and counts.
        """
        cells = labels if self.multi else [[label] for label in labels]
        rows = [row for row, cell in enumerate(cells) for _ in cell]
        flat = [plain(label) for cell in cells for label in cell]
        codes = self.codes(flat)
        if (codes < 0).any():
            bad = np.flatnonzero(codes < 0).tolist()
            counts = Counter(flat[i] for i in bad)
            raise self.unknown("The labels", counts, sorted({rows[i] for i in bad}))
        if not self.multi:
            return codes
        out = np.zeros((len(cells), len(self)), np.float32)
        out[rows, codes] = 1
        return out

    def inverse_transform(self, encoded: Any) -> list[Any]:
        """Give the class name of each row; if `multi`, a tuple of them.

        Args:
            encoded: numbers (n,); or one-hot or probabilities (n, classes), of which the largest
                counts; if `multi`, multi-hot or probabilities, of which those above 0.5 count.

        Raises:
            DataFrameError: a number is none of a class, or the columns are not the classes.
        """
        values = np.asarray(encoded)
        if self.multi or values.ndim > 1:
            self._check_width(values)
        if self.multi:
            return [tuple(self._names(np.flatnonzero(row > 0.5))) for row in values]
        return self._names(values.argmax(axis=1) if values.ndim > 1 else values)

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
        return json.dumps({"class_names": list(self.class_names), "multi": self.multi})

    @classmethod
    def from_json(cls, text: str) -> "LabelEncoder":
        said = json.loads(text)
        return cls(tuple(said["class_names"]), said["multi"])

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

    def _names(self, codes: npt.NDArray[Any]) -> list[Any]:
        bad = (codes < 0) | (codes >= len(self)) | (codes != np.floor(codes))
        if bad.any():
            raise DataFrameError(
                f"{codes[bad][0]!r} is not the number of a class; there are {len(self)}.",
                rows=np.flatnonzero(bad)[:_SHOWN].tolist(),
            )
        return [self.class_names[int(code)] for code in codes]

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


def _by_number(class_indices: Mapping[Any, Any]) -> list[Any]:
    """Order the names of a dict {name: number}, as `class_indices` is, by number."""
    if sorted(class_indices.values(), key=repr) != sorted(range(len(class_indices)), key=repr):
        raise DataFrameError(
            f"classes={dict(class_indices)!r} does not number its names 0, 1, 2, ...",
            hint="Give the labels in order, or another loader's class_indices.",
        )
    return sorted(class_indices, key=lambda name: class_indices[name])


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
    if label is None or (label == label) is not True:  # NaN, NaT and NA equal not even themselves
        raise DataFrameError(f"Label {label!r} is a missing value.", hint="Drop those rows.")


def _kind(label: Any) -> str:
    """Name what a label is among: labels of one kind can be sorted."""
    if isinstance(label, bool):
        return "bool"
    return "number" if isinstance(label, (int, float)) else type(label).__name__

"""What a folder of records holds: the schema, and a table's columns as flat named arrays.

Imports table and below. One vocabulary for the writer, both readers and the check:

1. A record is an Example with the features ``row`` (position in the frame), ``image`` (encoded
   bytes), ``path`` and ``mask`` where there are any, ``y``, ``w`` and ``extra/NAME``; with several
   outputs ``y/NAME`` and ``w/NAME``.
2. ``y`` holds what `Target.data` holds: class numbers, in the order of the schema's classes, or the
   raw numbers.
3. A folder is complete when it has ``schema.json``, which is written last.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder
from dfloader.spec import ClassMode, FrameSpec, check_keywords, known_keywords
from dfloader.table import Table, Target

SCHEMA_NAME = "schema.json"
SHARD_PATTERN = "*-of-*.tfrecord"
FORMAT = "dfloader records"
VERSION = 1
# Keywords that the records answer from then on. Chances and failures belong to reading.
WRITING = tuple(f.name for f in fields(FrameSpec) if f.name not in ("sampler", "on_error"))


@dataclass(frozen=True, eq=False)
class Column:
    """One column of numbers.

    Attributes:
        data: (n, ...); or the rows' lists end to end.
        offsets: int64 (n + 1,) where the rows are lists: row i has
            ``data[offsets[i]:offsets[i + 1]]``; else None.
    """

    data: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.data if self.offsets is None else self.offsets[1:])

    def __getitem__(self, i: int) -> npt.NDArray[Any]:
        """Give row `i`, flattened."""
        if self.offsets is None:
            return self.data[i : i + 1].ravel()
        return self.data[self.offsets[i] : self.offsets[i + 1]]

    def take(self, rows: npt.NDArray[np.int64]) -> "Column":
        """Give the column of `rows`; -1 stands for a row of 0, or of an empty list."""
        if self.offsets is None:
            shape = (-1, *[1] * (self.data.ndim - 1))
            return Column(self.data[rows] * (rows >= 0).reshape(shape).astype(self.data.dtype))
        lengths = np.where(rows < 0, 0, np.diff(self.offsets)[rows])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Column(self.data[places], offsets)

    def feature(self) -> "Feature":
        dtype = "float32" if self.data.dtype.kind == "f" else "int64"
        return Feature(dtype, None if self.offsets is not None else self.data.shape[1:])


def end_to_end(parts: list[Column]) -> Column:
    """Join columns of one kind."""
    data = np.concatenate([part.data for part in parts])
    if parts[0].offsets is None:
        return Column(data)
    lengths = np.concatenate([np.diff(part.offsets) for part in parts if part.offsets is not None])
    return Column(data, np.concatenate([[0], np.cumsum(lengths)]))


@dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
        dtype: int64, float32 or bytes.
        shape: of a row's value; None: a list of any length.
    """

    dtype: str
    shape: tuple[int, ...] | None = ()


@dataclass(frozen=True)
class Output:
    """How a feature becomes y: as `Target`, without the data."""

    mode: ClassMode
    class_names: tuple[Any, ...] | None

    def target(self, column: Column) -> Target:
        encoder = None if self.class_names is None else LabelEncoder(self.class_names)
        data = column.data if encoder is None else column.data.astype(np.int32, copy=False)
        return Target(self.mode, data, encoder, column.offsets)


@dataclass(frozen=True)
class ShardInfo:
    """A written shard: its file's name, records, size and CRC-32C, as object stores give it."""

    name: str
    rows: int
    bytes: int
    crc32c: int


@dataclass(frozen=True)
class Schema:
    """What a folder of records holds.

    Attributes:
        features: of a record, by name.
        outputs: for each feature that is a target, how it becomes y.
        y_is_x: as `Table.y_is_x`.
        x_col: the frame's column of images, for messages.
        frame_rows: rows of the frame, those not kept included.
        max_side: as said when writing.
        key: tells frames and specs apart.
        shards: in the order of the frame.
    """

    features: Mapping[str, Feature]
    outputs: Mapping[str, Output]
    y_is_x: bool
    x_col: str
    frame_rows: int
    max_side: int | None
    key: str
    shards: tuple[ShardInfo, ...] = ()

    @property
    def rows(self) -> int:
        return sum(shard.rows for shard in self.shards)

    def to_json(self) -> str:
        said = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(said, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        said = json.loads(text)
        if said.pop("format", None) != FORMAT or said.pop("version") != VERSION:
            raise DataFrameError("This is not a schema that this version of dfloader wrote.")
        features = {name: _feature(**each) for name, each in said.pop("features").items()}
        outputs = {name: _output(**each) for name, each in said.pop("outputs").items()}
        shards = tuple(ShardInfo(**each) for each in said.pop("shards"))
        return cls(features=features, outputs=outputs, shards=shards, **said)


def check_writing(keywords: Iterable[str]) -> None:
    """Raise TypeError for a keyword that is unknown, or that belongs to reading."""
    check_keywords(keywords, known_keywords())
    for name in keywords:
        if name not in WRITING:
            raise TypeError(f"{name} is said when reading the records, not when writing them.")


def check_reading(keywords: Mapping[str, Any]) -> None:
    """Raise TypeError for a keyword that the schema answers."""
    for name, value in keywords.items():
        if name in WRITING:
            raise TypeError(f"{name}={value!r}: the records' schema says this. Leave it out.")


def read_schema(folder: Path) -> Schema:
    """Read the schema of a complete folder.

    Raises:
        DataFrameError: it has none.
    """
    path = folder / SCHEMA_NAME
    if not path.is_file():
        raise DataFrameError(
            f"{str(folder)!r} has no {SCHEMA_NAME}: it holds no records, or writing them was "
            "interrupted.",
            path=str(path),
            hint="Call write_tfrecords again: it goes on with what is missing.",
        )
    return Schema.from_json(path.read_text("utf-8"))


def other_frame(path: Path) -> DataFrameError:
    """Make the error of records that are not of this frame and spec."""
    return DataFrameError(
        f"{str(path)!r} holds records of another frame, or written with other keywords.",
        path=str(path),
        hint="Choose another folder, or delete this one.",
    )


def columns_of(table: Table) -> dict[str, Column]:
    """Give the numbers of a table's kept rows by feature."""
    rows = np.arange(len(table)) if table.kept is None else table.kept
    columns = {
        **_named("y", table.target, lambda target: Column(target.data, target.offsets)),
        **_named("w", table.weights, Column),
        **{f"extra/{name}": Column(values) for name, values in (table.extra or {}).items()},
    }
    taken = {name: column.take(rows) for name, column in columns.items()}
    return {"row": Column(rows.astype(np.int64)), **taken}


def outputs_of(table: Table) -> dict[str, Output]:
    """Give the targets of a table by feature, without their data.

    Raises:
        DataFrameError: a class is neither text, a number nor a boolean.
    """
    return _named("y", table.target, lambda target: Output(target.mode, _classes(target.encoder)))


def tree(prefix: str, values: Mapping[str, Any]) -> Any:
    """Undo the naming of features: the one value, a dict of those ``prefix/NAME``, or None."""
    if prefix in values:
        return values[prefix]
    start = f"{prefix}/"
    found = {name.removeprefix(start): v for name, v in values.items() if name.startswith(start)}
    return found or None


def _named(prefix: str, values: Any, function: Any) -> dict[str, Any]:
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return {f"{prefix}/{name}": function(value) for name, value in values.items()}
    return {prefix: function(values)}


def _classes(encoder: LabelEncoder | None) -> tuple[Any, ...] | None:
    return None if encoder is None else LabelEncoder.from_json(encoder.to_json()).class_names


def _feature(dtype: str, shape: list[int] | None) -> Feature:
    return Feature(dtype, None if shape is None else tuple(shape))


def _output(mode: ClassMode, class_names: list[Any] | None) -> Output:
    return Output(mode, None if class_names is None else tuple(class_names))

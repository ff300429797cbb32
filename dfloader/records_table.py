"""A folder of records as a table, for random access; no TensorFlow, and the frame is not read."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.errors import DataFrameError
from dfloader.packed import pack
from dfloader.ranges import Ranges
from dfloader.records_schema import Column, Schema, end_to_end, read_schema, tree
from dfloader.records_shard import Index, read_index
from dfloader.source import Source
from dfloader.table import Table

Rows = npt.NDArray[np.int64]


def read_table(folder: str | os.PathLike[str]) -> Table:
    """Read the table that records were written from; its images are read from the shards.

    Raises:
        DataFrameError: the folder is not complete, or its files do not belong together.
    """
    path = Path(folder).absolute()
    schema = read_schema(path)
    paths = [path / shard.name for shard in schema.shards]
    indexes = [_index(path, schema) for path in paths]
    columns = {
        name: end_to_end([index.columns[name] for index in indexes]) for name in indexes[0].columns
    }
    rows = columns["row"].data
    sources = {
        name: Source("encoded", _ranges(paths, indexes, name, rows, schema.frame_rows), column)
        for name, column in (("image", schema.x_col), ("mask", "mask"))
        if name in schema.features
    }
    return _table(schema, columns, sources)


def _index(path: Path, schema: Schema) -> Index:
    index = read_index(path)
    if index.key != schema.key:
        raise DataFrameError(
            f"{str(path)!r} does not belong to its schema: it was written from another frame.",
            path=str(path),
            hint="Write the records again into an empty folder.",
        )
    return index


def _ranges(
    paths: Sequence[Path], indexes: Sequence[Index], name: str, rows: Rows, frame_rows: int
) -> Ranges:
    """Say where each row's content lies; rows that were not kept have none."""
    places = np.concatenate([index.places[name] for index in indexes])
    file = np.full(frame_rows, -1, np.int32)
    file[rows] = np.repeat(np.arange(len(paths)), [index.info.rows for index in indexes])
    start, length, crc = np.zeros((3, frame_rows), np.int64)
    start[rows], length[rows], crc[rows] = places.T
    files = pack(os.fsencode(path) for path in paths)
    return Ranges(files, file, start, length, crc.astype(np.uint32))


def _table(schema: Schema, columns: Mapping[str, Column], sources: Mapping[str, Source]) -> Table:
    rows = columns["row"].data
    whole = len(rows) == schema.frame_rows
    if not whole:
        places = np.full(schema.frame_rows, -1)
        places[rows] = np.arange(len(rows))
        columns = {name: column.take(places) for name, column in columns.items()}
    targets = {name: out.target(columns[name]) for name, out in schema.outputs.items()}
    numbers: dict[str, npt.NDArray[Any]] = {n: column.data for n, column in columns.items()}
    return Table(
        sources["image"],
        tree("y", targets),
        y_is_x=schema.y_is_x,
        masks=sources.get("mask"),
        weights=tree("w", numbers),
        extra=tree("extra", numbers),
        kept=None if whole else rows,
    )

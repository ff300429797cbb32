"""`write_tfrecords`: a frame as TFRecord shards, made in parallel; safe to interrupt and repeat."""

import hashlib
import logging
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PosixPath, WindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dfloader.columns import to_pandas
from dfloader.frame import resolve
from dfloader.packed import pack
from dfloader.processes import hidden_main
from dfloader.records_schema import (
    SCHEMA_NAME,
    SHARD_PATTERN,
    Column,
    Feature,
    Schema,
    ShardInfo,
    check_writing,
    columns_of,
    other_frame,
    outputs_of,
    read_schema,
)
from dfloader.records_shard import Shard, beside, read_index, write_shard
from dfloader.source import Source, is_address
from dfloader.spec import FrameSpec
from dfloader.table import Table

FRAME_NAME = "frame.parquet"

# TensorFlow's guide asks for 100 MB and more a file, so that reading is sequential.
_SHARD_BYTES = 128 * 2**20
_SAMPLED_ROWS = 256
# Shards handed to the executor and not yet done: keeps a few hundred workers busy.
_IN_FLIGHT = 256

_Submit = Callable[[Shard], "Future[ShardInfo]"]

_log = logging.getLogger("dfloader")


def write_tfrecords(
    df: Any,
    folder: str | os.PathLike[str],
    *,
    shards: int | None = None,
    max_side: int | None = None,
    executor: Executor | None = None,
    progress: bool = True,
    **spec: Any,
) -> Path:
    """Write a frame as TFRecord shards, with a schema and the frame itself beside them.

    The encoded images are stored byte for byte. Called again after an interruption, it writes the
    shards that are missing.

    Args:
        df: the frame.
        folder: where to; made if it is not there.
        shards: how many files; None: as many as make about 128 MiB each.
        max_side: make larger images this long, keeping their aspect; None: leave them alone.
        executor: runs `write_shard`; None: a process for each core.
        progress: show a bar, where there is a terminal.
        **spec: the common keywords about columns and labels. All others are said when reading.

    Returns:
        The folder.

    Raises:
        DataFrameError: the frame is wrong, or the folder holds another frame's records.
        DecodeError: an image cannot be read; names row and path.

    Examples:
        >>> import pandas as pd, tempfile
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = write_tfrecords(df, folder, shards=2, directory="sample_data")
        ...     sorted(path.suffix for path in written.iterdir())
        ['.json', '.npz', '.npz', '.parquet', '.tfrecord', '.tfrecord']
    """
    check_writing(spec)
    for name, value in (("shards", shards), ("max_side", max_side)):
        _check_count(name, value)
    table = resolve(df, FrameSpec(**spec))
    columns = columns_of(table)
    folder = Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    count = min(shards or _begun(folder) or _fitting(table), len(columns["row"]))
    schema = _schema(table, columns, count, max_side)
    _check_same(folder, schema.key)
    with beside(folder / FRAME_NAME) as file:
        _storable(to_pandas(df), table).to_parquet(file)
    infos = _write_all(_shards(folder, table, columns, schema, count), count, executor, progress)
    with beside(folder / SCHEMA_NAME) as file:
        file.write(replace(schema, shards=infos).to_json().encode())
    for left in folder.glob(".*.tmp"):  # of a writer that was killed
        left.unlink()
    return folder


def _check_count(name: str, value: Any) -> None:
    if value is not None and (not hasattr(value, "__index__") or value < 1):
        raise ValueError(f"{name}={value!r} is not a positive whole number.")


def _begun(folder: Path) -> int | None:
    """Give the number of shards that an interrupted writer had chosen."""
    path = next(folder.glob(SHARD_PATTERN), None)
    return None if path is None else int(path.stem.rpartition("-")[2])


def _fitting(table: Table) -> int:
    """Choose the number of shards from the sizes of some images."""
    rows = np.arange(len(table)) if table.kept is None else table.kept
    sample = rows[:: max(1, len(rows) // _SAMPLED_ROWS)].tolist()
    sources = [source for source in (table.images, table.masks) if source is not None]
    mean = np.mean([sum(_size(source, row) for source in sources) for row in sample])
    return max(1, round(float(mean) * len(rows) / _SHARD_BYTES))


def _size(source: Source, row: int) -> int:
    try:
        return len(source.read(row))
    except OSError:  # the shard that meets it says which row and file it is
        return 0


def _schema(
    table: Table, columns: Mapping[str, Column], count: int, max_side: int | None
) -> Schema:
    contents = {"image": table.images, "mask": table.masks}
    features = {name: Feature("bytes") for name, source in contents.items() if source is not None}
    if table.images.kind == "path":
        features["path"] = Feature("bytes")
    features |= {name: column.feature() for name, column in columns.items()}
    schema = Schema(
        features, outputs_of(table), table.y_is_x, table.images.column, len(table), max_side, ""
    )
    return replace(schema, key=_key(schema, count, table, columns))


def _key(schema: Schema, count: int, table: Table, columns: Mapping[str, Column]) -> str:
    """Hash all that the records depend on, except what is in the files."""
    digest = hashlib.sha256(f"{count} {schema.to_json()}".encode())
    for name, column in columns.items():
        digest.update(name.encode())
        for array in (column.data, column.offsets):
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
    for source in (table.images, table.masks):
        if source is not None:
            digest.update(source.loader_identity)
            for content in map(source.__getitem__, columns["row"].data.tolist()):
                digest.update(b"%d " % len(content) + content)
    return digest.hexdigest()


def _check_same(folder: Path, key: str) -> None:
    if (folder / SCHEMA_NAME).exists():
        there = read_schema(folder).key
    else:
        path = next(folder.glob(SHARD_PATTERN), None)
        there = key if path is None else read_index(path).key
    if there != key:
        raise other_frame(folder)


def _shards(
    folder: Path, table: Table, columns: Mapping[str, Column], schema: Schema, count: int
) -> Iterator[Shard]:
    """Make the shards one by one, because each holds a copy of what it needs."""
    for i, places in enumerate(np.array_split(np.arange(len(columns["row"])), count)):
        rows = columns["row"].data[places]
        yield Shard(
            str(folder / f"{i:05}-of-{count:05}.tfrecord"),
            _part(table.images, rows),
            None if table.masks is None else _part(table.masks, rows),
            {name: column.take(places) for name, column in columns.items()},
            schema.max_side,
            schema.key,
        )


def _part(source: Source, rows: npt.NDArray[np.int64]) -> Source:
    """Cut rows out; paths become absolute, because a worker may run in another folder."""
    values = source.take(rows).tolist()
    if source.kind == "path":
        here = os.fsencode(Path.cwd())
        values = [path if is_address(path) else os.path.join(here, path) for path in values]
    return replace(source, data=pack(values))


def _write_all(
    shards: Iterable[Shard], count: int, executor: Executor | None, progress: bool
) -> tuple[ShardInfo, ...]:
    infos: list[ShardInfo] = []
    with _writers(executor) as submit, _bar(progress) as bar:
        task = bar.add_task("writing shards", total=count)
        for info in _in_any_order(submit, shards):
            infos.append(info)
            bar.advance(task)
    return tuple(sorted(infos, key=lambda info: info.name))


def _in_any_order(submit: _Submit, shards: Iterable[Shard]) -> Iterator[ShardInfo]:
    """Write shards, a limited number at a time, and give each when it is done."""
    waiting: set[Future[ShardInfo]] = set()
    try:
        for shard in shards:
            waiting.add(submit(shard))
            while len(waiting) >= _IN_FLIGHT:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in as_completed(waiting))
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)  # those that have begun end, and take their unfinished files away


@contextmanager
def _writers(executor: Executor | None) -> Iterator[_Submit]:
    """Give what hands a shard to the executor, or to processes of our own."""
    if executor is not None:
        yield lambda shard: executor.submit(write_shard, shard)
        return
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), context) as pool:

        def submit(shard: Shard) -> "Future[ShardInfo]":
            with hidden_main():  # processes start here
                return pool.submit(write_shard, shard)

        yield submit


def _bar(progress: bool) -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = progress and console.is_terminal
    return Progress(*columns, TimeRemainingColumn(), console=console, disable=not shown)


def _storable(df: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Give the frame as Parquet takes it: without the images that the records hold."""
    inside = {s.column for s in (table.images, table.masks) if s is not None and s.kind != "path"}
    names = [name for name in df.columns if name not in inside]
    columns = {str(name): _plain(df[name]) for name in names if names.count(name) == 1}
    fitting = {name: column for name, column in columns.items() if _fits(column)}
    left = [name for name in names if str(name) not in fitting]
    if left:
        _log.warning("%s is without columns %s: Parquet cannot hold them.", FRAME_NAME, left)
    return pd.DataFrame(fitting, index=df.index)


def _plain(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Turn paths into text and sets into lists."""
    if column.dtype != object:
        return column
    return column.map(lambda cell: _PLAIN.get(type(cell), lambda same: same)(cell))


_PLAIN: dict[type, Callable[[Any], Any]] = {
    set: list,
    frozenset: list,
    tuple: list,
    PosixPath: str,
    WindowsPath: str,
}


def _fits(column: "pd.Series[Any]") -> bool:
    arrow = import_module("pyarrow")
    try:
        arrow.array(column, from_pandas=True)
    except arrow.ArrowException:
        return False
    return True

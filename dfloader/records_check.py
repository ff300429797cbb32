"""Check a folder of records: every file there, every byte as it was written."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import google_crc32c

from dfloader import tfrecord
from dfloader.errors import DataFrameError, DecodeError
from dfloader.records_schema import Schema, ShardInfo, read_schema
from dfloader.records_shard import read_index

_READ_BYTES = 2**20


class Fault(NamedTuple):
    """What is wrong with a folder of records.

    Attributes:
        path: the file.
        problem: what is wrong with it; names the record where it is one.
    """

    path: str
    problem: str


def check_records(folder: str | os.PathLike[str]) -> Iterator[list[Fault]]:
    """Check shard by shard what `write_tfrecords` wrote.

    Yields:
        For each shard what is wrong with it; nothing in most cases.

    Raises:
        DataFrameError: the folder has no schema.
    """
    path = Path(folder)
    schema = read_schema(path)
    for shard in schema.shards:
        yield [Fault(str(path / shard.name), problem) for problem in _problems(path, shard, schema)]


def _problems(folder: Path, shard: ShardInfo, schema: Schema) -> Iterator[str]:
    path = folder / shard.name
    if not path.is_file():
        yield "the file is missing; write_tfrecords makes it again"
        return
    yield from _content_problems(path, shard)
    yield from _index_problems(path, shard, schema)


def _content_problems(path: Path, shard: ShardInfo) -> Iterator[str]:
    try:
        with path.open("rb", buffering=_READ_BYTES) as file:
            count = sum(1 for _ in tfrecord.records(file, path.name))
    except DecodeError as error:
        yield error.message
        return
    if count != shard.rows:
        yield f"it holds {count} records, and the schema says {shard.rows}"
    elif _crc32c(path) != shard.crc32c:
        yield "its checksum is not the schema's: it was replaced by another file"


def _index_problems(path: Path, shard: ShardInfo, schema: Schema) -> Iterator[str]:
    try:
        index = read_index(path)
    except DataFrameError as error:
        yield error.message
        return
    if index.key != schema.key or index.info != shard:
        yield "its index belongs to other records"


def _crc32c(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            crc = google_crc32c.extend(crc, block)
    return crc

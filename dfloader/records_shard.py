"""Write one shard: a pure function of its argument, for any executor. No pandas, no TensorFlow.

1. A file has its final name only when it is whole and on the disk.
2. A shard's index is renamed before the shard, so that a shard is never without one.
"""

import io
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import google_crc32c
import numpy as np
import numpy.typing as npt

from dfloader import tfrecord
from dfloader.encode import shrunk, shrunk_mask
from dfloader.errors import DataFrameError, DecodeError
from dfloader.records_schema import Column, ShardInfo, other_frame
from dfloader.source import Source

_Array = npt.NDArray[Any]

_BUFFER_BYTES = 2**16  # a photograph goes to the file without a copy, small ones together
_SHRINK = {"image": shrunk, "mask": shrunk_mask}


@dataclass(frozen=True, eq=False)
class Shard:
    """All that a shard is made of.

    Attributes:
        path: where it goes.
        images: of its rows.
        masks: of its rows, or None.
        columns: of its rows, by feature.
        max_side: make images no longer than this; None: leave their bytes alone.
        key: tells the frame and spec from others.
    """

    path: str
    images: Source
    masks: Source | None
    columns: Mapping[str, Column]
    max_side: int | None
    key: str


@dataclass(frozen=True, eq=False)
class Index:
    """What lies beside a shard: its numbers, and where the encoded bytes are inside it.

    Attributes:
        columns: by feature.
        places: by feature (image, mask): int64 (n, 3) of start, length and CRC-32C.
        info: name, rows, size and checksum of the shard.
        key: as in `Shard`.
    """

    columns: Mapping[str, Column]
    places: Mapping[str, npt.NDArray[np.int64]]
    info: ShardInfo
    key: str


def write_shard(shard: Shard) -> ShardInfo:
    """Write a shard and its index, unless both are there.

    Any `map` will do to call it: of an executor, Dask, Ray, Spark or Beam. It imports no framework.

    Raises:
        DecodeError: an image cannot be read, or made smaller; names row and path.
        DataFrameError: the shard is there, of another frame or spec.
    """
    path = Path(shard.path)
    done = finished(path, shard.key)
    if done is not None:
        return done.info
    with beside(path) as file:
        index = _write(shard, file)
        with beside(index_path(path)) as sidecar:
            _save(index, sidecar)
    return index.info


def finished(path: Path, key: str) -> Index | None:
    """Give the index of a shard that is whole; None where it is not written yet.

    Raises:
        DataFrameError: it is of another frame or spec.
    """
    if not path.exists():
        return None
    index = read_index(path)
    if index.key != key:
        raise other_frame(path)
    return index if path.stat().st_size == index.info.bytes else None


def index_path(path: Path) -> Path:
    """Say where the index of a shard lies."""
    return path.with_suffix(".index.npz")


def read_index(path: Path) -> Index:
    """Read the index of a shard.

    Raises:
        DataFrameError: it is not there, or damaged.
    """
    if not index_path(path).exists():
        raise DataFrameError(
            f"{str(path)!r} has no index beside it, so it is not a shard that dfloader wrote.",
            path=str(path),
            hint="Choose another folder, or move that file away.",
        )
    try:
        with index_path(path).open("rb") as file, np.load(file) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (BadZipFile, ValueError, EOFError) as error:
        raise DataFrameError(
            f"{str(index_path(path))!r} is damaged: {error}.",
            path=str(index_path(path)),
            hint="Delete it and its shard, and write the records again: only they are made.",
        ) from error
    offsets = _under("offsets/", arrays)
    columns = {n: Column(data, offsets.get(n)) for n, data in _under("data/", arrays).items()}
    info = ShardInfo(path.name, *arrays["info"].tolist())
    return Index(columns, _under("place/", arrays), info, arrays["key"].item())


@contextmanager
def beside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the name `path` when the block has ended well, and only then."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb", buffering=_BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(shard: Shard, file: IO[bytes]) -> Index:
    crc, size = 0, 0
    sources = {"image": shard.images, "mask": shard.masks}
    places: dict[str, list[tuple[int, int, int]]] = {
        name: [] for name, source in sources.items() if source is not None
    }
    for i in range(len(shard.images)):
        contents = {name: _content(shard, name, i) for name in places}
        example = tfrecord.encode({**_features(shard, i), **contents})
        for name, content in contents.items():
            start = size + tfrecord.HEADER_BYTES + example.starts[name]
            places[name].append((start, len(content), google_crc32c.value(content)))
        for part in tfrecord.frame(example.parts):
            file.write(part)
            crc = google_crc32c.extend(crc, part)
            size += len(part)
    info = ShardInfo(Path(shard.path).name, len(shard.images), size, crc)
    arrays = {name: np.array(place, np.int64).reshape(-1, 3) for name, place in places.items()}
    return Index(shard.columns, arrays, info, shard.key)


def _features(shard: Shard, i: int) -> dict[str, Any]:
    path = shard.images.path(i)
    named = {} if path is None else {"path": os.fsencode(path)}
    return {**named, **{name: column[i] for name, column in shard.columns.items()}}


def _content(shard: Shard, name: str, i: int) -> bytes:
    source = shard.masks if name == "mask" and shard.masks is not None else shard.images
    try:
        data = source.read(i)
        return data if shard.max_side is None else _SHRINK[name](data, shard.max_side)
    except (OSError, DecodeError) as error:
        row, path = int(shard.columns["row"].data[i]), source.path(i)
        where = f"column {source.column!r}" if path is None else repr(path)
        raise DecodeError(f"Row {row}: {where}: {error}", rows=[row], path=path) from error


def _under(start: str, arrays: Mapping[str, _Array]) -> dict[str, _Array]:
    return {n.removeprefix(start): array for n, array in arrays.items() if n.startswith(start)}


def _save(index: Index, file: IO[bytes]) -> None:
    lists = {f"offsets/{n}": c.offsets for n, c in index.columns.items() if c.offsets is not None}
    arrays = {
        **{f"data/{name}": column.data for name, column in index.columns.items()},
        **lists,
        **{f"place/{name}": place for name, place in index.places.items()},
        "info": np.array([index.info.rows, index.info.bytes, index.info.crc32c], np.int64),
        "key": np.array(index.key),
    }
    with io.BytesIO() as whole:  # a zip seeks back and forth, and the file is only written on
        np.savez(whole, allow_pickle=False, **arrays)
        file.write(whole.getbuffer())

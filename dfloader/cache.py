"""Decoded, resized rows, kept from the first epoch on. Imports example and below.

1. What is kept of a row is what `write_example` makes of it as uint8, before augmentation, weights
   and `rescale`, which stay fresh. So a first epoch with a cache equals all later ones.
2. All of it is one mapped file: a header, a word for each row, each row's pixels. A row's word is
   0, or the CRC-32C of its pixels with a bit above: a row that is half written, in another process,
   by one that was killed or because the power went, is one that is not there.
3. So nobody waits for a lock: processes that make the same row write the same bytes.
4. The header, and in a folder the name, is a hash of all that the pixels depend on.
"""

import hashlib
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary

import google_crc32c
import numpy as np
import numpy.typing as npt

from dfloader.example import parts_of, write_example
from dfloader.mapped import Mapped, in_folder, in_memory
from dfloader.memory import batch_bytes, carve
from dfloader.source import Source, is_address
from dfloader.spec import ImageSpec
from dfloader.table import Table

MEMORY = "memory"
_VERSION = 1
_THERE = np.uint64(1 << 32)
_THREADS = 16  # asking for sizes and times waits for the disk or the network

_log = logging.getLogger("dfloader")
# Of this process: a sequence and a dataset of one frame and spec share what is in memory.
_in_memory: "WeakValueDictionary[str, Mapped]" = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class Cache:
    """The rows of a table as pixels, made when first asked for.

    Attributes:
        table: whose rows.
        spec: how they are made: uint8, nothing random.
        mapped: where they lie.
    """

    table: Table
    spec: ImageSpec
    mapped: Mapped

    def row(self, row: int) -> dict[str, npt.NDArray[np.uint8]]:
        """Give a row's "image" (h, w, c), and "mask" (h, w, 1) where there are masks.

        Raises:
            DecodeError: its file cannot be read or decoded.
        """
        pixels = self.mapped.row(row)
        layout = parts_of(self.table, self.spec.signature())
        parts = {name: rows[0] for name, rows in carve(pixels, layout, 1).items()}
        words = self.mapped.words
        if words[row] != _word(pixels):
            words[row] = 0
            write_example(self.table, self.spec, row, parts)
            words[row] = _word(pixels)
        return parts

    @property
    def filled(self) -> int:
        """Count the rows that are there."""
        return int(np.count_nonzero(self.mapped.words))


def open_cache(table: Table, spec: ImageSpec, where: str | os.PathLike[str]) -> Cache:
    """Open the cache of a table, or make an empty one.

    Args:
        table: whose rows.
        spec: what becomes of a file.
        where: "memory", or a folder.

    Raises:
        ValueError: `spec` leaves the size open, or asks for more than 8 bits.
        OSError: there is no room for it.
    """
    _check(spec)
    base = replace(spec, dtype="uint8", rescale=None, on_error="raise")
    row_bytes = batch_bytes(parts_of(table, base.signature()), 1)
    key = _key(table, base)
    if where == MEMORY:
        _check_memory(len(table) * row_bytes)
    mapped = _in_memory.get(key) if where == MEMORY else None
    if mapped is None:
        mapped = _made(key, len(table), row_bytes, where)
    return Cache(table, base, mapped)


def _made(key: str, rows: int, row_bytes: int, where: str | os.PathLike[str]) -> Mapped:
    gigabytes = rows * row_bytes / 1e9
    _log.warning("cache=%r: %d rows will take %.3f GB there.", str(where), rows, gigabytes)
    if where == MEMORY:
        mapped = in_memory(key, rows, row_bytes)
        _in_memory[key] = mapped
        return mapped
    return in_folder(Path(where), key, rows, row_bytes)


def _check(spec: ImageSpec) -> None:
    if spec.dtype == "uint16":
        raise ValueError("cache keeps 8 bits a value, and dtype='uint16' asks for 16. Drop one.")
    if None in spec.signature().shape:
        raise ValueError(
            f"cache needs images of one size, and target_size={spec.target_size!r} with "
            f"color_mode={spec.color_mode!r} leaves it to the files. Say both."
        )


def _check_memory(nbytes: int) -> None:
    if not hasattr(os, "sysconf"):  # Windows
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if nbytes > there:
        raise ValueError(
            f"cache='memory' would take {nbytes / 1e9:,.3f} GB, and this machine has "
            f"{there / 1e9:,.3f} GB. Name a folder instead, or make target_size smaller."
        )


def _word(pixels: npt.NDArray[np.uint8]) -> np.uint64:
    return _THERE | np.uint64(google_crc32c.value(pixels))


def _key(table: Table, spec: ImageSpec) -> str:
    digest = hashlib.sha256(f"{_VERSION} {spec!r} {len(table)}".encode())
    rows = np.arange(len(table)) if table.kept is None else table.kept
    for source in (table.images, table.masks):
        digest.update(b"|")
        for identity in () if source is None else _identities(source, rows):
            digest.update(identity)
    return digest.hexdigest()


def _identities(source: Source, rows: npt.NDArray[np.int64]) -> Iterator[bytes]:
    """Give for each row what changes when its content does: path, size and time; or the content.

    Of an address only the address is known; of a loader, how it is called.
    """
    yield source.loader_identity
    if source.kind == "encoded":
        yield from (b"%d %s" % (row, source.data.identity(row)) for row in rows.tolist())
        return
    with ThreadPoolExecutor(_THREADS, "dfloader-cache") as pool:
        yield from pool.map(lambda row: b"%d %s" % (row, _stat(source[row])), rows.tolist())


def _stat(path: bytes) -> bytes:
    if is_address(path):
        return path
    try:
        stat = os.stat(path)  # noqa: PTH116 (a path of bytes)
    except OSError:  # who reads it says so
        return path
    return b"%s %d %d" % (path, stat.st_size, stat.st_mtime_ns)

"""One file of rows of bytes, mapped into memory by every process that uses it. Imports NumPy only.

Header page (the key), a word for each row, then the rows, each at a multiple of 64 bytes.
"""

import errno
import mmap
import os
import sys
import tempfile
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64
_HEADER_BYTES = 4096


@dataclass(frozen=True, eq=False)
class Mapped:
    """Rows of bytes, and a word for each.

    Attributes:
        address: where another process opens it.
        key: what it is of.
        rows: how many.
        row_bytes: of each.
        memory: the mapped file.
        owner: keeps a file that lives in memory; None for one in a folder.
    """

    address: str
    key: str
    rows: int
    row_bytes: int
    memory: mmap.mmap
    owner: "Owner | None" = None

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        return np.frombuffer(self.memory, np.uint64, self.rows, _HEADER_BYTES)

    def row(self, i: int) -> npt.NDArray[np.uint8]:
        start = _HEADER_BYTES + _aligned(8 * self.rows) + i * _aligned(self.row_bytes)
        return np.frombuffer(self.memory, np.uint8, self.row_bytes, start)

    def __reduce__(self) -> Any:
        return _attach, (self.address, self.key, self.rows, self.row_bytes, self.owner is not None)


class Owner:
    """An open file, closed with the last reference; and a name to take away then."""

    def __init__(self, fd: int, path: str | None) -> None:
        self._close = weakref.finalize(self, _close, fd, path, os.getpid())


def in_folder(folder: Path, key: str, rows: int, row_bytes: int) -> Mapped:
    """Open a file of that key, or make it; it holds zeros then.

    Raises:
        OSError: there is no room for it.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key[:32]}.pixels"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        return _map(fd, str(path), key, rows, row_bytes, on_disk=True)
    finally:
        os.close(fd)


def in_memory(key: str, rows: int, row_bytes: int) -> Mapped:
    """Make zeros in memory. They are gone with the last process that has them.

    Raises:
        OSError: there is no room for it.
    """
    path = None
    if sys.platform == "linux":
        fd = os.memfd_create("dfloader")
        address = f"/proc/{os.getpid()}/fd/{fd}"
    else:  # memory without a name cannot be opened by another process: a file in its stead
        fd, path = tempfile.mkstemp(prefix="dfloader-")
        address = path
    return replace(_map(fd, address, key, rows, row_bytes), owner=Owner(fd, path))


def _map(
    fd: int, address: str, key: str, rows: int, row_bytes: int, *, on_disk: bool = False
) -> Mapped:
    size = _HEADER_BYTES + _aligned(8 * rows) + rows * _aligned(row_bytes)
    _reserve(fd, size, address, on_disk=on_disk)
    memory = mmap.mmap(fd, size)
    memory[: len(key)] = key.encode()
    return Mapped(address, key, rows, row_bytes, memory)


def _attach(address: str, key: str, rows: int, row_bytes: int, in_ram: bool) -> Mapped:
    """Open what another process has; make it anew where that is gone."""
    if not in_ram:
        return in_folder(Path(address).parent, key, rows, row_bytes)
    try:
        fd = os.open(address, os.O_RDWR)
    except OSError:
        return in_memory(key, rows, row_bytes)
    if os.pread(fd, len(key), 0) != key.encode():  # the number stands for another file by now
        os.close(fd)
        return in_memory(key, rows, row_bytes)
    mapped = _map(fd, address, key, rows, row_bytes)
    return replace(mapped, owner=Owner(fd, None))


def _reserve(fd: int, size: int, address: str, *, on_disk: bool) -> None:
    """Make a file that large, and be sure of the room: a mapped write that finds none kills us."""
    if os.fstat(fd).st_size >= size:
        return
    if on_disk and hasattr(os, "posix_fallocate"):
        room = os.fstatvfs(fd).f_bavail * os.fstatvfs(fd).f_frsize
        if size > room:
            words = f"a cache of {size / 1e9:,.3f} GB, and {room / 1e9:,.3f} GB are free"
            raise OSError(errno.ENOSPC, words, address)
        os.posix_fallocate(fd, 0, size)
    os.ftruncate(fd, size)


def _close(fd: int, path: str | None, pid: int) -> None:
    os.close(fd)
    if path is not None and os.getpid() == pid:
        os.unlink(path)  # noqa: PTH108 (pathlib may be gone when the interpreter ends)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT

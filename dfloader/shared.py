"""Memory that another process sees, and objects whose arrays lie in it. Imports NumPy's memory.

1. Nothing has a name: when the last process that has it is gone, killed or not, it is gone.
2. On Linux it is a memfd, which no size of /dev/shm limits; elsewhere an open temporary file.
3. An object is sent as a short pickle; its arrays are written once and read in place, so that a
   table of a million rows costs a worker nothing.
"""

import mmap
import os
import pickle
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from dfloader.memory import ALIGNMENT, page_aligned


@dataclass(frozen=True)
class Block:
    """Shared memory and the file descriptor that stands for it."""

    memory: mmap.mmap
    fd: int

    def send(self, connection: "Connection[Any, Any]", pid: int) -> None:
        """Give it to the process at the other end, which calls `receive`."""
        reduction.send_handle(connection, _handle(self.fd), pid)

    def close(self) -> None:
        """Keep the memory for those that refer to it, and send it no more."""
        os.close(self.fd)


@dataclass(frozen=True)
class Parcel:
    """An object taken apart: what to send through a pipe, and what to send as a block."""

    pickled: bytes
    places: tuple[slice, ...]
    block: Block


def allocate(nbytes: int) -> Block:
    """Make a block of zeros.

    Raises:
        OSError: the system has no memory or file descriptor left.
    """
    fd = _anonymous_file()
    os.ftruncate(fd, page_aligned(nbytes))
    return Block(mmap.mmap(fd, page_aligned(nbytes)), fd)


def receive(connection: "Connection[Any, Any]") -> mmap.mmap:
    """Take what `Block.send` sends."""
    fd = _descriptor(reduction.recv_handle(connection))
    try:
        return mmap.mmap(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def pack(thing: object) -> Parcel:
    """Take an object apart.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: it cannot be pickled.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    places = []
    end = 0
    for buffer in buffers:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        end = start + buffer.raw().nbytes
        places.append(slice(start, end))
    block = allocate(end)
    for place, buffer in zip(places, buffers, strict=True):
        block.memory[place] = buffer.raw()
    return Parcel(pickled, tuple(places), block)


def unpack(pickled: bytes, places: tuple[slice, ...], memory: mmap.mmap) -> Any:
    """Put an object together; its arrays lie in `memory` and cannot be written to."""
    view = memoryview(memory).toreadonly()
    return pickle.loads(pickled, buffers=[view[place] for place in places])


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("dfloader")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


if sys.platform == "win32":
    import msvcrt

    def _handle(fd: int) -> int:
        return msvcrt.get_osfhandle(fd)

    def _descriptor(handle: int) -> int:
        return msvcrt.open_osfhandle(handle, os.O_RDWR)

else:

    def _handle(fd: int) -> int:
        return fd

    def _descriptor(handle: int) -> int:
        return handle

"""Batch memory that is kept and lent again. Imports spec, NumPy.

1. Memory is lent as an array. It comes back when that array and every view of it are gone, and
   never before: whoever refers to a batch, TensorFlow included, keeps its memory.
2. It starts at a page, and each array in it at a multiple of 64 bytes: TensorFlow then takes an
   array as it is, and copies it into fresh memory otherwise.
3. What gives it back takes no lock: it runs wherever the last reference dies, inside the garbage
   collector too.

The first touch of a fresh page costs about 4 microseconds: a new batch of 32 x 224 x 224 x 3
float32 as much time as decoding 15 photos.
"""

import math
import mmap
import queue
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dfloader.spec import ArraySpec

ALIGNMENT = 64  # TensorFlow's EIGEN_MAX_ALIGN_BYTES

Memory = npt.NDArray[np.uint8]


def batch_bytes(specs: Mapping[str, ArraySpec], rows: int) -> int:
    """Count the bytes that `carve` needs."""
    return sum(_aligned(_array_bytes(spec, rows)) for spec in specs.values())


def carve(memory: Memory, specs: Mapping[str, ArraySpec], rows: int) -> dict[str, npt.NDArray[Any]]:
    """Give the arrays of a batch, one behind the other in `memory`."""
    arrays = {}
    start = 0
    for name, spec in specs.items():
        size = _array_bytes(spec, rows)
        part = memory[start : start + size].view(spec.dtype)
        arrays[name] = part.reshape(rows, *spec.shape)
        start += _aligned(size)
    return arrays


class Store(Protocol):
    """Where batches lie."""

    def take(self) -> tuple[int, Memory]:
        """Lend memory for a batch, with the number of its slot."""

    def settle(self, memory: Memory) -> Memory:
        """Give the memory to hand out in place of `memory`, which is done."""


class Slabs:
    """Private blocks of one size, as many as are referred to at once.

    Args:
        nbytes: the size of a block.
        keep: blocks to keep for the next batch; those beyond it go back to the system.
    """

    def __init__(self, nbytes: int, *, keep: int) -> None:
        self._nbytes = nbytes
        self._keep = keep
        self._free: deque[mmap.mmap] = deque()

    def take(self) -> tuple[int, Memory]:
        """Lend a block, with a number that says nothing; never waits."""
        try:
            block = self._free.pop()
        except IndexError:
            block = _map(self._nbytes)
        return 0, _lent(np.frombuffer(block, np.uint8), self._give_back, block)

    def settle(self, memory: Memory) -> Memory:
        """Give the memory to hand out in place of `memory`, which is done: itself."""
        return memory

    def _give_back(self, block: mmap.mmap) -> None:
        if len(self._free) < self._keep:
            self._free.append(block)


class Ring:
    """A fixed number of slots in a block of memory that others write into, too.

    Args:
        block: the memory; kept alive by what is lent of it.
        slots: how many.
        nbytes: size of a slot, a multiple of the page size.
        reserve: slots that are never handed out; batches are copied where it would be those.
    """

    def __init__(self, block: mmap.mmap, *, slots: int, nbytes: int, reserve: int) -> None:
        self._block = block
        self._nbytes = nbytes
        self._reserve = reserve
        self._copies = Slabs(nbytes, keep=reserve)
        self._free = deque(reversed(range(slots)))
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()  # put() is reentrant
        for _ in range(slots):
            self._tokens.put(None)

    def take(self) -> tuple[int, Memory]:
        """Lend a slot, the one given back last; waits for one."""
        self._tokens.get()
        slot = self._free.pop()
        memory = np.frombuffer(self._block, np.uint8, self._nbytes, slot * self._nbytes)
        return slot, _lent(memory, self._give_back, slot)

    def settle(self, memory: Memory) -> Memory:
        """Give the memory to hand out in place of `memory`, which is done: itself, or a copy.

        Whoever keeps batches would otherwise end up with every slot, and the work would stand.
        """
        if self._tokens.qsize() >= self._reserve:
            return memory
        _, copy = self._copies.take()
        np.copyto(copy, memory)
        return copy

    def _give_back(self, slot: int) -> None:
        self._free.append(slot)
        self._tokens.put(None)


def page_aligned(nbytes: int) -> int:
    """Round up to whole pages, at least one."""
    return max(1, -(-nbytes // mmap.PAGESIZE)) * mmap.PAGESIZE


def _lent(memory: Memory, give_back: Callable[[Any], None], what: object) -> Memory:
    # NumPy makes the base of every view the array that holds the buffer: this one.
    weakref.finalize(memory, give_back, what).atexit = False
    return memory


def _map(nbytes: int) -> mmap.mmap:
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return mmap.mmap(-1, page_aligned(nbytes))
    block = mmap.mmap(-1, page_aligned(nbytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages: only slower
            block.madvise(mmap.MADV_HUGEPAGE)
    return block


def _array_bytes(spec: ArraySpec, rows: int) -> int:
    return rows * math.prod(spec.shape) * np.dtype(spec.dtype).itemsize  # type: ignore[arg-type]


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT

"""An engine: loads batches of one loader, in the calling thread, in threads or in processes."""

import itertools
import multiprocessing
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

from dfloader.batch import Loaded, Loader
from dfloader.jobs import Here, Job
from dfloader.memory import Ring, Slabs, Store, batch_bytes, page_aligned
from dfloader.pool import Pool, acquire, release
from dfloader.processes import Worker, check_portable
from dfloader.reach import check_needs_no_framework
from dfloader.serve import Desk
from dfloader.shared import Block, allocate

_RESERVE = 2  # slots that stay in work whatever a user keeps: one that fills, one that follows
_BEYOND_QUEUE = 4  # batches that exist besides those waiting: in work, at the model, in TensorFlow
_RING_BYTES = 2**30  # more slots than this holds are not made; batches are copied out of them then
_PART = 4  # rows that a worker takes at once, at most: to take them costs a tenth of a row

_START_METHODS = ("forkserver", "spawn", "fork")

_keys = itertools.count()


@dataclass(frozen=True)
class Staff:
    """Who does the work.

    Attributes:
        workers: threads or processes; 0: the calling thread.
        use_multiprocessing: processes.
        max_queue_size: batches that may be ready and wait.
        start_method: how processes start.
    """

    workers: int = 1
    use_multiprocessing: bool = False
    max_queue_size: int = 10
    start_method: str = "forkserver"

    def __post_init__(self) -> None:
        if self.start_method not in _START_METHODS:
            raise ValueError(
                f"start_method={self.start_method!r} is not one of {', '.join(_START_METHODS)}."
            )
        for name, least in (("workers", 0), ("max_queue_size", 1)):
            value = getattr(self, name)
            if not hasattr(value, "__index__") or value < least:
                raise ValueError(f"{name}={value!r} is not a whole number from {least} on.")

    def check(self, loader: Loader) -> None:
        """Raise ValueError if the workers could not be given this loader."""
        if self.use_multiprocessing and self.workers and self.start_method != "fork":
            check_portable(loader, self.start_method).block.close()
            check_needs_no_framework(loader)

    @property
    def processes(self) -> bool:
        # A daemon, such as the workers of a Keras 2 pool, may not have children.
        return (
            self.use_multiprocessing
            and self.workers > 0
            and not multiprocessing.current_process().daemon
        )


class Engine:
    """Loads batches of a loader; closed when it is collected, and when the interpreter ends.

    Raises:
        ValueError: a callable in the loader cannot be given to worker processes.
        OSError: the system has no memory or file descriptor left.
    """

    def __init__(self, loader: Loader, staff: Staff) -> None:
        self._loader = loader
        self._key = next(_keys)
        self._stop = threading.Event()
        self._pool: Pool | None = None
        specs = loader.pixels()
        rows = len(loader.plan.rows(0, 0))
        self._batch_bytes = page_aligned(0 if specs is None else batch_bytes(specs, rows))
        # Small parts bring the first batch early: the workers share even one.
        self._part = max(1, min(_PART, rows // (2 * staff.workers)) if staff.workers else rows)
        self._store: Store | None = None
        if specs is not None:
            self._store = Slabs(self._batch_bytes, keep=staff.max_queue_size + _BEYOND_QUEUE)
        if staff.processes:
            self._start_processes(staff)
        elif staff.workers:
            self._start(
                ("threads", staff.workers), lambda: Pool([Here() for _ in range(staff.workers)])
            )

    @property
    def alive(self) -> bool:
        """Whether it can load: no worker has died, and this is the process that started it."""
        return self._pool is None or self._pool.alive

    def submit(self, epoch: int, i: int) -> "Future[Loaded]":
        """Ask for a batch."""
        job = Job(
            self._loader,
            epoch,
            i,
            key=self._key,
            store=self._store,
            part=self._part,
            stop=self._stop,
        )
        if self._pool is not None:
            self._pool.submit(job)
        else:
            for part in job.parts:
                job.run(part, Here())
        return job.future

    def close(self) -> None:
        """Stop; batches in work are given up."""
        self._stop.set()
        if self._pool is not None:
            self._closer()

    def _start(self, pool_key: object, make: Callable[[], Pool]) -> Pool:
        pool = self._pool = acquire(pool_key, make)
        self._closer = weakref.finalize(self, _close, self._key, self._stop, pool_key, pool)
        return pool

    def _start_processes(self, staff: Staff) -> None:
        block = None
        if self._store is not None:
            slots = staff.max_queue_size + _BEYOND_QUEUE
            slots = max(2 * _RESERVE, min(slots, _RING_BYTES // self._batch_bytes))
            block = allocate(slots * self._batch_bytes)
            self._store = Ring(
                block.memory, slots=slots, nbytes=self._batch_bytes, reserve=_RESERVE
            )
        try:
            self._open(staff, block)
        finally:
            if block is not None:
                block.close()

    def _open(self, staff: Staff, block: Block | None) -> None:
        method, count = staff.start_method, staff.workers
        if method == "fork":  # inherits the loader, lambdas and all, so it serves no other
            memory = None if block is None else block.memory
            desks = {self._key: Desk(self._loader, memory, self._batch_bytes)}
            self._start(self._key, lambda: Pool([Worker(method, desks) for _ in range(count)]))
            return
        parcel = check_portable(self._loader, method)
        try:
            pool = self._start(
                (method, count), lambda: Pool([Worker(method, {}) for _ in range(count)])
            )
            for runner in pool.runners:
                assert isinstance(runner, Worker)
                runner.open(self._key, parcel, block, self._batch_bytes)
        finally:
            parcel.block.close()


def ahead(
    submit: Callable[[int], "Future[Loaded]"], indices: Iterable[int], depth: int
) -> Iterator[Loaded]:
    """Yield batches in order, with at most `depth` asked for and not yet taken."""
    waiting: deque[Future[Loaded]] = deque()
    try:
        for i in indices:
            waiting.append(submit(i))
            if len(waiting) >= depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _close(key: int, stop: threading.Event, pool_key: object, pool: Pool) -> None:
    stop.set()
    for runner in pool.runners:
        if isinstance(runner, Worker):
            runner.drop(key)
    release(pool_key, pool)

"""Whether calls run side by side in threads, and how long a thread stood still. Imports nothing.

Python that holds its lock runs in one thread at a time, and so does what takes a lock of its own:
of two threads that call it, each stands still while the other runs. Waiting for a core is not
counted as standing still where the system tells it apart, as Linux does: other programs on the
machine then change nothing.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

_SECONDS = 0.1  # that each thread calls at least: many of the 5 ms for which one holds the lock
_QUEUED = Path("/proc/thread-self/schedstat")
_TELLS = _QUEUED.exists()


def queued_seconds() -> float:
    """Give how long the calling thread has waited for a core; 0 where the system does not say."""
    return int(_QUEUED.read_bytes().split()[1]) / 1e9 if _TELLS else 0.0


def alone_share(call: Callable[[], object], seconds: float) -> float:
    """Give the part of a call's time, 0 to 1, in which no other thread can make the same call.

    Args:
        call: what is asked about; it is called for about 0.3 seconds, in two threads at once.
        seconds: that it takes, about.
    """
    count = math.ceil(_SECONDS / max(seconds, 1e-6))
    took, still = _called(call, count, Barrier(1))
    start = Barrier(2)
    with ThreadPoolExecutor(2, "dfloader-overlap") as pool:
        both = list(pool.map(lambda _: _called(call, count, start)[1], range(2)))
    return min(1.0, max(0.0, (sum(both) / 2 - still) / took))


def _called(call: Callable[[], object], count: int, start: Barrier) -> tuple[float, float]:
    """Call it: give the seconds that it took but for waiting for a core, and those stood still."""
    start.wait()
    queued, wall, compute = queued_seconds(), time.perf_counter(), time.thread_time()
    for _ in range(count):
        call()
    compute, wall = time.thread_time() - compute, time.perf_counter() - wall
    took = max(wall - (queued_seconds() - queued), 1e-9)
    return took, max(0.0, took - compute)

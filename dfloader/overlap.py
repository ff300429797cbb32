"""Whether calls run side by side in threads, and how long a thread stood still. Imports nothing.

Python that holds its lock runs in one thread at a time, and so does what takes a lock of its own:
of two threads that call it, each stands still while the other runs. Waiting for a core is not
counted as standing still where the system tells it apart, as Linux does: other programs on the
machine then change nothing.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

# A thread calls for so long at least: many times the 5 ms for which one holds Python's lock.
_SECONDS, _CALLS = 0.15, 4
_LEAST = 1e-9  # seconds
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
    spend = max(_SECONDS, _CALLS * seconds)
    one = _called(call, spend, Barrier(1))
    start = Barrier(2)
    with ThreadPoolExecutor(2, "dfloader-overlap") as pool:
        both = list(pool.map(lambda _: _called(call, spend, start), range(2)))
    of_itself = one.still / one.calls * sum(each.calls for each in both)
    # However unfair the lock: while one thread runs, the other stands still, half of their time.
    share = 2 * (sum(each.still for each in both) - of_itself) / sum(each.took for each in both)
    return min(1.0, max(0.0, share))


class _Calls(NamedTuple):
    """How many there were; the seconds that all took but for waiting for a core; those of it in
    which the thread stood still.
    """

    calls: int
    took: float
    still: float


def _called(call: Callable[[], object], seconds: float, start: Barrier) -> _Calls:
    """Call it for some seconds, once at least."""
    start.wait()
    queued, wall, compute = queued_seconds(), time.perf_counter(), time.thread_time()
    calls = 0
    while not calls or time.perf_counter() - wall < seconds:
        call()
        calls += 1
    compute, wall = time.thread_time() - compute, time.perf_counter() - wall
    took = max(wall - (queued_seconds() - queued), _LEAST)
    return _Calls(calls, took, max(0.0, took - compute))

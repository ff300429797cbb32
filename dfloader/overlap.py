"""Whether calls run side by side in threads. Imports nothing of dfloader.

Python that holds its lock runs in one thread at a time, and so does what takes a lock of its own.
Two threads tell: together they take as long as one of them, or twice as long. Where other programs
keep the cores busy, two threads take longer whatever they do; work that is known to hold no lock
is timed between the calls and says how much longer.
"""

import hashlib
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

Work = Callable[[int], None]

_SECONDS = (
    0.06  # that each timing takes at least: many of the 5 ms for which a thread holds the lock
)
_ROUNDS = 3  # the least disturbed counts
_LONG = 0.2  # seconds: of a call that takes longer there is one round
_FREE = bytes(2**20)  # hashed without the lock
# Two threads without a lock that take this many times as long as one, or longer, leave too little
# between themselves and two with a lock to tell these apart.
_CROWDED = 1.75


def alone_share(call: Callable[[], object], seconds: float) -> float:
    """Give the part of a call's time, 0 to 1, in which no other thread can make the same call.

    Args:
        call: what is asked about; it is called for about half a second, in two threads at once.
        seconds: that it takes, about.
    """
    with ThreadPoolExecutor(2, "dfloader-overlap") as pool:
        list(pool.map(_hash, (1, 1)))  # start both threads
        hashes = math.ceil(_SECONDS / max(_timed(pool, 1, _hash, 1), 1e-6))
        works = ((_times(call), math.ceil(_SECONDS / max(seconds, 1e-6))), (_hash, hashes))
        rounds = [
            [(_timed(pool, 1, work, count), _timed(pool, 2, work, count)) for work, count in works]
            for _ in range(_ROUNDS if seconds < _LONG else 1)
        ]
    longer, free = (_longer(timings) for timings in zip(*rounds, strict=True))
    return share(longer, free)


def share(longer: float, free: float) -> float:
    """Work out the part that runs alone.

    Args:
        longer: how many times as long two threads took as one.
        free: the same of work that holds no lock.
    """
    free = min(max(free, 1.0), _CROWDED)
    return min(1.0, max(0.0, (longer - free) / (2.0 - free)))


def _longer(timings: tuple[tuple[float, float], ...]) -> float:
    return min(two for _, two in timings) / min(one for one, _ in timings)


def _timed(pool: ThreadPoolExecutor, threads: int, work: Work, count: int) -> float:
    start = time.perf_counter()
    list(pool.map(work, [count] * threads))
    return time.perf_counter() - start


def _times(call: Callable[[], object]) -> Work:
    def work(count: int) -> None:
        for _ in range(count):
            call()

    return work


def _hash(count: int) -> None:
    for _ in range(count):
        hashlib.sha256(_FREE)

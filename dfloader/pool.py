"""Workers that take parts of batches from one queue, shared by the loaders that want the same."""

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence

from dfloader.jobs import Job, Runner

_JOIN_SECONDS = 2.0  # for threads to end; only one in a user's hanging callable takes longer

_Task = tuple[Job, slice]


class Pool:
    """A thread for each runner.

    Args:
        runners: what does the work; closed by the pool.
    """

    def __init__(self, runners: Sequence[Runner]) -> None:
        self.users = 0
        self.pid = os.getpid()
        self.runners = runners
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        # Daemon threads, because the interpreter waits for others before it closes anything.
        self._threads = [
            threading.Thread(
                target=_work, args=(self._tasks, runner), name=f"dfloader-{i}", daemon=True
            )
            for i, runner in enumerate(runners)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether every worker can work; in a process forked from ours none can."""
        return self.pid == os.getpid() and all(runner.alive for runner in self.runners)

    def submit(self, job: Job) -> None:
        for part in job.parts:
            self._tasks.put((job, part))

    def close(self) -> None:
        """End the workers when they have done what was submitted; kill what does not end."""
        for _ in self._threads:
            self._tasks.put(None)
        if not _join(self._threads):
            for runner in self.runners:
                runner.kill()
            _join(self._threads)


# Held while pools are made and counted and while `__main__` is hidden. One lock for all of that,
# and reentrant: the garbage collector may close an engine in the middle of any of it.
lock = threading.RLock()
_pools: dict[object, Pool] = {}


def acquire(key: object, make: Callable[[], Pool]) -> Pool:
    """Give the pool that others with an equal `key` use, too, until you `release` it."""
    with lock:
        pool = _pools.get(key)
        if pool is None or not pool.alive:
            pool = _pools[key] = make()
        pool.users += 1
        return pool


def release(key: object, pool: Pool) -> None:
    """Close a pool after its last user."""
    if pool.pid != os.getpid():  # forked from the process that has the threads
        return
    with lock:
        pool.users -= 1
        if pool.users:
            return
        if _pools.get(key) is pool:
            del _pools[key]
    pool.close()


def _forget() -> None:
    _pools.clear()
    lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=_forget)


def _work(tasks: "queue.SimpleQueue[_Task | None]", runner: Runner) -> None:
    while (task := tasks.get()) is not None:
        job, part = task
        job.run(part, runner)
        del job, task  # what a waiting thread refers to is not given back
    runner.close()


def _join(threads: Sequence[threading.Thread]) -> bool:
    """Wait for threads, together _JOIN_SECONDS; tell whether all have ended."""
    end = time.monotonic() + _JOIN_SECONDS
    others = [thread for thread in threads if thread is not threading.current_thread()]
    for thread in others:
        thread.join(max(0.0, end - time.monotonic()))
    return not any(thread.is_alive() for thread in others)

"""Threads and clean processes that load batches ahead, in order.

A worker process imports neither TensorFlow nor Keras: it gets the loader, which is NumPy arrays and
frozen specs, and `__main__` is hidden while it starts, so that it does not run the user's script.
"""

import multiprocessing
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType

from dfloader.batch import Batch, Loader

_loader: Loader | None = None  # in a worker process: what it serves
_main_lock = threading.Lock()


class Engine:
    """Loads batches of one loader in `workers` threads or processes."""

    def __init__(self, loader: Loader, *, workers: int, processes: bool, method: str) -> None:
        self._loader = loader
        self._processes = processes
        self._executor: Executor = (
            ProcessPoolExecutor(workers, multiprocessing.get_context(method), _serve, (loader,))
            if processes
            else ThreadPoolExecutor(workers, "dfloader")
        )

    def submit(self, epoch: int, i: int) -> "Future[Batch]":
        """Ask for a batch."""
        if not self._processes:
            return self._executor.submit(self._loader.load, epoch, i)
        with _hidden_main():
            return self._executor.submit(_load, epoch, i)

    def close(self) -> None:
        """Stop the workers and wait for them; batches not begun are given up."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def result(future: "Future[Batch]") -> Batch:
    """Wait for a batch.

    Raises:
        RuntimeError: a worker process died.
    """
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A worker process died (killed, or out of memory). Use fewer workers or a smaller "
            "batch_size, or use_multiprocessing=False to see the error itself."
        ) from error


def ahead(submit: Callable[[int], "Future[Batch]"], count: int, depth: int) -> Iterator[Batch]:
    """Yield batches 0..count-1 in order, with at most `depth` asked for and not yet taken."""
    waiting: deque[Future[Batch]] = deque()
    try:
        for i in range(count):
            waiting.append(submit(i))
            if len(waiting) >= depth:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


def _serve(loader: Loader) -> None:
    global _loader
    _loader = loader


def _load(epoch: int, i: int) -> Batch:
    assert _loader is not None
    return _loader.load(epoch, i)


@contextmanager
def _hidden_main() -> Iterator[None]:
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main

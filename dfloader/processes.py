"""Start worker processes and talk to them, one thread to each."""

import multiprocessing
import signal
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from types import ModuleType
from typing import Any

from dfloader.batch import Loaded
from dfloader.errors import DecodeError
from dfloader.jobs import Job
from dfloader.pool import lock
from dfloader.serve import Desk, Drop, Failure, Fill, Load, Open, serve
from dfloader.shared import Block, Parcel, pack

# How a pipe says that the other end is gone. The frames of such an error hold a view of a buffer,
# and Python 3.13 complains when the garbage collector finds both: it is passed on without them.
_ENDED = (EOFError, ConnectionError)
_GRACE_SECONDS = 1.0  # for a worker to end by itself; a callable may hang
# Our ends of the pipes. A forked process has them, too, and the others wait for an end of file.
_ends: "weakref.WeakSet[Connection[Any, Any]]" = weakref.WeakSet()


class WorkerError(Exception):
    """The traceback of an error in a worker, as text: the cause of that error here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Worker:
    """A process and the pipe to it.

    Args:
        method: forkserver, spawn or fork.
        desks: what it serves from the start; only a forked process can be given any.
    """

    def __init__(self, method: str, desks: Mapping[int, Desk]) -> None:
        context: Any = _context(method)
        self._lock = threading.Lock()
        self._dropped: deque[int] = deque()
        self._pipe, theirs = context.Pipe()
        _ends.add(self._pipe)
        self.process = context.Process(
            target=serve,
            args=(theirs, dict(desks), tuple(_ends) if method == "fork" else ()),
            name="dfloader-worker",
            daemon=True,
        )
        with theirs, _START[method]():
            self.process.start()

    @property
    def alive(self) -> bool:
        return bool(self.process.is_alive())

    def open(self, key: int, parcel: Parcel, memory: Block | None, slot_bytes: int) -> None:
        """Give it a loader, and the memory where its batches go."""
        message = Open(key, parcel.pickled, parcel.places, memory is not None, slot_bytes)
        try:
            with self._lock:
                self._pipe.send(message)
                parcel.block.send(self._pipe, self.process.pid)
                if memory is not None:
                    memory.send(self._pipe, self.process.pid)
        except _ENDED as error:
            raise self._death() from error.with_traceback(None)

    def drop(self, key: int) -> None:
        """Take a loader from it, before it does anything else. Takes no lock."""
        self._dropped.append(key)

    def fill(self, job: Job, part: slice) -> tuple[DecodeError, ...]:
        """Have a part of the rows rendered.

        Raises:
            RuntimeError: the process died.
            BaseException: what was raised in it.
        """
        rows = job.rows[part]
        answer: tuple[DecodeError, ...] = self._ask(
            Fill(job.key, job.epoch, rows, job.slot, part.start, len(job.rows))
        )
        return answer

    def load(self, job: Job) -> Loaded:
        """Have the whole batch sent. Raises as `fill`."""
        answer: Loaded = self._ask(Load(job.key, job.epoch, job.i))
        return answer

    def close(self) -> None:
        """End the process, by force where it does not end by itself."""
        self._pipe.close()
        self.process.join(_GRACE_SECONDS)
        self.kill()
        self.process.join()

    def kill(self) -> None:
        """End the process by force; who waits for an answer gets an error."""
        self.process.kill()

    def _ask(self, message: Fill | Load) -> Any:
        try:
            with self._lock:
                while self._dropped:
                    self._pipe.send(Drop(self._dropped.popleft()))
                self._pipe.send(message)
            answer = self._pipe.recv()
        except _ENDED as error:
            raise self._death() from error.with_traceback(None)
        if isinstance(answer, Failure):
            raise answer.error from WorkerError(answer.traceback)
        return answer

    def _death(self) -> RuntimeError:
        self.process.join(_GRACE_SECONDS)
        return RuntimeError(
            f"A worker process died ({_cause(self.process.exitcode)}). Out of memory? Use fewer "
            "workers, a smaller batch_size or max_queue_size. A callable that ends or crashes the "
            "process? use_multiprocessing=False shows where."
        )


def check_portable(loader: object, method: str) -> Parcel:
    """Take a loader apart for workers.

    Raises:
        ValueError: a worker could not put it together again, because a callable in it is a lambda
            or belongs to the script or notebook that runs.
    """
    with hidden_main():
        try:
            return pack(loader)
        except Exception as error:  # pickle raises AttributeError, TypeError, PicklingError
            raise ValueError(
                f"Worker processes cannot be given this loader: {error}. With start_method="
                f"{method!r} a callable must be importable: define it in a module of its own, "
                "or use start_method='fork', or use_multiprocessing=False."
            ) from error


@contextmanager
def hidden_main() -> Iterator[None]:
    """Put an empty module in the place of the user's script.

    Every start method but fork makes the worker run the script again, TensorFlow and all, and a
    script without an ``if __name__ == "__main__"`` guard starts over in each worker.
    """
    with lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextmanager
def _spawning() -> Iterator[None]:
    """Keep Ctrl-C from a worker that still imports; `serve` ignores it from then on.

    Not with forkserver: the server would keep it from all its children, and they are not all ours.
    """
    with hidden_main():
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            yield
            return
        resource_tracker.ensure_running()  # to start it later would lift the block
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_START: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "forkserver": hidden_main,
    "spawn": _spawning,
    "fork": nullcontext,
}


def _context(method: str) -> BaseContext:
    known = multiprocessing.get_all_start_methods()  # Windows: spawn only
    return multiprocessing.get_context(method if method in known else "spawn")


def _cause(exitcode: int | None) -> str:
    if exitcode is None:
        return "it closed its pipe"
    if exitcode < 0:
        return f"killed by {signal.Signals(-exitcode).name}"
    return f"exit code {exitcode}"

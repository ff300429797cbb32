"""A batch in work: rendered in parts by several workers, put together by the last of them."""

import threading
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dfloader.batch import Loaded, Loader
from dfloader.errors import DecodeError
from dfloader.memory import Memory, Store, carve

Failures = tuple[DecodeError, ...]


class Runner(Protocol):
    """One of the workers that a pool has."""

    @property
    def alive(self) -> bool: ...

    def fill(self, job: "Job", part: slice) -> Failures:
        """Render a part of the rows into the memory of the job."""

    def load(self, job: "Job") -> Loaded:
        """Load the whole batch into memory of its own."""

    def close(self) -> None: ...

    def kill(self) -> None: ...


class Job:
    """One batch: what is asked for, and the `future` that will hold it.

    The error of the first bad row wins, whoever is faster: every engine raises the same.

    Args:
        key: by what name the workers know the loader.
        store: where the batch goes; None: only the files know its size, it is loaded whole.
        part: rows that a worker takes at once.
        stop: set when nobody wants the batch any more.
    """

    def __init__(
        self,
        loader: Loader,
        epoch: int,
        i: int,
        *,
        key: int,
        store: Store | None,
        part: int,
        stop: threading.Event,
    ) -> None:
        self.loader = loader
        self.epoch = epoch
        self.i = i
        self.key = key
        self.rows: npt.NDArray[np.int64] = loader.plan.rows(epoch, i)
        self.future: Future[Loaded] = Future()
        self.slot = 0
        self._store = store
        self._stop = stop
        self._memory: Memory | None = None
        count = len(self.rows)
        step = count if store is None else part
        self.parts = [slice(k, min(k + step, count)) for k in range(0, count, step)]
        self._left = len(self.parts)
        self._whole: Loaded | None = None
        self._failures: list[DecodeError] = []
        self._errors: list[tuple[int, BaseException]] = []
        self._lock = threading.Lock()

    def run(self, part: slice, runner: Runner) -> None:
        """Do one of the `parts`; the last one done puts the batch together."""
        try:
            if not (self.future.cancelled() or self._stop.is_set()):
                self._run(part, runner)
        except BaseException as error:
            self._errors.append((part.start, error))
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._finish()

    def pixels(self, part: slice) -> dict[str, npt.NDArray[Any]]:
        """Give the memory of some of the rows."""
        specs = self.loader.pixels()
        assert specs is not None and self._memory is not None
        arrays = carve(self._memory, specs, len(self.rows))
        return {name: array[part] for name, array in arrays.items()}

    def _run(self, part: slice, runner: Runner) -> None:
        if self._store is None:
            self._whole = runner.load(self)
            return
        with self._lock:
            if self._memory is None:
                self.slot, self._memory = self._store.take()
        self._failures.extend(runner.fill(self, part))

    def _finish(self) -> None:
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self._result())
            except BaseException as error:
                self.future.set_exception(error)
        self._memory = self._whole = None

    def _result(self) -> Loaded:
        if self._stop.is_set():
            raise RuntimeError("The sequence was closed while this batch was in work.")
        if self._errors:
            raise min(self._errors, key=lambda item: item[0])[1]
        if self._whole is not None:
            return self._whole
        assert self._memory is not None and self._store is not None
        self._memory = self._store.settle(self._memory)
        failures = tuple(sorted(self._failures, key=lambda error: error.rows))
        batch = self.loader.finish(self.epoch, self.rows, self.pixels(slice(None)), failures)
        return Loaded(batch, failures)


class Here:
    """Runs in the calling thread."""

    alive = True

    def fill(self, job: Job, part: slice) -> Failures:
        return job.loader.fill(job.epoch, job.rows[part], job.pixels(part))

    def load(self, job: Job) -> Loaded:
        return job.loader.loaded(job.epoch, job.i)

    def close(self) -> None:
        """Nothing to close."""

    def kill(self) -> None:
        """A thread cannot be killed."""

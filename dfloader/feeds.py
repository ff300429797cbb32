"""What Keras 2's generator methods could be fed with, as Keras 3 accepts it.

Contract:
1. A `View` is a finite, random-access stretch of a sequence; it always starts at batch 0.
2. `endless` runs a sequence pass after pass, each in full, and stops nowhere in between.
3. `Turns` hands out the next batches of an iterator that cannot start again, none lost or twice.
4. Batches come out as tuples (or dicts) without lists.
"""

import multiprocessing
import random
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dfloader.backend import Sequence

Batch = Any
Adapt = Callable[[Batch], Batch]


@dataclass(frozen=True)
class Pool:
    """Keras' three words for reading ahead."""

    workers: int = 1
    use_multiprocessing: bool = False
    max_queue_size: int = 10

    @property
    def inline(self) -> bool:
        """Whether batches are made in the calling thread (Keras' own rule)."""
        return self.workers < 1 or (self.workers == 1 and not self.use_multiprocessing)


class View(Sequence):
    """A sequence as Keras 3 takes it: a `PyDataset` whose batches went through ``adapt``.

    Takes anything with ``__getitem__`` and a length: a Keras 2 style class, an iterator of
    keras-preprocessing (a plain object under Keras 3), a sequence of the other Keras.

    Args:
        batches: how many batches to show, from 0 on, starting over behind the last.
            None: the sequence's own number.
    """

    def __init__(self, source: Any, adapt: Adapt, pool: Pool, batches: int | None = None) -> None:
        super().__init__(pool.workers, pool.use_multiprocessing, pool.max_queue_size)
        self.source = source
        self.adapt = adapt
        self.batches = batches

    @property
    def num_batches(self) -> int | None:
        count = batch_count(self.source)  # read each time: a sequence may take note of it
        return count if self.batches is None else self.batches

    def __getitem__(self, index: int) -> Batch:
        count = batch_count(self.source)
        return self.adapt(self.source[index if count is None else index % count])

    def on_epoch_begin(self) -> None:
        call_hook(self.source, "on_epoch_begin")

    def on_epoch_end(self) -> None:
        call_hook(self.source, "on_epoch_end")


class Turns(Sequence):
    """The next ``batches`` of an iterator at each evaluation.

    Keras reads batches ahead of the first evaluation to learn their shapes, how many depends on
    the backend. What was read before `begin` is kept and given again.
    """

    def __init__(self, source: Iterator[Batch], adapt: Adapt, batches: int) -> None:
        super().__init__()
        self.source = source
        self.adapt = adapt
        self.batches = batches
        self._begun = False
        self._early: deque[Batch] = deque()

    @property
    def num_batches(self) -> int:
        return self.batches

    def begin(self) -> None:
        """Say that the batches read from now on are used."""
        self._begun = True

    def __getitem__(self, index: int) -> Batch:
        if self._begun and self._early:
            return self._early.popleft()
        batch = self.adapt(self._next())
        if not self._begun:
            self._early.append(batch)
        return batch

    def _next(self) -> Batch:
        try:
            return next(self.source)
        except StopIteration:
            raise ValueError(
                "The validation generator ended, but every evaluation needs "
                f"{self.batches} more batches of it. Pass a Sequence, or a generator that "
                "never ends."
            ) from None


class Locked(Iterator[Batch]):
    """An iterator that one thread may close while another waits for a batch."""

    def __init__(self, batches: Generator[Batch, None, None]) -> None:
        self._batches = batches
        self._lock = threading.Lock()

    def __next__(self) -> Batch:
        with self._lock:
            return next(self._batches)

    def close(self) -> None:
        with self._lock:
            self._batches.close()


@contextmanager
def pool_of(source: Any, given: Pool) -> Iterator[Pool]:
    """Set on a sequence, for the call, what the call says of workers; yield what holds then.

    What is Keras 2's default says nothing. A `DataFrameSequence` has workers of its own, and does
    not tell Keras all of them: its ``staff`` is what can be put back.
    """
    own = _own(source)
    said = {word: value for word, value in vars(given).items() if value != getattr(Pool, word)}
    before = {"staff": source.staff} if hasattr(source, "staff") else own
    _set(source, {word: value for word, value in said.items() if word in own})
    try:
        yield Pool(**said | _own(source))
    finally:
        _set(source, before)


def batch_count(source: Any) -> int | None:
    """Return the number of batches of a sequence; None if it has no end."""
    if hasattr(source, "num_batches"):
        return None if source.num_batches is None else int(source.num_batches)
    return len(source)


def call_hook(source: Any, name: str) -> None:
    """Call an epoch hook where the sequence has it; Keras 2 knew ``on_epoch_end`` only."""
    hook = getattr(source, name, None)
    if hook is not None:
        hook()


def endless(source: Any, pool: Pool, shuffle: bool) -> Generator[Batch, None, None]:
    """Yield pass after pass of a sequence.

    Args:
        shuffle: permute the batches of each pass with Python's ``random``, as Keras does.
    """
    if not len(source):
        raise ValueError(f"{type(source).__name__} has no batches to train on.")
    while True:
        order = list(range(len(source)))
        if shuffle:
            random.shuffle(order)
        call_hook(source, "on_epoch_begin")
        with closing(_one_pass(source, order, pool)) as batches:
            yield from batches
        call_hook(source, "on_epoch_end")


def adapted(
    batches: Iterable[Batch], adapt: Adapt, count: int | None
) -> Generator[Batch, None, None]:
    """Yield ``count`` batches (None: all) and read not one more."""
    yield from map(adapt, islice(batches, count))


def without_lists(batch: Batch) -> tuple[Any, ...]:
    """Turn a batch ``(x, y)``, ``[x, y]`` or ``x`` into a tuple; lists inside become tuples."""
    parts = _tuples(batch)
    return parts if isinstance(parts, tuple) else (parts,)


def inputs_without_lists(batch: Batch, inputs: int) -> tuple[Any, ...]:
    """Do the same for prediction, where a list of all the model's inputs is no ``(x, y)``."""
    alone = isinstance(batch, list) and len(batch) == inputs > 1
    return (_tuples(batch),) if alone else without_lists(batch)


def _own(source: Any) -> dict[str, Any]:
    """Read the words a sequence knows.

    Keras 3 warns about a class that never called super().__init__(); Keras 2 had none to call.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return {word: getattr(source, word) for word in vars(Pool()) if hasattr(source, word)}


def _set(target: Any, values: Mapping[str, Any]) -> None:
    for word, value in values.items():
        setattr(target, word, value)


def _tuples(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value


def _one_pass(source: Any, order: list[int], pool: Pool) -> Generator[Batch, None, None]:
    if pool.inline:
        yield from (source[i] for i in order)
        return
    with _executor(source, pool) as submit:
        pending: deque[Future[Batch]] = deque()
        for i in order:
            pending.append(submit(i))
            if len(pending) > max(pool.max_queue_size, pool.workers):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


@contextmanager
def _executor(source: Any, pool: Pool) -> Iterator[Callable[[int], Future[Batch]]]:
    """Start workers for one pass: a process sees the sequence as it is when the pass begins."""
    executor: Executor
    if pool.use_multiprocessing:
        context = multiprocessing.get_context()
        executor = ProcessPoolExecutor(pool.workers, context, _keep, (source,))
        load: Callable[[int], Batch] = _load_kept
    else:
        executor = ThreadPoolExecutor(pool.workers)
        load = source.__getitem__
    try:
        yield lambda i: executor.submit(load, i)
    finally:
        executor.shutdown(cancel_futures=True)


_kept: list[Any] = []  # the worker process's copy of the sequence; empty elsewhere


def _keep(source: Any) -> None:
    _kept[:] = [source]


def _load_kept(index: int) -> Batch:
    return _kept[0][index]

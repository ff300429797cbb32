"""NumPy's global random state, as the original would use it, on a private copy.

The original seeds and draws from the global state. Here an iterator keeps a ``RandomState`` of its
own, which gives the same numbers; the global state is lent to user code only, and put back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_lending = threading.Lock()  # one stream at a time can be the global state


def copy_of_global() -> np.random.RandomState:
    """Start a stream where NumPy's global state stands."""
    stream = np.random.RandomState()
    stream.set_state(_global_state())
    return stream


def stream_of_row(key: int, epoch: int, row: int) -> np.random.RandomState:
    """Start the stream of one row of one epoch, for worker processes."""
    seeds = np.random.SeedSequence([key % 2**32, epoch, row])
    return np.random.RandomState(np.random.MT19937(seeds))


@contextmanager
def lent(stream: np.random.RandomState, in_worker: bool) -> Iterator[Any]:
    """Make ``stream`` NumPy's global state for a while; yield what draws from it.

    Args:
        in_worker: a forked worker has one thread, and may have inherited the lock in use.
    """
    if in_worker:
        with _swapped(stream):
            yield np.random
        return
    with _lending, _swapped(stream):
        yield np.random


@contextmanager
def _swapped(stream: np.random.RandomState) -> Iterator[None]:
    before = _global_state()
    np.random.set_state(stream.get_state(legacy=False))  # noqa: NPY002 - the user's code draws here
    try:
        yield
    finally:
        stream.set_state(_global_state())
        np.random.set_state(before)  # noqa: NPY002 - putting it back


def _global_state() -> Any:
    return np.random.get_state(legacy=False)  # noqa: NPY002 - reading it only

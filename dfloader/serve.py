"""What a worker process does: render rows into shared memory until told to stop.

It imports no framework and no pandas. Whatever goes wrong with a row is answered as a value.
"""

import mmap
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.batch import Loaded, Loader
from dfloader.errors import DecodeError
from dfloader.memory import carve
from dfloader.shared import receive, unpack


@dataclass(frozen=True)
class Desk:
    """A loader, and where its batches go; None where only the files know how large they are."""

    loader: Loader
    memory: mmap.mmap | None
    slot_bytes: int


class Open(NamedTuple):
    """Take up a loader. The blocks follow: that of the parcel, then that of the batches."""

    key: int
    pickled: bytes
    places: tuple[slice, ...]
    has_memory: bool
    slot_bytes: int


class Drop(NamedTuple):
    """Forget a loader."""

    key: int


class Fill(NamedTuple):
    """Render rows start, start + 1, ... of a batch that has `length` rows and lies in `slot`."""

    key: int
    epoch: int
    rows: npt.NDArray[np.int64]
    slot: int
    start: int
    length: int


class Load(NamedTuple):
    """Load a batch whose size only the files know."""

    key: int
    epoch: int
    i: int


class Failure(NamedTuple):
    """An exception, and where it came from in words, which is all that a pickle can keep of it."""

    error: BaseException
    traceback: str


def serve(
    pipe: "Connection[Any, Any]",
    desks: dict[int, Desk],
    foreign: "tuple[Connection[Any, Any], ...]",
) -> None:
    """Answer every `Fill` and `Load` until the other end is closed.

    Args:
        desks: what is served from the start.
        foreign: ends of pipes that are not ours.
    """
    for end in foreign:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes us
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    failed: dict[int, Failure] = {}
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        match message:
            case Open():
                _open(pipe, message, desks, failed)
            case Drop():
                desks.pop(message.key, None)
                failed.pop(message.key, None)
            case _:
                pipe.send(failed.get(message.key) or _answer(desks[message.key], message))


def _open(
    pipe: "Connection[Any, Any]",
    message: Open,
    desks: dict[int, Desk],
    failed: dict[int, Failure],
) -> None:
    table = receive(pipe)
    memory = receive(pipe) if message.has_memory else None
    try:
        loader = unpack(message.pickled, message.places, table)
        desks[message.key] = Desk(loader, memory, message.slot_bytes)
    except Exception as error:  # a callable that cannot be imported here, say
        failed[message.key] = _failure(error)


def _answer(desk: Desk, message: Fill | Load) -> Loaded | tuple[DecodeError, ...] | Failure:
    try:
        if isinstance(message, Load):
            return desk.loader.loaded(message.epoch, message.i)
        return _fill(desk, message)
    except BaseException as error:  # sys.exit in a user's callable, too
        return _failure(error)


def _fill(desk: Desk, message: Fill) -> tuple[DecodeError, ...]:
    assert desk.memory is not None
    specs = desk.loader.pixels()
    assert specs is not None
    slot = np.frombuffer(desk.memory, np.uint8, desk.slot_bytes, message.slot * desk.slot_bytes)
    part = slice(message.start, message.start + len(message.rows))
    pixels = {name: array[part] for name, array in carve(slot, specs, message.length).items()}
    return desk.loader.fill(message.epoch, message.rows, pixels)


def _failure(error: BaseException) -> Failure:
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an exception class may do anything in there
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Failure(error, text)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # also out of a callable that hangs

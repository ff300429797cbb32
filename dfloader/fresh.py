"""Run a callable in a fresh interpreter: ``python -m dfloader.fresh FILE``. Imports no framework.

1. The callable travels in a pickle, so it must be importable; what it returns comes back in one.
2. An error there is raised here, as itself where it can be pickled, its traceback the cause.
3. The interpreter sees the modules that this one sees (`sys.path`), but not the user's script.
"""

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from dfloader.processes import WorkerError, hidden_main

T = TypeVar("T")

_SHOWN_CHARACTERS = 1500  # of what a process that died printed


@dataclass(frozen=True)
class _Outcome:
    value: Any = None
    error: Exception | None = None
    traceback: str = ""


def run_fresh(call: Callable[[], T], *, timeout: float | None = None) -> T:
    """Call it in an interpreter of its own, and give what it returns.

    Args:
        call: a picklable callable.
        timeout: seconds until it is ended; None: never.

    Raises:
        ValueError: it cannot be pickled.
        TimeoutError: it did not end in time.
        RuntimeError: its process died.
        Exception: what it raised.
    """
    with TemporaryDirectory(prefix="dfloader-") as folder:
        path = Path(folder, "call")
        path.write_bytes(_pickled(call))
        status = _run(path, timeout)
        if not _answer(path).exists():
            said = _log(path).read_text(errors="replace")[-_SHOWN_CHARACTERS:]
            raise RuntimeError(f"A process of the comparison died (status {status}): {said}")
        outcome = pickle.loads(_answer(path).read_bytes())
    if outcome.error is not None:
        raise outcome.error from WorkerError(outcome.traceback)
    value: T = outcome.value
    return value


def main(path: Path) -> None:
    """Do what `run_fresh` asks, in the fresh interpreter."""
    try:
        outcome = _Outcome(pickle.loads(path.read_bytes())())
    except Exception as error:
        outcome = _Outcome(error=_portable(error), traceback=traceback.format_exc())
    _answer(path).write_bytes(pickle.dumps(outcome))


def _run(path: Path, timeout: float | None) -> int:
    environment = {
        "TF_CPP_MIN_LOG_LEVEL": "3",  # a missing GPU is no error here
        **os.environ,
        "PYTHONPATH": os.pathsep.join(place or str(Path.cwd()) for place in sys.path),
    }
    command = [sys.executable, "-m", "dfloader.fresh", str(path)]
    # A file, not a pipe: what outlives the process would keep a pipe open.
    with _log(path).open("wb") as log:
        try:
            done = subprocess.run(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                timeout=timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"It did not end within {timeout:.0f} seconds.") from error
    return done.returncode


def _pickled(call: Callable[[], Any]) -> bytes:
    with hidden_main():
        try:
            return pickle.dumps(call)
        except Exception as error:  # pickle raises AttributeError, TypeError, PicklingError
            raise ValueError(
                f"A fresh process cannot be given this frame and spec: {error}. "
                "A callable must be importable: define it in a module of its own."
            ) from error


def _portable(error: Exception) -> Exception:
    """Give the error, or what it says where it does not survive a pickle."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever a foreign class does when it is put together
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _answer(path: Path) -> Path:
    return path.with_suffix(".answer")


def _log(path: Path) -> Path:
    return path.with_suffix(".log")


if __name__ == "__main__":
    # As `python -m` runs it the module is __main__; its classes must be those that unpickle.
    from dfloader import fresh

    fresh.main(Path(sys.argv[1]))

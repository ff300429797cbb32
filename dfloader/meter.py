"""What a process tree costs: CPU seconds and memory. Needs psutil, an extra.

Memory that processes share is counted once, where the system says so (Linux): the sum of their
proportional shares. Elsewhere it is the sum of what is resident.
"""

import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import dfloader
from dfloader.comparison import Machine
from dfloader.timing import cores, processor
from dfloader.usage import WrongUseError

INSTALL = 'python -m pip install "dfloader[compare]"'
_PACKAGES = (
    *("tensorflow", "keras", "keras-preprocessing", "torch", "numpy", "pandas"),
    *("opencv-python-headless", "simplejpeg", "pillow"),
)
_PERIOD = 0.05  # seconds between looks at the memory: one look takes about 2 ms a process


def require_psutil() -> None:
    """Raise a `WrongUseError` that says what to install, before long work rather than after."""
    if find_spec("psutil") is None:
        raise WrongUseError(
            f"compare measures CPU and memory with psutil, which is not installed: {INSTALL}"
        )


@dataclass
class Clock:
    """Adds up seconds, CPU seconds of this process tree, and those of all other programs."""

    wall: float = 0.0
    cpu: float = 0.0
    others: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what happens inside."""
        wall, cpu, busy = time.perf_counter(), tree_cpu(), _busy()
        yield
        own = tree_cpu() - cpu
        self.wall += time.perf_counter() - wall
        self.cpu += own
        self.others += max(0.0, _busy() - busy - own)


@dataclass
class MemoryWatch:
    """Looks at the memory of this process tree, many times a second while it is entered."""

    peak_bytes: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def look(self) -> None:
        """Look once."""
        self.peak_bytes = max(self.peak_bytes, sum(map(_memory, _tree())))

    def __enter__(self) -> "MemoryWatch":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_PERIOD):
            self.look()


def tree_cpu() -> float:
    """Give the CPU seconds, user and system, of this process and all below it."""
    import psutil

    me, *below = _tree()
    own = me.cpu_times()
    spent = own.user + own.system + own.children_user + own.children_system
    for process in below:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # ended since: its parent has its time
            continue
        spent += times.user + times.system
    return float(spent)


def load() -> float | None:
    """Give how many processes wanted a core in the last minute; None where nobody counts."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def machine_now(load_before: float | None) -> Machine:
    """Describe the machine, after what began at `load_before`."""
    import psutil

    return Machine(
        processor=processor(),
        cores=cores(),
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        system=f"{platform.system()} {platform.release()}",
        versions=_versions(),
        load_before=load_before,
        load_after=load(),
    )


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version(), "dfloader": dfloader.__version__}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):  # a peer that is not installed has no version
            found[name] = version(name)
    return found


def _busy() -> float:
    """Give the seconds that the machine's cores were busy since it started."""
    import psutil

    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0) + getattr(times, "steal", 0.0)
    # Linux counts what guests used in user and nice, too.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - idle - guests)


def _tree() -> list[Any]:
    import psutil

    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def _memory(process: Any) -> int:
    import psutil

    try:
        found = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    return int(getattr(found, "pss", found.rss))

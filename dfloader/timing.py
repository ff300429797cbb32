"""How fast a loader is, by the wall clock, and on which machine. Imports no framework.

What the figures mean (if the code differs, the code is wrong):
1. A pass is every row once, from asking for the first batch to having the last; start-up of
   threads and processes that happens in it counts.
2. Passes of different loaders take turns, so that a machine that slows down slows all of them.
   The first pass of each is not counted: it fills the page cache.
3. Seconds to the first batch run from before the loader is built until its first batch is there,
   with TensorFlow already loaded.
"""

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

Batches = Iterable[Any]
Build = Callable[[], AbstractContextManager[Batches]]

BUILDS = 3  # the first batch is timed this many times; the median is reported


@dataclass(frozen=True)
class Speed:
    """Of one loader: each counted pass in images a second, and the median wait for a batch."""

    passes: tuple[float, ...]
    first_batch: float

    @property
    def images_per_second(self) -> float:
        """The median pass."""
        return median(self.passes)


def measure(
    builds: Mapping[str, Build], rows: int, passes: int, done: Callable[[], None]
) -> dict[str, Speed]:
    """Time several loaders of the same rows against each other.

    Args:
        builds: for each name, what builds the loader afresh.
        rows: how many images one pass must bring.
        passes: how many passes of each loader are counted, at least 1.
        done: called after every pass, `len(builds) * (passes + 1)` times in all.
    """
    waits = {
        name: median(_first_batch(build) for _ in range(BUILDS)) for name, build in builds.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in builds}
    with ExitStack() as stack:
        loaders = {name: stack.enter_context(build()) for name, build in builds.items()}
        for _ in range(passes + 1):
            for name, loader in loaders.items():
                seconds[name].append(_whole_pass(loader, rows))
                done()
    return {
        name: Speed(tuple(rows / each for each in taken[1:]), waits[name])
        for name, taken in seconds.items()
    }


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine() -> str:
    """The processor and its cores, in words: ``AMD EPYC, 2 cores``."""
    count = cores()
    return f"{processor()}, {count} core{'s' if count > 1 else ''}"


def processor() -> str:
    """The processor's name."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _first_batch(build: Build) -> float:
    start = time.perf_counter()
    with build() as loader:
        next(iter(loader))
        return time.perf_counter() - start


def _whole_pass(loader: Batches, rows: int) -> float:
    start = time.perf_counter()
    seen = sum(len(batch[0]) for batch in loader)
    seconds = time.perf_counter() - start
    if seen != rows:
        raise RuntimeError(f"A pass brought {seen} images instead of {rows}.")
    return seconds

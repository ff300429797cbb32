"""One loader's round, in the process that calls it: a fresh one.

1. Modules are imported first; then the clock of the first batch starts, and the loader is built.
2. The rest of the first pass warms up: pages, pools, tuners. Its memory is watched, not its time.
3. Then whole passes are timed, as many as fill the seconds that were asked for. To the last batch
   counts what `images_per_second` says; `wall_images_per_second` counts until the pass is over,
   its iterator gone.
4. With a model, batches are then trained on: what a step waits for its batch, and what it takes.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dfloader.comparison import Round
from dfloader.contestants import Contestant
from dfloader.errors import DataFrameError
from dfloader.meter import Clock, MemoryWatch
from dfloader.peers import Given, Passes
from dfloader.steps import Step, step_of

_WARM_STEPS = 3  # not counted: the first compiles, the next finds the queue full


@dataclass(frozen=True)
class Bout:
    """What is to be measured.

    Attributes:
        contestant: the loader.
        given: what it loads.
        seconds: that the timed passes fill at least, and the training too.
        model: what `check_model` gave.
    """

    contestant: Contestant
    given: Given
    seconds: float
    model: str | None = None

    def __call__(self) -> Round:
        kind = self.contestant.kind
        for module in kind.loads:
            import_module(module)
        watch = MemoryWatch()
        with ExitStack() as stack:
            start = time.perf_counter()
            passes = kind.build(self.given, self.contestant.workers, stack)
            rest = passes()
            if next(rest, None) is None:
                raise DataFrameError("An epoch has no batch.", hint="Drop drop_remainder=True.")
            first = time.perf_counter() - start
            with watch:
                _read(rest)
            del rest
            laps = _timed(passes, self.seconds, watch)
            step = None if self.model is None else step_of(self.model)
            trained = (None, None) if step is None else _trained(passes, step, self.seconds)
            watch.look()
        return Round(
            images_per_second=laps.images / laps.to_last,
            wall_images_per_second=laps.images / laps.clock.wall,
            first_batch_seconds=first,
            cpu_ms_per_image=1000 * laps.clock.cpu / laps.images,
            peak_mb=watch.peak_bytes / 1e6,
            wait_share=trained[0],
            trained_images_per_second=trained[1],
            other_cores=laps.clock.others / laps.clock.wall,
        )


@dataclass
class _Laps:
    """The sum of timed passes."""

    clock: Clock
    images: int = 0
    to_last: float = 0.0


def _timed(passes: Passes, seconds: float, watch: MemoryWatch) -> _Laps:
    laps = _Laps(Clock())
    while laps.clock.wall < seconds:
        with laps.clock.running():
            images, to_last = _read(passes())
        laps.images += images
        laps.to_last += to_last
        watch.look()
    return laps


def _read(batches: Iterator[Any]) -> tuple[int, float]:
    """Read what is left of a pass; give its images, and the seconds to its last batch."""
    start = last = time.perf_counter()
    images = 0
    for batch in batches:
        images += count(batch)
        last = time.perf_counter()
    return images, last - start


def _trained(passes: Passes, step: Step, seconds: float) -> tuple[float, float]:
    """Train for some seconds: the share of it spent waiting, and images a second."""
    waited = worked = 0.0
    images = steps = 0
    while waited + worked < seconds:
        batches = passes()
        while True:
            start = time.perf_counter()
            batch = next(batches, None)
            arrived = time.perf_counter()
            if batch is None:
                waited += arrived - start if steps > _WARM_STEPS else 0.0
                break
            step(batch)
            steps += 1
            if steps > _WARM_STEPS:
                waited += arrived - start
                worked += time.perf_counter() - arrived
                images += count(batch)
    return waited / (waited + worked), images / (waited + worked)


def count(batch: Any) -> int:
    """Count the images of a batch: x, (x, y) or (x, y, w); x may be a dict."""
    x = batch[0] if isinstance(batch, (tuple, list)) else batch
    x = x["image"] if isinstance(x, dict) else x
    return int(x.shape[0])

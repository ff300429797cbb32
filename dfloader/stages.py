"""Measure what each stage of loading costs, in one thread. Imports row_costs, overlap, serve.

1. Rows spread over an epoch are timed stage by stage; then the same rows once more in batches, as
   loaders load them. What these take besides the stages belongs to none.
2. Nothing else should run meanwhile: CPU seconds are those of the whole process, since callables
   and models have threads of their own.
3. A model trains on a few batches, and is another one afterwards.
4. Keras layers among the augmentation are not measured: they work on batches, beside the model.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from multiprocessing import Pipe
from statistics import median

import numpy as np

from dfloader.batch import Batch, Loader
from dfloader.costs import NOTHING, Call, Cost, Pixels, Stages, Training, Transport
from dfloader.errors import DecodeError
from dfloader.overlap import alone_share
from dfloader.row_costs import EPOCH, RowCosts, Slots, Watch, row_costs, touched
from dfloader.rows import Rows, draw_keys, source_rows
from dfloader.serve import Fill
from dfloader.transforms import Call as Transform
from dfloader.transforms import apply

Step = Callable[[Batch], object]

_MOST_ROWS, _FEWEST_ROWS = 64, 4
_TIMES = 2
_GROUP_BYTES = 2**26  # of a batch that is loaded in one go
_MOST_STEPS, _STEP_SECONDS = 8, 0.5  # of a model: whichever is first
_WARM_STEPS = 2  # not counted: the first compiles
_PART = 4  # rows that a worker is given at once
_MESSAGES = 50
_DISK_BYTES = 5e8  # a second: no file is taken to be read faster, however alike their sizes


def measure_stages(loader: Loader, *, step: Step | None = None, seconds: float = 2.0) -> Stages:
    """Measure the stages of a loader.

    Args:
        loader: made by `prepare`.
        step: trains a model on a batch, and returns when that is done.
        seconds: for the stages of single rows, about; whole batches, slow callables and a model
            take theirs besides.

    Raises:
        DecodeError: a file cannot be read or decoded, and `on_error` does not say to skip it; or
            none can.
    """
    caches, loader = loader.cache is not None, replace(loader, cache=None)
    measured = _rows(loader, seconds)
    numbers, rows = np.array(list(measured)), list(measured.values())
    whole, batch, copy = _whole(loader, numbers)
    read, reread = _mean([row.read for row in rows]), _mean([row.reread for row in rows])
    alone = _read_alone(loader, numbers[:1], reread)
    kept = [row.kept for row in rows if row.kept is not None]
    found = Stages(
        rows=len(rows),
        frame_rows=loader.plan.share,
        file_bytes=sum(row.nbytes for row in rows) / len(rows),
        read=replace(read, alone=alone * read.seconds),
        reread=replace(reread, alone=alone * reread.seconds),
        pixels=_mean_pixels([row.pixels for row in rows]),
        whole=whole,
        calls=_calls(loader, numbers[:1], [row.calls for row in rows]),
        batch=batch,
        decode=loader.image.decode,
        scaled=_scaled(rows),
        kept=_mean(kept) if kept else None,
        kept_bytes=sum(values.size for values in touched(loader, numbers[:1]).values()),
        caches=caches,
        per_byte=_per_byte(rows),
        transport=Transport(_through_a_pipe(), copy),
        model=None if step is None else _model(loader, step),
        memory_bytes=_memory_bytes(),
    )
    # The difference of two large numbers is not sure, but each part has been drawn.
    least = _mean([row.change for row in rows]).compute / _PART
    return replace(found, unstaged=max(least, whole.compute - found.staged.compute))


def _rows(loader: Loader, seconds: float) -> dict[int, RowCosts]:
    """Measure rows spread over an epoch, as many as there is time for."""
    order = loader.plan.order(EPOCH)
    found: dict[int, RowCosts] = {}
    start = time.perf_counter()
    for number in order[:: max(1, len(order) // _MOST_ROWS)][:_MOST_ROWS]:
        one = np.array([number])
        try:
            found[int(number)] = row_costs(loader, one)
        except (OSError, DecodeError):
            loader.loaded_rows(EPOCH, one)  # raises it with row and path, unless it is skipped
        if len(found) >= _FEWEST_ROWS and time.perf_counter() - start > seconds:
            break
    if not found:
        raise DecodeError("none of the rows that were tried can be read")
    return found


def _whole(loader: Loader, numbers: Rows) -> tuple[Cost, Cost, Cost]:
    """Load rows in batches: what all of it takes an image, what ends it, and what a copy would."""
    row_bytes = sum(values.nbytes for values in touched(loader, numbers[:1]).values())
    most = max(1, min(loader.plan.spec.batch_size, _GROUP_BYTES // row_bytes))
    size = 1 if loader.pixels() is None else most
    groups = [numbers[i : i + size] for i in range(0, len(numbers), size)]
    costs = [_group(loader, group) for group in groups]
    fill, finish, copy = (
        _over(sum((cost[name] for cost in costs), NOTHING), len(numbers))
        for name in ("fill", "finish", "copy")
    )
    return fill + finish, Cost(finish.compute), Cost(copy.compute)


def _group(loader: Loader, numbers: Rows) -> dict[str, Cost]:
    """Time one batch."""
    pixels, watches = touched(loader, numbers), [Watch() for _ in range(_TIMES)]
    for watch in watches:
        failures: list[DecodeError] = []
        for start in range(0, len(numbers), _PART):
            part = slice(start, start + _PART)
            memory = {name: values[part] for name, values in pixels.items()}
            with watch("fill"):
                failures += loader.fill(EPOCH, numbers[part], memory)
        with watch("finish"):
            loader.finish(EPOCH, numbers, pixels, failures)
    with watches[0]("copy"):  # into fresh memory, as TensorFlow puts examples together
        copies = [values.copy() for values in pixels.values()]
    del copies
    least = min(watches, key=lambda watch: watch.costs["fill"].seconds)
    return {**least.costs, "copy": watches[0].costs["copy"]}


def _read_alone(loader: Loader, number: Rows, cost: Cost) -> float:
    """Give what of the reading runs alone; files are read without Python's lock."""
    images = loader.table.images
    if images.loader is None:
        return 0.0
    return alone_share(partial(images.read, int(source_rows(number)[0])), cost.seconds)


def _calls(loader: Loader, number: Rows, rows: Sequence[tuple[Cost, ...]]) -> tuple[Call, ...]:
    """Give the callables with what they cost, and what of it runs alone."""
    if not loader.calls:
        return ()
    plain = replace(loader, calls=(), image=replace(loader.image, rescale=None))
    slots = touched(loader, number)
    plain.fill(EPOCH, number, slots)
    found = []
    for call, costs in zip(loader.calls, zip(*rows, strict=True), strict=True):
        cost = _mean(costs)
        once = partial(_once, loader, call, slots, int(draw_keys(number)[0]))
        share = alone_share(once, cost.seconds)
        found.append(Call(call.name, replace(cost, alone=share * cost.seconds)))
    return tuple(found)


def _once(loader: Loader, call: Transform, slots: Slots, key: int) -> None:
    image, mask = slots["image"][0], slots["mask"][0] if "mask" in slots else None
    apply([call], image, mask, loader.rng(EPOCH, key))


def _scaled(rows: Sequence[RowCosts]) -> Pixels | None:
    if all(row.scaled is None for row in rows):
        return None
    return _mean_pixels([row.scaled or row.pixels for row in rows])


def _per_byte(rows: Sequence[RowCosts]) -> float:
    """Give the median slope between two files (Theil and Sen): chance moves it little."""
    slopes = [
        (one.read.seconds - other.read.seconds) / (one.nbytes - other.nbytes)
        for one, other in combinations(rows, 2)
        if one.nbytes != other.nbytes
    ]
    return max(1 / _DISK_BYTES, median(slopes) if slopes else 0.0)


def _through_a_pipe() -> Cost:
    """Time the way of a message to a worker process and of its answer, for an image."""
    rows = np.arange(_PART)
    ours, theirs = Pipe()
    watch = Watch()
    with ours, theirs, watch("messages"):
        for _ in range(_MESSAGES):
            ours.send(Fill(0, EPOCH, rows, 0, 0, len(rows)))
            theirs.recv()
            theirs.send(())
            ours.recv()
    return Cost(watch.costs["messages"].compute / _MESSAGES / _PART)


def _model(loader: Loader, step: Step) -> Training:
    """Time training steps."""
    rows = loader.plan.rows(EPOCH, 0)
    batch = loader.loaded_rows(EPOCH, rows).batch
    for _ in range(_WARM_STEPS):
        step(batch)
    steps, seconds, compute = 0, time.perf_counter(), time.process_time()
    while steps < _MOST_STEPS and (not steps or time.perf_counter() - seconds < _STEP_SECONDS):
        step(batch)
        steps += 1
    images = steps * len(rows)
    seconds, compute = time.perf_counter() - seconds, time.process_time() - compute
    return Training(seconds / images, compute / images)


def _memory_bytes() -> int | None:
    if not hasattr(os, "sysconf"):  # Windows
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _mean(costs: Sequence[Cost]) -> Cost:
    return _over(sum(costs, NOTHING), len(costs))


def _mean_pixels(found: Sequence[Pixels]) -> Pixels:
    return Pixels(
        _mean([each.decode for each in found]),
        _mean([each.resize for each in found]),
        _mean([each.augment for each in found]),
    )


def _over(cost: Cost, count: int) -> Cost:
    return Cost(cost.compute / count, cost.wait / count, cost.alone / count)

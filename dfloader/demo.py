"""Train a small network on one frame through every loader, and say how they compare.

Everything runs in the calling process but the worker processes of the loader that has them.
May import the fronts: TensorFlow and Keras are loaded from here on.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from dfloader.plots import Panel, draw_comparison, draw_grid, require_matplotlib
from dfloader.sequence import DataFrameSequence
from dfloader.tasks import Task
from dfloader.tfdata import to_tf_dataset
from dfloader.timing import Speed, machine, measure
from dfloader.training import Training, train

LONG_PASS = 3000  # rows: a timed pass has at least this many, so as to last half a second
EXAMPLES = 32


@dataclass(frozen=True)
class Options:
    """How `run` trains and times.

    Attributes:
        out: the folder that the pictures go to.
        epochs: how often to see the training rows.
        size: height and width of the images in pixels.
        batch_size: rows a batch.
        workers: threads, or processes, of a loader.
        passes: timed passes over the training rows, of each loader.
        seed: of the order of the rows and of the first weights, the same through every loader.
    """

    out: Path
    epochs: int
    size: int
    batch_size: int
    workers: int
    passes: int
    seed: int


@dataclass(frozen=True)
class Result:
    """What one loader came to."""

    loader: str
    training: Training
    speed: Speed


def run(task: Task, options: Options, console: Console) -> list[Result]:
    """Train and time through threads, processes and tf.data; print a table, write two pictures."""
    require_matplotlib()
    options.out.mkdir(parents=True, exist_ok=True)
    _write_examples(task, options)
    console.print(f"{task.name} on {machine()}", soft_wrap=True)
    with _progress(console) as progress:
        trained = _train_all(task, options, progress)
        speeds = _time_all(task, options, progress)
    results = [Result(name, trained[name], speeds[name]) for name in trained]
    console.print(_table(results, plain=not console.is_terminal))
    _write_comparison(task, options, results)
    for name in ("comparison.png", "examples.png"):
        console.print(f"written: {options.out / name}", soft_wrap=True)
    return results


def reaches_floor(task: Task, results: list[Result], console: Console) -> bool:
    """Print whether every loader reached the task's accuracy, where it has one to reach."""
    if task.floor is None:
        return True
    below = [result.loader for result in results if result.training.accuracy < task.floor]
    verdict = f"NOT reached through {', '.join(below)}" if below else "reached through every loader"
    console.print(f"Validation accuracy of {task.floor:.2f}: {verdict}.", soft_wrap=True)
    return not below


def _spec(task: Task, options: Options) -> dict[str, Any]:
    return {
        **vars(task.columns),
        "classes": task.classes,
        "batch_size": options.batch_size,
        "target_size": (options.size, options.size),
        "rescale": 1 / 255,
        "seed": options.seed,
    }


@contextmanager
def _sequence(
    frame: pd.DataFrame, spec: Mapping[str, Any], workers: int, use_multiprocessing: bool
) -> Iterator[Any]:
    with DataFrameSequence(
        frame, workers=workers, use_multiprocessing=use_multiprocessing, **spec
    ) as sequence:
        yield sequence


@contextmanager
def _dataset(frame: pd.DataFrame, spec: Mapping[str, Any], workers: int) -> Iterator[Any]:
    yield to_tf_dataset(frame, **spec, num_parallel_calls=workers)


def _loaders(workers: int) -> dict[str, Callable[..., Any]]:
    return {
        f"{workers} threads": partial(_sequence, workers=workers, use_multiprocessing=False),
        f"{workers} processes": partial(_sequence, workers=workers, use_multiprocessing=True),
        "tf.data": partial(_dataset, workers=workers),
    }


def _train_all(task: Task, options: Options, progress: Progress) -> dict[str, Training]:
    spec = _spec(task, options)
    steps = options.epochs * -(-len(task.train) // options.batch_size)
    trained = {}
    for name, build in _loaders(options.workers).items():
        bar = _begin(progress, f"training through {name}", steps)
        with build(task.train, spec) as batches, build(task.val, {**spec, "shuffle": False}) as val:
            trained[name] = train(
                batches,
                val,
                rows=len(task.train),
                size=options.size,
                classes=len(task.classes),
                epochs=options.epochs,
                seed=options.seed,
                step=partial(progress.advance, bar),
            )
    return trained


def _time_all(task: Task, options: Options, progress: Progress) -> dict[str, Speed]:
    frame, spec = _timed_frame(task), _spec(task, options)
    loaders = _loaders(options.workers)
    bar = _begin(progress, "timing whole passes", len(loaders) * (options.passes + 1))
    builds = {name: partial(build, frame, spec) for name, build in loaders.items()}
    return measure(builds, len(frame), options.passes, partial(progress.advance, bar))


def _timed_frame(task: Task) -> pd.DataFrame:
    """The training rows, several times over if they are few; every row is loaded anew."""
    return pd.concat([task.train] * -(-LONG_PASS // len(task.train)), ignore_index=True)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal)


def _begin(progress: Progress, what: str, total: int) -> TaskID:
    """Start a bar, or say what begins where bars cannot be drawn."""
    if progress.disable:
        progress.console.print(f"{what} ...")
    return progress.add_task(what, total=total)


def _table(results: list[Result], plain: bool) -> Table:
    table = Table(box=None if plain else box.ROUNDED)
    table.add_column("loader")
    for head in (
        "validation\naccuracy",
        "loading,\nimages/s",
        "training,\nimages/s",
        "seconds to\nfirst batch",
    ):
        table.add_column(head, justify="right")
    for result in results:
        table.add_row(
            result.loader,
            f"{result.training.accuracy:.3f}",
            f"{result.speed.images_per_second:,.0f}",
            f"{result.training.images_per_second:,.0f}",
            f"{result.speed.first_batch:.2f}",
        )
    return table


def _write_examples(task: Task, options: Options) -> None:
    """Draw some pictures as a loader gives them."""
    spec = _spec(task, options) | {"batch_size": EXAMPLES, "rescale": None, "dtype": "uint8"}
    images, codes = DataFrameSequence(task.frame, **spec, workers=0)[0]
    labels = [str(task.classes[code]) for code in codes]
    title = f"{task.name}, as loaded: {options.size} x {options.size}"
    draw_grid(options.out / "examples.png", title, list(images), labels)


def _write_comparison(task: Task, options: Options, results: list[Result]) -> None:
    speeds = [result.speed for result in results]
    trainings = [result.training for result in results]
    panels = [
        Panel(
            "loading alone, images/s",
            [speed.images_per_second for speed in speeds],
            [(min(speed.passes), max(speed.passes)) for speed in speeds],
        ),
        Panel("training, images/s", [training.images_per_second for training in trainings]),
        Panel("seconds to first batch", [speed.first_batch for speed in speeds], form="{:.2f}"),
        Panel("validation accuracy", [each.accuracy for each in trainings], form="{:.3f}"),
    ]
    names = [result.loader for result in results]
    title = f"{task.name} on {machine()}"
    draw_comparison(options.out / "comparison.png", title, _note(task, options), names, panels)


def _note(task: Task, options: Options) -> str:
    size = options.size
    return (
        f"{len(task.train)} training and {len(task.val)} validation pictures, {size} x {size}, "
        f"batches of {options.batch_size}, {options.epochs} epochs, seed {options.seed}. "
        f"Loading: median, lowest and highest of {options.passes} passes over "
        f"{len(_timed_frame(task)):,} rows. Training: median epoch."
    )

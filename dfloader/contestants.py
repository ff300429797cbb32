"""Who takes part in a comparison: this package's own loaders, and the peers of `peers`.

A contestant is built in a fresh process, whose frameworks are loaded first; what is built gives
one pass after the other. May import the fronts, where they are used.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dfloader.peers import (
    Given,
    Passes,
    keras_flow,
    keras_preprocessing_flow,
    passes_over,
    tf_by_hand,
    tf_directory,
    torch_loader,
)

Build = Callable[[Given, int, ExitStack], Passes]
Workers = Literal["none", "any", "most"]  # which of the numbers asked for a loader is run with


@dataclass(frozen=True)
class Kind:
    """A loader, whatever its number of workers.

    Attributes:
        name: how people read it.
        build: makes its passes.
        loads: modules to import before its time starts.
        workers: which numbers of workers it is run with.
        of: what its workers are.
        ours: it is one of this package's, so its batches must be equal to the others'.
        by_default: it takes part where no loaders are named.
        proved_with: the keywords under which its batches are compared with the sequence's.
        note: where its work differs.
    """

    name: str
    build: Build
    loads: tuple[str, ...]
    workers: Workers = "any"
    of: str = "threads"
    ours: bool = True
    by_default: bool = True
    proved_with: tuple[tuple[str, Any], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Contestant:
    """A loader with a number of workers."""

    loader: str
    workers: int

    @property
    def kind(self) -> Kind:
        return KINDS[self.loader]

    @property
    def name(self) -> str:
        """How people read it."""
        if self.loader == "inline" or not self.workers:
            return self.kind.name
        one = self.kind.of.removesuffix("es" if self.kind.of == "processes" else "s")
        return f"{self.kind.name}, {self.workers} {one if self.workers == 1 else self.kind.of}"


def lineup(loaders: Sequence[str] | None, workers: Sequence[int]) -> list[Contestant]:
    """Choose who takes part.

    Args:
        loaders: names of `KINDS`; None: all that take part by default.
        workers: numbers of workers. 0 is for those that have none; this package's loaders are run
            with each of the others, a peer with the largest.

    Raises:
        ValueError: a name or a number is none, or nobody is left.
    """
    _check(loaders, workers)
    names = [name for name in KINDS if (KINDS[name].by_default if loaders is None else True)]
    chosen = [name for name in names if loaders is None or name in loaders]
    found = [Contestant(name, n) for name in chosen for n in _numbers(name, workers)]
    if not found:
        raise ValueError(
            f"workers={tuple(workers)!r}: none of {', '.join(chosen)} runs with that. "
            "Name a number from 1 on, or the loader 'inline' with 0."
        )
    return found


def _check(loaders: Sequence[str] | None, workers: Sequence[int]) -> None:
    for name in loaders or ():
        if name not in KINDS:
            near = difflib.get_close_matches(name, KINDS, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"loaders: {name!r} is none of {', '.join(KINDS)}.{guess}")
    for number in workers:
        if not hasattr(number, "__index__") or number < 0:
            raise ValueError(f"workers: {number!r} is not a whole number from 0 on.")


def _numbers(name: str, workers: Sequence[int]) -> list[int]:
    some = sorted({int(number) for number in workers if number})
    choice = KINDS[name].workers
    if name == "inline":
        return [0] if 0 in workers else []
    if choice == "none":
        return [0]
    return some if choice == "any" else some[-1:]


def _sequence(
    given: Given, workers: int, stack: ExitStack, **how: Any
) -> Callable[[], Iterator[Any]]:
    from dfloader.sequence import DataFrameSequence

    spec = {**given.spec, **how}
    seq = stack.enter_context(
        DataFrameSequence(given.frame, given.batch_size, workers=workers, **spec)
    )

    def passes() -> Iterator[Any]:
        yield from seq
        seq.on_epoch_end()

    return passes


def _dataset(given: Given, workers: int, stack: ExitStack) -> Callable[[], Iterator[Any]]:
    from dfloader.tfdata import to_tf_dataset

    ds = to_tf_dataset(given.frame, given.batch_size, num_parallel_calls=workers, **given.spec)
    return passes_over(ds)


def _records(given: Given, workers: int, stack: ExitStack) -> Callable[[], Iterator[Any]]:
    from dfloader.records_read import read_tfrecords
    from dfloader.records_schema import WRITING

    assert given.records is not None
    spec = {name: value for name, value in given.spec.items() if name not in WRITING}
    ds = read_tfrecords(given.records, given.batch_size, num_parallel_calls=workers, **spec)
    return passes_over(ds)


_SEQUENCE = ("dfloader.sequence",)
_TENSORFLOW = ("tensorflow",)
_UPRIGHT = "no EXIF orientation"
KINDS: Mapping[str, Kind] = {
    "inline": Kind("sequence, inline", _sequence, _SEQUENCE),
    "threads": Kind("sequence", _sequence, _SEQUENCE),
    "processes": Kind(
        "sequence", partial(_sequence, use_multiprocessing=True), _SEQUENCE, of="processes"
    ),
    "tf.data": Kind("to_tf_dataset", _dataset, ("dfloader.tfdata",)),
    "cache": Kind(
        "sequence with a cache", partial(_sequence, cache="memory"), _SEQUENCE,
        by_default=False, proved_with=(("cache", "memory"),),
        note="decodes in its warm-up, and from then on reads its memory",
    ),
    "records": Kind(
        "read_tfrecords", _records, ("dfloader.records_read",), by_default=False,
        proved_with=(("shuffle", False),), note="the frame was written as records before",
    ),
    "keras-preprocessing": Kind(
        "keras-preprocessing", keras_preprocessing_flow,
        ("tensorflow", "keras_preprocessing.image"),  # it loads the first itself, later
        workers="none", ours=False, note=f"every pixel decoded by Pillow; {_UPRIGHT}",
    ),
    "keras": Kind(
        "Keras flow_from_dataframe", keras_flow, ("keras",), workers="most", ours=False,
        note=f"every pixel decoded by Pillow; {_UPRIGHT}",
    ),
    "tf.data by hand": Kind(
        "tf.data by hand", tf_by_hand, _TENSORFLOW, workers="none", ours=False,
        note=f"every pixel decoded; parallel as tf.data.AUTOTUNE finds fit; {_UPRIGHT}",
    ),
    "image_dataset_from_directory": Kind(
        "image_dataset_from_directory", tf_directory, ("keras",), workers="none", ours=False,
        note=f"every pixel decoded; parallel as tf.data.AUTOTUNE finds fit; {_UPRIGHT}; "
        "from a folder of links, made before",
    ),
    "torch": Kind(
        "torch DataLoader", torch_loader, ("torch.utils.data",), workers="most", of="processes",
        ours=False, note="decodes and resizes with this package's own code",
    ),
}  # fmt: skip

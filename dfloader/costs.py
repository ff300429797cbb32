"""What each stage of loading costs an image, and the rates that follow. Imports nothing heavy.

How a rate follows from costs (if the code differs, the code is wrong):
1. Computing needs a core: all workers together have as many as there are.
2. Waiting (for a disk, a network, another device) needs none: each worker waits by itself, so more
   workers than cores help.
3. What runs alone (Python that holds its lock) runs in one thread of a process at a time.
   Processes do not share that lock; they pay for transport instead.
4. The rate is the smallest that these allow. Nothing is added for how they get in each other's way.
"""

from dataclasses import dataclass, fields, replace
from typing import Literal

Bound = Literal["read", "decode", "resize", "augmentation", "transport", "rest", "model"]
Limit = Literal["workers", "cores", "alone"]

INLINE, THREADS, PROCESSES, TF_DATA = "inline", "threads", "processes", "tf.data"
MOST_WORKERS = 32  # beyond it, disks and servers seldom give more
_NEARLY = 0.95  # of all that could be had, with far fewer workers
_LEAST = 1e-9  # seconds: nothing takes none


@dataclass(frozen=True)
class Cost:
    """Seconds an image.

    Attributes:
        compute: of a core's time.
        wait: that no core was needed.
        alone: of both, those in which no other thread of the process can do the same.
    """

    compute: float = 0.0
    wait: float = 0.0
    alone: float = 0.0

    @property
    def seconds(self) -> float:
        """What one thread takes."""
        return self.compute + self.wait

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Cost)))


NOTHING = Cost()


@dataclass(frozen=True)
class Pixels:
    """From a file's bytes to its place in the batch.

    Attributes:
        decode: the header, which is read in Python, and the pixels.
        resize: to the target size.
        augment: what an `Augment` adds to that: a warp instead of a resize, colours.
    """

    decode: Cost
    resize: Cost = NOTHING
    augment: Cost = NOTHING

    @property
    def total(self) -> Cost:
        return self.decode + self.resize + self.augment


@dataclass(frozen=True)
class Call:
    """A user's callable."""

    name: str
    cost: Cost


@dataclass(frozen=True)
class Training:
    """What a model takes an image: seconds by the clock, and of the cores' time."""

    seconds: float
    compute: float = 0.0


@dataclass(frozen=True)
class Transport:
    """What it costs to bring an image to where it is used."""

    processes: Cost = NOTHING
    tf_data: Cost = NOTHING

    def of(self, loader: str) -> Cost:
        return {PROCESSES: self.processes, TF_DATA: self.tf_data}.get(loader, NOTHING)


@dataclass(frozen=True)
class Stages:
    """What the stages of loading cost, measured on some rows in one thread.

    Attributes:
        rows: how many were measured.
        frame_rows: how many an epoch has.
        file_bytes: of a file, on average.
        read: a file's bytes, as they were found.
        reread: the same again, from the system's memory where that keeps files.
        pixels: decode, resize, augment as they were asked for.
        calls: the user's callables.
        batch: labels, weights, mixing.
        whole: all of it as loaders do it, with `reread` for `read`, measured in one go.
        unstaged: seconds of `whole` that belong to no stage.
        decode: "scaled" or "full", as asked for.
        scaled: `pixels` with ``decode="scaled"``, where "full" was asked for and it would differ.
        kept: reading and rendering a row that a cache holds; None: there can be no cache.
        kept_bytes: of such a row.
        caches: a cache was asked for.
        per_byte: seconds that one more byte of a file takes to read; what a file takes besides is
            spent on finding and opening it.
        transport: to the consumer.
        model: training; None: no model was given.
        memory_bytes: of the machine; None: the system does not say.
    """

    rows: int
    frame_rows: int
    file_bytes: float
    read: Cost
    reread: Cost
    pixels: Pixels
    whole: Cost = NOTHING
    unstaged: float = 0.0
    calls: tuple[Call, ...] = ()
    batch: Cost = NOTHING
    decode: Literal["scaled", "full"] = "scaled"
    scaled: Pixels | None = None
    kept: Cost | None = None
    kept_bytes: int = 0
    caches: bool = False
    per_byte: float = 0.0
    transport: Transport = Transport()
    model: Training | None = None
    memory_bytes: int | None = None

    @property
    def steady_read(self) -> Cost:
        """What reading costs epoch after epoch: files that fit into memory are kept there."""
        fits = self.frame_rows * self.file_bytes < (self.memory_bytes or 0) / 2
        return self.reread if fits else self.read

    @property
    def called(self) -> Cost:
        """All callables."""
        return sum((call.cost for call in self.calls), NOTHING)

    @property
    def staged(self) -> Cost:
        """The sum of the stages that `whole` has, too."""
        return self.reread + self.pixels.total + self.called + self.batch

    @property
    def covered(self) -> float:
        """The part of `whole` that the stages account for: 1, were every measurement exact."""
        return self.staged.seconds / max(self.whole.seconds, _LEAST)

    @property
    def rest(self) -> Cost:
        """What `unstaged` seconds are: Python that prepares each row."""
        return Cost(compute=self.unstaged, alone=self.unstaged)

    def load(self) -> Cost:
        """What a worker takes for an image, epoch after epoch."""
        if self.caches and self.kept is not None:
            return self.kept + self.called + self.rest
        return self.steady_read + self.pixels.total + self.called + self.rest

    def shares(self, loader: str) -> dict[Bound, Cost]:
        """Give what each stage takes of the loading, with a loader's transport."""
        read, pixels = self.steady_read, self.pixels
        if self.caches and self.kept is not None:
            read, pixels = self.kept, Pixels(NOTHING)
        return {
            "read": read,
            "decode": pixels.decode,
            "resize": pixels.resize,
            "augmentation": pixels.augment + self.called,
            "transport": self.transport.of(loader),
            "rest": self.rest + self.batch,
        }

    def with_cache(self) -> "Stages":
        """Give these stages as they would be with a cache."""
        return replace(self, caches=True)

    def with_scaled_decode(self) -> "Stages":
        """Give these stages as they would be with ``decode="scaled"``."""
        return replace(self, decode="scaled", pixels=self.scaled or self.pixels, scaled=None)

    def with_records(self) -> "Stages":
        """Give these stages as they would be with many images in one large file."""
        read = self.steady_read
        share = min(1.0, self.per_byte * self.file_bytes / max(read.seconds, _LEAST))
        records = Cost(read.compute * share, read.wait * share, read.alone * share)
        return replace(self, read=records, reread=records)


def rate(stages: Stages, loader: str, workers: int, cores: int) -> float:
    """Predict the images a second that a loader brings, without a model beside it.

    Args:
        stages: of the frame.
        loader: inline, threads, processes or tf.data.
        workers: threads or processes; 0: the calling thread.
        cores: that it may use.
    """
    return min(_rates(stages, loader, workers, cores).values())


def limit(stages: Stages, loader: str, workers: int, cores: int) -> Limit:
    """Say which of the rules above sets the rate."""
    rates = _rates(stages, loader, workers, cores)
    return min(rates, key=lambda name: rates[name])


def fewest_workers(stages: Stages, loader: str, cores: int, *, wanted: float | None = None) -> int:
    """Find the fewest workers that bring what is wanted; None: nearly all that can be had."""
    most = rate(stages, loader, MOST_WORKERS, cores)
    enough = _NEARLY * most if wanted is None else min(wanted, _NEARLY * most)
    numbers = range(1, MOST_WORKERS + 1)
    return next(n for n in numbers if rate(stages, loader, n, cores) >= enough)


def _rates(stages: Stages, loader: str, workers: int, cores: int) -> dict[Limit, float]:
    one = stages.load() + stages.transport.of(loader)
    every = one + stages.batch
    if loader == INLINE or not workers:
        return {"workers": 1 / max(every.seconds, _LEAST)}
    alone = {
        THREADS: every.alone,
        PROCESSES: stages.batch.seconds,
        TF_DATA: stages.called.alone,
    }[loader]
    return {
        "cores": cores / max(every.compute, _LEAST),
        "workers": workers / max(one.seconds, _LEAST),
        "alone": 1 / max(alone, _LEAST),
    }

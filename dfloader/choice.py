"""Which loader and how many workers, from stages and from what was measured.

Imports comparison and costs.

1. From stages alone: threads, with the fewest that bring nearly all there is to have; processes
   only where threads stand in each other's way. Where a model is given, as many as it needs.
2. Of loaders that were measured: those that no other is clearly ahead of, and among these the
   simplest. Where a model takes longer than loading, any that hardly keeps it waiting will do.
3. Only this package's own loaders are chosen from; a peer that is ahead is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dfloader.comparison import RANKED_BY, Comparison, Result, places
from dfloader.costs import INLINE, PROCESSES, TF_DATA, THREADS, Stages, fewest_workers, rate

SIMPLEST_FIRST = (THREADS, TF_DATA, PROCESSES, INLINE)
# What the same frame brings with other work done before: that is a change, not a choice.
CHANGED = ("cache", "records")
WORTH = 1.15  # times the rate: less is not worth a change, nor sure
_SPARE = 1.25  # times what a model needs: loading is not as even as training
_LITTLE_WAIT = 0.05  # of a training step


@dataclass(frozen=True)
class Choice:
    """What to use.

    Attributes:
        loader: inline, threads, processes or tf.data.
        workers: of it.
        predicted: images a second, from stages.
        measured: the median of its rounds; None: it was not measured.
        tied: the names of those measured that it is not clearly faster than, nor they than it.
        ahead: the name of a peer that every one of its rounds is behind; "": there is none.
        other_cores: that other programs kept busy while it was measured.
    """

    loader: str
    workers: int
    predicted: float
    measured: float | None = None
    tied: tuple[str, ...] = ()
    ahead: str = ""
    other_cores: float = 0.0

    @property
    def rate(self) -> float:
        """Images a second."""
        return self.predicted if self.measured is None else self.measured

    @property
    def factor(self) -> float:
        """How many times what was predicted was measured."""
        return self.rate / self.predicted


def choose(stages: Stages, cores: int, comparison: Comparison | None = None) -> Choice:
    """Choose a loader, among those that were measured if any were."""
    results = () if comparison is None else comparison.results
    own = [result for result in results if result.loader in SIMPLEST_FIRST]
    if not own:
        return predicted_best(stages, cores)
    chosen = _simplest(_that_suffice(stages, own) or _leaders(stages, cores, own))
    peers = [each for each in results if each.loader not in (*SIMPLEST_FIRST, *CHANGED)]
    return Choice(
        chosen.loader,
        chosen.workers,
        rate(stages, chosen.loader, chosen.workers, cores),
        chosen.median(RANKED_BY),
        tuple(other.name for other in own if other is not chosen and _place(other, chosen) is None),
        next((peer.name for peer in peers if _place(peer, chosen) == 1), ""),
        chosen.median("other_cores") or 0.0,
    )


def predicted_best(stages: Stages, cores: int) -> Choice:
    """Choose from stages alone."""
    wanted = None if stages.model is None else _SPARE / stages.model.seconds
    found = {
        loader: Choice(loader, workers, rate(stages, loader, workers, cores))
        for loader in (THREADS, PROCESSES)
        for workers in [fewest_workers(stages, loader, cores, wanted=wanted)]
    }
    threads, processes = found[THREADS], found[PROCESSES]
    return processes if processes.predicted >= WORTH * threads.predicted else threads


def is_bound_by_model(stages: Stages, images_per_second: float) -> bool:
    """Tell whether a model takes longer than loading at a rate."""
    return stages.model is not None and images_per_second * stages.model.seconds >= 1


def _that_suffice(stages: Stages, results: Sequence[Result]) -> list[Result]:
    """Give those that hardly keep the model waiting, where it is the model that takes long."""
    return [
        each
        for each in results
        if is_bound_by_model(stages, each.median(RANKED_BY) or 0.0)
        and max(each.values("wait_share"), default=1.0) <= _LITTLE_WAIT
    ]


def _leaders(stages: Stages, cores: int, results: Sequence[Result]) -> list[Result]:
    """Give those that may be the fastest; of one round each, what the stages would choose."""
    held = places(results)
    leaders = [each for each in results if (held[each.name] or (1, 1))[0] == 1]
    if None not in held.values():
        return leaders
    best = predicted_best(stages, cores)
    same = [each for each in leaders if each.loader == best.loader]
    return [each for each in same if each.workers == best.workers] or same or leaders


def _simplest(results: Sequence[Result]) -> Result:
    return min(results, key=lambda each: (SIMPLEST_FIRST.index(each.loader), each.workers))


def _place(one: Result, other: Result) -> int | None:
    """Give the place of one of two, or None where neither is clearly ahead."""
    held = places([one, other])[one.name]
    return held[0] if held is not None and held[0] == held[1] else None

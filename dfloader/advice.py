"""Advice on a frame, from measurement: what bounds it, what to use, what a change would bring.

Imports advice_words, choice, comparison, costs.

1. Without a model, what bounds a frame is the stage that takes one thread the longest; with one, it
   is the model wherever that takes longer than loading with what is advised.
2. What a change would bring is predicted from stages, times what was measured of the chosen loader
   over what was predicted of it. All that is predicted is loading alone, no model beside it.
3. A change is offered where it brings 15 % more, and none where the model is the bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dfloader.advice_words import AS_ADVISED, findings, outlook, usage
from dfloader.choice import WORTH, Choice, choose, is_bound_by_model, predicted_best
from dfloader.comparison import RANKED_BY, Comparison, Prediction
from dfloader.costs import TF_DATA, THREADS, Bound, Stages, rate

SMALL_FILE = 1e6  # bytes: in records, what finding and opening each file takes is saved
SLOW_READ = 0.3  # of what one thread takes, spent waiting for files

_CACHE, _RECORDS = "cache", "records"


@dataclass(frozen=True)
class Advice:
    """What to do about a frame.

    Attributes:
        bound: the stage that all waits for.
        choice: the loader to use, with how many workers.
        checks: what to run to see whether this is right: the choice itself where it was not
            measured, then changes, the best first.
        found: what the stages and a comparison say, in words.
    """

    bound: Bound
    choice: Choice
    checks: tuple[Prediction, ...]
    found: str

    @property
    def text(self) -> str:
        """All of it in one paragraph; `checks` that were run with what they brought."""
        return f"{self.found} {outlook(self.checks, self.choice, self.bound)}"


def advise(stages: Stages, cores: int, comparison: Comparison | None = None) -> Advice:
    """Give advice.

    To check it, run `checks` and put what each brought into its `measured`:
    ``replace(advice, checks=...)``.

    Args:
        stages: what `measure_stages` found.
        cores: that loading may use.
        comparison: of the same frame and keywords; None: nothing else was measured.

    Example:
        >>> from dfloader.costs import Cost, Pixels
        >>> slow_disk = Stages(
        ...     rows=64, frame_rows=1000, file_bytes=2e4, read=Cost(0.0001, 0.02),
        ...     reread=Cost(0.0001, 0.02), pixels=Pixels(Cost(0.001), Cost(0.0002)),
        ... )
        >>> advice = advise(slow_disk, cores=2)
        >>> advice.bound, advice.choice.loader, advice.choice.workers
        ('read', 'threads', 31)
    """
    choice = choose(stages, cores, comparison)
    bound = _bound(stages, choice)
    checks = [] if bound == "model" else _changes(stages, cores, choice)
    if choice.measured is None:
        checks.insert(0, Prediction(AS_ADVISED, choice.loader, choice.workers, {}, choice.rate))
    found = findings(stages, cores, bound, choice)
    return Advice(bound, choice, tuple(_measured(each, comparison) for each in checks), found)


def _bound(stages: Stages, choice: Choice) -> Bound:
    if is_bound_by_model(stages, choice.rate):
        return "model"
    shares = stages.shares(choice.loader)
    return max(shares, key=lambda name: shares[name].seconds)


def _changes(stages: Stages, cores: int, choice: Choice) -> list[Prediction]:
    """Give the changes that are worth a run, the best first."""
    found = [
        replace(each, predicted=each.predicted * choice.factor)
        for each in _possible(stages, cores, choice)
    ]
    worth = [each for each in found if each.predicted >= WORTH * choice.rate]
    return sorted(worth, key=lambda each: -each.predicted)


def _possible(stages: Stages, cores: int, choice: Choice) -> Iterator[Prediction]:
    """Give what can be changed, and what the stages say of it."""
    loader, workers = choice.loader, choice.workers
    best = predicted_best(stages, cores)
    if (best.loader, best.workers) != (loader, workers):
        change = usage(best.loader, best.workers)
        yield Prediction(change, best.loader, best.workers, {}, best.predicted)
    if stages.scaled is not None:
        brings = rate(stages.with_scaled_decode(), loader, workers, cores)
        yield Prediction('decode="scaled"', loader, workers, {"decode": "scaled"}, brings)
    if _can_cache(stages):
        brings = rate(stages.with_cache(), loader, workers, cores)
        yield Prediction('cache="memory"', loader, workers, {"cache": "memory"}, brings)
    if _reads_slowly(stages):
        brings = rate(stages.with_records(), TF_DATA, workers, cores)
        yield Prediction("records", _RECORDS, workers, {}, brings)


def _can_cache(stages: Stages) -> bool:
    if stages.kept is None or stages.caches or stages.memory_bytes is None:
        return False
    return stages.kept_bytes * stages.frame_rows < stages.memory_bytes / 2


def _reads_slowly(stages: Stages) -> bool:
    """Tell whether small files keep a thread waiting."""
    waits = stages.steady_read.wait >= SLOW_READ * stages.load().seconds
    return waits and stages.file_bytes <= SMALL_FILE and not stages.caches


def _measured(check: Prediction, comparison: Comparison | None) -> Prediction:
    """Add what a comparison already has of it: a cache with threads, or records."""
    cached = check.loader == THREADS and "cache" in check.spec
    wanted = _CACHE if cached else check.loader
    if comparison is None or (check.spec and not cached):
        return check
    for result in comparison.results:
        if (result.loader, result.workers) == (wanted, check.workers):
            return replace(check, measured=result.median(RANKED_BY))
    return check

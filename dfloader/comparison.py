"""What a comparison found: plain data, its ranking, and its JSON. Imports nothing heavy.

1. A figure of a loader is the median of its rounds, its spread their lowest and highest.
2. A loader is ahead of another only where each of its rounds beat each of the other's. Where
   spreads overlap, and where there was one round only, nothing is ranked.
3. The JSON holds every round, so that whoever reads it can judge anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

SCHEMA = "dfloader.comparison/1"
RANKED_BY = "wall_images_per_second"
FEWEST_ROUNDS = 2  # fewer have no spread


@dataclass(frozen=True)
class Round:
    """What one loader did in one fresh process.

    Attributes:
        images_per_second: from asking for the first batch of a pass to having its last.
        wall_images_per_second: the same until the pass is over, its iterator gone.
        first_batch_seconds: from before the loader is built, its framework loaded, until its
            first batch is there.
        cpu_ms_per_image: of the process and its workers, in user and system.
        peak_mb: the largest memory of the process and its workers together, what they share
            counted once where the system says it.
        wait_share: of a training step, the share (0..1) spent waiting for its batch; None where
            no model was given.
        trained_images_per_second: in training; None likewise.
        other_cores: that other programs kept busy meanwhile; None where the system does not say.
    """

    images_per_second: float
    wall_images_per_second: float
    first_batch_seconds: float
    cpu_ms_per_image: float
    peak_mb: float
    wait_share: float | None = None
    trained_images_per_second: float | None = None
    other_cores: float | None = None


MEASURES = (*Round.__dataclass_fields__,)


@dataclass(frozen=True)
class Result:
    """One loader's rounds.

    Attributes:
        name: how people read it: ``sequence, 2 threads``.
        loader: how `compare` is asked for it: ``threads``.
        workers: threads or processes beside the calling thread; 0: none.
        rounds: in the order they were run, one at least.
        note: where its work differs from the others'.
    """

    name: str
    loader: str
    workers: int
    rounds: tuple[Round, ...]
    note: str = ""

    def values(self, measure: str) -> list[float]:
        """Give a measure of every round; none where it was not measured."""
        found = [getattr(each, measure) for each in self.rounds]
        return [] if None in found else found

    def median(self, measure: str) -> float | None:
        """Give the median of a measure, or None where it was not measured."""
        values = self.values(measure)
        return median(values) if values else None

    def spread(self, measure: str) -> tuple[float, float] | None:
        """Give the lowest and highest of a measure, or None where it was not measured."""
        values = self.values(measure)
        return (min(values), max(values)) if values else None


@dataclass(frozen=True)
class LeftOut:
    """A loader that was not measured, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Machine:
    """Where it ran, and what else ran there.

    Attributes:
        processor: its name.
        cores: that this process may use.
        memory_gb: of the machine; None where the system does not say.
        system: the operating system.
        versions: of Python and of the packages that did the work.
        load_before: processes that wanted a core in the minute before; None as above.
        load_after: likewise at the end, the comparison's own among them.
    """

    processor: str
    cores: int
    memory_gb: float | None
    system: str
    versions: Mapping[str, str]
    load_before: float | None = None
    load_after: float | None = None


@dataclass(frozen=True)
class Work:
    """What every loader was asked for.

    Attributes:
        frame: what the frame is called.
        rows: of the frame.
        rows_a_pass: what one timed pass reads: the frame several times over, or a part of it.
        batch_size: rows in a batch.
        spec: the keywords in words.
        model: the cost of a training step in words, if a model was given.
    """

    frame: str
    rows: int
    rows_a_pass: int
    batch_size: int
    spec: Mapping[str, str]
    model: str | None = None


@dataclass(frozen=True)
class Proof:
    """That the loaders of this package gave equal batches.

    Attributes:
        loaders: the names of those that were compared with the first.
        rows: how many rows of each were compared.
        difference: the largest between two pixels, in levels of 0..255.
    """

    loaders: tuple[str, ...]
    rows: int
    difference: float


@dataclass(frozen=True)
class Prediction:
    """A change that was predicted, and what a run of it then brought.

    Attributes:
        change: in words.
        loader: as `Result.loader`.
        workers: as `Result.workers`.
        spec: the keywords that change.
        predicted: images a second.
        measured: likewise; None: it was not run.
    """

    change: str
    loader: str
    workers: int
    spec: Mapping[str, Any]
    predicted: float
    measured: float | None = None


@dataclass(frozen=True)
class Comparison:
    """All that a comparison found."""

    work: Work
    machine: Machine
    results: tuple[Result, ...]
    left_out: tuple[LeftOut, ...] = ()
    proof: Proof | None = None
    advice: str = ""
    predictions: tuple[Prediction, ...] = field(default=())

    def ranked(self) -> list[Result]:
        """Give the results by their median, the fastest first."""
        return sorted(self.results, key=lambda each: -(each.median(RANKED_BY) or 0.0))

    def verdict(self) -> str:
        """Say in a sentence which loader is the fastest, or that none clearly is."""
        return verdict(self.ranked())


def places(results: Sequence[Result]) -> dict[str, tuple[int, int] | None]:
    """Give the first and last place that each may hold, by name; None: nothing is ranked."""
    if any(len(each.rounds) < FEWEST_ROUNDS for each in results):
        return {each.name: None for each in results}
    return {
        each.name: (
            1 + sum(_ahead(other, each) for other in results),
            len(results) - sum(_ahead(each, other) for other in results),
        )
        for each in results
    }


def verdict(results: Sequence[Result]) -> str:
    """Say in a sentence which is the fastest, or that none clearly is."""
    held = places(results)
    if None in held.values():
        return "Nothing is ranked: one round has no spread."
    leaders = [name for name, place in held.items() if place is not None and place[0] == 1]
    if len(leaders) == 1:
        return f"{leaders[0]} is the fastest: its slowest round beat every other's best."
    return f"No clear winner between {_listed(leaders)}: their spreads overlap."


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Turn a comparison into what `json.dump` takes; docs/comparison.md describes it."""
    held = places(comparison.results)
    results = [
        {
            **asdict(result),
            "rounds": [asdict(each) for each in result.rounds],
            "median": {name: result.median(name) for name in MEASURES},
            "spread": {name: _pair(result.spread(name)) for name in MEASURES},
            "place": _pair(held[result.name]),
        }
        for result in comparison.ranked()
    ]
    predictions = [
        {**asdict(each), "spec": {name: str(value) for name, value in each.spec.items()}}
        for each in comparison.predictions
    ]
    return {
        "schema": SCHEMA,
        "verdict": comparison.verdict(),
        "work": asdict(comparison.work),
        "machine": asdict(comparison.machine),
        "proof": None if comparison.proof is None else _proof_json(comparison.proof),
        "results": results,
        "left_out": [asdict(each) for each in comparison.left_out],
        "advice": comparison.advice,
        "predictions": predictions,
    }


def from_json(found: Mapping[str, Any]) -> Comparison:
    """Read what `to_json` made; what follows from the rounds is worked out anew.

    Raises:
        ValueError: it is of another schema.
    """
    if found.get("schema") != SCHEMA:
        raise ValueError(f"schema={found.get('schema')!r} is not {SCHEMA!r}.")
    proof = found["proof"]
    return Comparison(
        Work(**found["work"]),
        Machine(**found["machine"]),
        tuple(_result(each) for each in found["results"]),
        tuple(LeftOut(**each) for each in found["left_out"]),
        None if proof is None else Proof(**{**proof, "loaders": tuple(proof["loaders"])}),
        found["advice"],
        tuple(Prediction(**each) for each in found["predictions"]),
    )


def _ahead(one: Result, other: Result) -> bool:
    return min(one.values(RANKED_BY)) > max(other.values(RANKED_BY))


def _listed(names: Sequence[str]) -> str:
    return f"{'; '.join(names[:-1])} and {names[-1]}"


def _pair(values: tuple[Any, Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _proof_json(proof: Proof) -> dict[str, Any]:
    return {**asdict(proof), "loaders": list(proof.loaders)}


def _result(found: Mapping[str, Any]) -> Result:
    rounds = tuple(Round(**each) for each in found["rounds"])
    return Result(found["name"], found["loader"], found["workers"], rounds, found["note"])

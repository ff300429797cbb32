"""`compare`: how fast each loader is on one frame, on this machine.

1. First the loaders of this package must give equal batches; else nothing is measured.
2. Each loader runs in a fresh process every round; rounds take turns, each begun by another loader,
   so that a machine that slows down slows all of them.
3. A peer that cannot do the work, or fails at it, is left out and says why. A loader of this
   package that fails ends the comparison with its error.
4. The stages of loading are measured before all else, and at the end what they advise is checked
   with a run of each change that they predict.
5. Where the budget ends, rounds are left out, but never the second: one round has no spread.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from dfloader.bar import Bar, shown_bar
from dfloader.bout import Bout
from dfloader.compare_advice import MOST_CHECKS, Staging, advised
from dfloader.compare_work import Subject, read_subject
from dfloader.comparison import (
    FEWEST_ROUNDS,
    RANKED_BY,
    Comparison,
    LeftOut,
    Prediction,
    Proof,
    Result,
    Round,
)
from dfloader.comparison_table import frame_of
from dfloader.contestants import Contestant, lineup
from dfloader.costs import Stages
from dfloader.equality import Proving
from dfloader.fresh import run_fresh
from dfloader.meter import load, machine_now, require_psutil
from dfloader.peers import Given
from dfloader.peers_check import reason_against
from dfloader.records_schema import WRITING
from dfloader.records_write import write_tfrecords
from dfloader.steps import check_model

BUDGET_SECONDS = 150.0
ROUNDS = 3
_START_SECONDS = 4.5  # of a process that loads TensorFlow, and of its first batch
_SHORTEST, _LONGEST = 0.4, 5.0  # seconds of timed passes in a bout
# Of those seconds, what a pass takes one thread: slow peers take several times as long.
_PASS_SHARE = 0.35
_OVERRUN = 0.1  # of the budget: a round that is not over by then is given up
_STAGED_ROWS = 512
_STAGED_SECONDS, _STAGED_SHARE = 2.0, 0.02  # at most, and of the budget
_STUCK_SECONDS = 900.0  # after which a peer's bout is given up


@dataclass(frozen=True)
class Options:
    """How to compare.

    Attributes:
        loaders: which; None: all that need not be asked for.
        workers: their numbers of workers.
        model: a Keras file, or a cost such as ``5ms``.
        rounds: of each loader, at least 1.
        budget: seconds that all of it shall take.
        progress: show a bar, where there is a terminal.
    """

    loaders: Sequence[str] | None = None
    workers: Sequence[int] = (0, 2)
    model: str | None = None
    rounds: int = ROUNDS
    budget: float = BUDGET_SECONDS
    progress: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.rounds, "__index__") or self.rounds < 1:
            raise ValueError(f"rounds={self.rounds!r} is not a whole number from 1 on.")
        if not self.budget > 0:
            raise ValueError(f"budget={self.budget!r} is not a positive number of seconds.")


def compare(
    df: Any,
    *,
    loaders: Sequence[str] | None = None,
    workers: Sequence[int] = (0, 2),
    batch_size: int = 32,
    model: str | None = None,
    rounds: int = ROUNDS,
    budget: float = BUDGET_SECONDS,
    progress: bool = False,
    **spec: Any,
) -> pd.DataFrame:
    """Measure each loader on a frame, in fresh processes that take turns.

    Args:
        df: the frame.
        loaders: ``inline``, ``threads``, ``processes``, ``tf.data``, ``cache``, ``records``,
            ``keras-preprocessing``, ``keras``, ``tf.data by hand``,
            ``image_dataset_from_directory``, ``torch``; None: all but the cache and records.
        workers: the numbers of threads or processes to try; 0: the calling thread.
        batch_size: rows in a batch.
        model: a compiled Keras model's file, or a cost such as ``"5ms"``: what a training step
            waits for its batch is then measured, too.
        rounds: how often each loader is measured.
        budget: seconds to spend; fewer rounds than asked for fit, but two at least.
        progress: show a bar, where there is a terminal.
        **spec: the common keywords, as for `DataFrameSequence`.

    Returns:
        One line a loader, the fastest first: ``loader``, ``workers``, ``rounds``, the place or
        places it may hold (``place``), and the median, lowest and highest of each measure
        (``images_per_second``, ``images_per_second_low``, ``images_per_second_high``, ...). Its
        ``attrs["comparison"]`` is what `dfloader compare --json` writes: machine, proof, loaders
        left out, advice.

    Raises:
        DataFrameError: the frame is wrong.
        DecodeError: an image is.
        UnequalBatchesError: loaders of this package gave different batches.
        WrongUseError: psutil is missing, or the model is none.

    Example:
        >>> import pandas as pd
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> found = compare(df, loaders=["inline"], rounds=1, budget=1, directory="sample_data")
        >>> found["loader"].tolist()
        ['inline']
    """
    options = Options(loaders, workers, model, rounds, budget, progress)
    return frame_of(run(df, options, batch_size=batch_size, **spec))


def run(
    df: Any, options: Options, *, name: str = "the frame", batch_size: int = 32, **spec: Any
) -> Comparison:
    """Do what `compare` does, and give all that was found."""
    require_psutil()
    started, before = time.monotonic(), load()
    model = check_model(options.model)
    contestants = lineup(options.loaders, options.workers)
    subject = read_subject(df, batch_size, spec)
    with shown_bar(options.progress) as bar, TemporaryDirectory(prefix="dfloader-") as folder:
        contest = Contest(subject, replace(options, model=model), bar, Path(folder), started)
        stages = contest.staged()
        contest.hold(contestants, 1 / stages.load().seconds)
        comparison = Comparison(
            subject.work(name, len(contest.given.frame), model),
            machine_now(before),
            contest.results,
            contest.left_out,
            contest.proof,
        )
        return advised(comparison, stages, contest.check)


@dataclass
class Contest:
    """The rounds of a comparison.

    Attributes:
        subject: what is loaded.
        options: how.
        bar: called with how many bouts there are and what begins.
        folder: for records.
        started: when the budget began.
        out: why a contestant was left out.
        rounds: of the others.
        given: what all of them loaded.
        proof: that this package's gave equal batches.
        seconds: of the timed passes of a bout.
    """

    subject: Subject
    options: Options
    bar: Bar
    folder: Path
    started: float
    out: dict[Contestant, str] = field(default_factory=dict)
    rounds: dict[Contestant, list[Round]] = field(default_factory=dict)
    given: Given = field(init=False)
    proof: Proof = field(init=False)
    seconds: float = field(init=False)

    def staged(self) -> Stages:
        """Measure what each stage of loading costs, first of all: files may not be cached yet."""
        self.bar.begin("measuring the stages of loading", None)
        few = self.subject.given(_STAGED_ROWS, repeat=False)
        seconds = min(_STAGED_SECONDS, self.options.budget * _STAGED_SHARE)
        return run_fresh(Staging(few, len(self.subject.kept), seconds, self.options.model))

    def hold(self, contestants: Sequence[Contestant], images_per_second: float) -> None:
        """Prove, then measure round after round.

        Args:
            contestants: who takes part.
            images_per_second: that one thread loads, about: it says how long a pass should be.
        """
        self.proof = self._proved(contestants)
        chosen = [each for each in contestants if each not in self.out]
        self.seconds = self._seconds(len(chosen))
        rows = int(images_per_second * self.seconds * _PASS_SHARE)
        self.given = self.subject.given(max(self.subject.batch_size, rows))
        given = self._written(self.given, chosen)
        self.rounds = {each: [] for each in chosen}
        since = time.monotonic()
        for number in range(self.options.rounds):
            if number >= FEWEST_ROUNDS and self._left() < (time.monotonic() - since) / number:
                break
            self._round(number, given)

    def check(self, contestant: Contestant, prediction: Prediction) -> float | None:
        """Run what was predicted, if there is time for it: images a second."""
        if self._left() < _START_SECONDS + self.seconds:
            return None
        self.bar.step(f"checking {prediction.change}")
        given = replace(self.given, spec={**self.given.spec, **prediction.spec})
        bout = Bout(contestant, self._written(given, [contestant]), self.seconds)
        return float(getattr(run_fresh(bout), RANKED_BY))

    @property
    def results(self) -> tuple[Result, ...]:
        """The rounds of those that are still in."""
        return tuple(
            Result(each.name, each.loader, each.workers, tuple(rounds), each.kind.note)
            for each, rounds in self.rounds.items()
            if each not in self.out
        )

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Those that are not, and why."""
        return tuple(LeftOut(each.name, reason) for each, reason in self.out.items())

    def _proved(self, contestants: Sequence[Contestant]) -> Proof:
        for each in contestants:
            if not each.kind.ours:
                reason = reason_against(each.loader, self.subject.said, self.subject.loader)
                self.out |= {} if reason is None else {each: reason}
        count = len(contestants) - len(self.out)
        total = 1 + count * self.options.rounds + MOST_CHECKS
        self.bar.begin("proving that batches are equal", total)
        ours = [each for each in contestants if each.kind.ours]
        few = self._written(self.subject.few(), ours)
        proved = run_fresh(Proving(ours, few))
        self.out |= proved.refused
        return proved.proof

    def _round(self, number: int, given: Given) -> None:
        names = list(self.rounds)
        first = number % len(names) if names else 0
        for each in names[first:] + names[:first]:
            if each in self.out:
                continue
            if number >= FEWEST_ROUNDS and self._left() < -_OVERRUN * self.options.budget:
                self.rounds = {name: rounds[:number] for name, rounds in self.rounds.items()}
                return  # all have as many rounds again
            self.bar.step(f"round {number + 1}: {each.name}")
            bout = Bout(each, given, self.seconds, self.options.model)
            if each.kind.ours:
                self.rounds[each].append(run_fresh(bout))
                continue
            try:
                self.rounds[each].append(run_fresh(bout, timeout=_STUCK_SECONDS))
            except Exception as error:  # whatever another package does: it is said in the report
                self.out[each] = f"it failed: {type(error).__name__}: {_first_line(error)}"

    def _written(self, given: Given, contestants: Sequence[Contestant]) -> Given:
        """Write the records, if anyone reads them."""
        if all(each.loader != "records" for each in contestants):
            return given
        folder = self.folder / f"records-{len(given.frame)}"
        spec = {name: value for name, value in given.spec.items() if name in WRITING}
        write_tfrecords(given.frame, folder, progress=False, **spec)
        return replace(given, records=str(folder))

    def _seconds(self, contestants: int) -> float:
        bouts = contestants * self.options.rounds + MOST_CHECKS
        for_passes = self._left() / bouts - _START_SECONDS
        return min(_LONGEST, max(_SHORTEST, for_passes / 2))  # the other half: to warm up

    def _left(self) -> float:
        return self.options.budget - (time.monotonic() - self.started)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or "without a word").splitlines()[0]

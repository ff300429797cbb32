"""`compare`: how fast each loader is on one frame, on this machine.

1. First the loaders of this package must give equal batches; else nothing is measured.
2. Each loader runs in a fresh process every round; rounds take turns, each begun by another loader,
   so that a machine that slows down slows all of them.
3. A peer that cannot do the work, or fails at it, is left out and says why. A loader of this
   package that fails ends the comparison with its error.
4. Where the budget ends, rounds are left out, but never the second: one round has no spread.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dfloader.bout import Bout
from dfloader.compare_work import Subject, read_subject
from dfloader.comparison import FEWEST_ROUNDS, Comparison, LeftOut, Proof, Result, Round
from dfloader.comparison_table import frame_of
from dfloader.contestants import Contestant, lineup
from dfloader.equality import Proved, Proving
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
_PASS_SHARE = 0.6  # of those seconds, that one pass takes in the calling thread
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
    with _bar(options) as bar, TemporaryDirectory(prefix="dfloader-") as folder:
        contest = Contest(subject, replace(options, model=model), bar, Path(folder), started)
        results, left_out, proof, rows = contest.held(contestants)
    return Comparison(
        subject.work(name, rows, model),
        machine_now(before),
        results,
        left_out,
        proof,
    )


@dataclass
class Contest:
    """The rounds of a comparison.

    Attributes:
        subject: what is loaded.
        options: how.
        bar: called with how many bouts there are and what begins.
        folder: for records.
        started: when the budget began.
    """

    subject: Subject
    options: Options
    bar: "Bar"
    folder: Path
    started: float
    out: dict[Contestant, str] = field(default_factory=dict)
    rounds: dict[Contestant, list[Round]] = field(default_factory=dict)

    def held(
        self, contestants: Sequence[Contestant]
    ) -> tuple[tuple[Result, ...], tuple[LeftOut, ...], Proof, int]:
        """Prove, then measure: the results, who was left out, the proof, the rows a pass."""
        proved = self._proved(contestants)
        chosen = [each for each in contestants if each not in self.out]
        seconds = self._seconds(len(chosen))
        rows = max(self.subject.batch_size, int(proved.images_per_second * seconds * _PASS_SHARE))
        given = self._written(self.subject.given(rows), chosen)
        self.rounds = {each: [] for each in chosen}
        for number in range(self.options.rounds):
            if number >= FEWEST_ROUNDS and self._left() < self._spent() / number:
                break
            self._round(number, given, seconds)
        results = tuple(
            Result(each.name, each.loader, each.workers, tuple(rounds), each.kind.note)
            for each, rounds in self.rounds.items()
            if each not in self.out
        )
        left = tuple(LeftOut(each.name, reason) for each, reason in self.out.items())
        return results, left, proved.proof, len(given.frame)

    def _proved(self, contestants: Sequence[Contestant]) -> Proved:
        for each in contestants:
            if not each.kind.ours:
                reason = reason_against(each.loader, self.subject.said, self.subject.loader)
                self.out |= {} if reason is None else {each: reason}
        count = len(contestants) - len(self.out)
        self.bar.begin("proving that batches are equal", count * self.options.rounds + 1)
        ours = [each for each in contestants if each.kind.ours]
        few = self._written(self.subject.few(), ours)
        proved = run_fresh(Proving(ours, few))
        self.out |= proved.refused
        self._measuring_since = time.monotonic()
        return proved

    def _round(self, number: int, given: Given, seconds: float) -> None:
        names = list(self.rounds)
        first = number % len(names) if names else 0
        for each in names[first:] + names[:first]:
            if each in self.out:
                continue
            self.bar.step(f"round {number + 1}: {each.name}")
            bout = Bout(each, given, seconds, self.options.model)
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
        bouts = max(1, contestants * self.options.rounds)
        return min(_LONGEST, max(_SHORTEST, self._left() / bouts - _START_SECONDS))

    def _left(self) -> float:
        return self.options.budget - (time.monotonic() - self.started)

    def _spent(self) -> float:
        return time.monotonic() - self._measuring_since


class Bar:
    """Says what runs, with the time that is left; nothing where there is no terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def begin(self, what: str, total: int) -> None:
        """Say what runs first of `total` parts."""
        self._progress.update(self._task, description=what, total=total)

    def step(self, what: str) -> None:
        """Say that a part is over, and what runs now."""
        self._progress.update(self._task, description=what, advance=1)


@contextmanager
def _bar(options: Options) -> Iterator[Bar]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = options.progress and console.is_terminal
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not shown
    ) as progress:
        yield Bar(progress)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or "without a word").splitlines()[0]

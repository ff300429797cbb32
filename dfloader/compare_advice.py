"""The advice at the end of a comparison, and the runs that check what it predicts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec

from dfloader.advice import Advice, advise
from dfloader.comparison import Comparison, Prediction
from dfloader.contestants import Contestant
from dfloader.costs import Stages
from dfloader.peers import Given
from dfloader.stages import measure_stages
from dfloader.steps import step_of

MOST_CHECKS = 3

Check = Callable[[Contestant, Prediction], float | None]


@dataclass(frozen=True)
class Staging:
    """What is to be measured in a fresh process, before anything else reads the files.

    Attributes:
        given: some rows of the frame.
        frame_rows: of the whole frame.
        seconds: for single rows, about.
        model: what `check_model` gave.
    """

    given: Given
    frame_rows: int
    seconds: float
    model: str | None = None

    def __call__(self) -> Stages:
        step = None if self.model is None else step_of(self.model)
        stages = measure_stages(self.given.loader, step=step, seconds=self.seconds)
        return replace(stages, frame_rows=self.frame_rows)


def advised(comparison: Comparison, stages: Stages, check: Check) -> Comparison:
    """Add advice, and what came of the changes that it predicts.

    Args:
        comparison: without advice.
        stages: of the same frame.
        check: runs a loader under the keywords of a prediction, and gives its images a second, or
            None where there is no time for it.
    """
    advice = advise(stages, comparison.machine.cores, comparison)
    first, rest = advice.checks[:MOST_CHECKS], advice.checks[MOST_CHECKS:]
    checked = Advice(
        advice.bound, advice.choice, (*(_checked(each, check) for each in first), *rest),
        advice.found,
    )  # fmt: skip
    return replace(comparison, advice=checked.text, predictions=checked.checks)


def _checked(prediction: Prediction, check: Check) -> Prediction:
    if prediction.measured is not None:
        return prediction
    if prediction.loader == "records" and find_spec("pyarrow") is None:
        return prediction
    contestant = Contestant(prediction.loader, prediction.workers)
    return replace(prediction, measured=check(contestant, prediction))

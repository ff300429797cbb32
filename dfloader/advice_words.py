"""Advice in words. Imports choice, comparison and costs."""

from collections.abc import Sequence
from math import floor, log10

from dfloader.choice import Choice
from dfloader.comparison import Prediction
from dfloader.costs import INLINE, PROCESSES, TF_DATA, THREADS, Bound, Cost, Stages, limit

AS_ADVISED = "as advised"

_SHOWN = 0.05  # of a row's time: a stage that takes less is not worth a word
_MOSTLY = 0.5
_BUSY = 0.2  # cores: less may be the clocks
_SLOWER = 1.5  # times as long as in a later epoch

_USED: dict[str, str] = {
    INLINE: "DataFrameSequence(df, workers=0)",
    THREADS: "DataFrameSequence(df, workers={})",
    PROCESSES: "DataFrameSequence(df, workers={}, use_multiprocessing=True)",
    TF_DATA: "to_tf_dataset(df, num_parallel_calls={})",
}
_BOUND: dict[Bound, str] = {
    "read": "Reading files bounds this frame.",
    "decode": "Decoding bounds this frame.",
    "resize": "Resizing bounds this frame.",
    "augmentation": "Augmentation bounds this frame.",
    "transport": "Bringing images from the workers bounds this frame.",
    "rest": "Python's own work on each row bounds this frame: there is little else to do.",
}


def usage(loader: str, workers: int) -> str:
    """Say how a loader of this package is called."""
    return _USED[loader].format(workers)


def findings(stages: Stages, cores: int, bound: Bound, choice: Choice) -> str:
    """Say what the stages and a comparison show, and what to use."""
    sentences = (
        _stages(stages, choice.loader),
        _BOUND.get(bound, ""),
        _model(stages, cores, choice),
        _first_epoch(stages),
        f"Use {usage(choice.loader, choice.workers)}: {_rate_of(choice)}.",
        _reason(stages, cores, choice),
        _others(choice),
    )
    return " ".join(sentence for sentence in sentences if sentence)


def outlook(checks: Sequence[Prediction], choice: Choice, bound: Bound) -> str:
    """Say what changes would bring, and what those that were run did bring."""
    run = [each for each in checks if each.change == AS_ADVISED and each.measured is not None]
    changes = [each for each in checks if each.change != AS_ADVISED]
    said = [_check(each, choice) for each in (*run, *changes)]
    if bound == "model":
        said.append("Nothing that makes loading faster makes training faster.")
    elif not changes:
        said.append("No other decode=, cache=, loader or number of workers promises 15 % more.")
    return " ".join(said)


def _stages(stages: Stages, loader: str) -> str:
    shares = stages.shares(loader)
    total = sum(cost.seconds for cost in shares.values())
    named = sorted(shares.items(), key=lambda item: -item[1].seconds)
    parts = [_part(name, cost) for name, cost in named if cost.seconds >= _SHOWN * total]
    count = f"{stages.rows} row{'' if stages.rows == 1 else 's'}"
    return f"An image takes one thread {_ms(total)} (measured on {count}): {', '.join(parts)}."


def _part(name: Bound, cost: Cost) -> str:
    waits = f" ({_ms(cost.wait)} of it waiting)" if cost.wait >= _SHOWN * cost.seconds else ""
    return f"{name} {_ms(cost.seconds)}{waits}"


def _model(stages: Stages, cores: int, choice: Choice) -> str:
    model = stages.model
    if model is None:
        return ""
    takes = f"The model takes {_ms(model.seconds)} an image, so {about(1 / model.seconds)} a second"
    if choice.rate * model.seconds >= 1:
        return f"{takes}, which bounds training: loading brings more."
    both = cores / (stages.load().compute + model.compute)
    if both < choice.rate:
        return f"{takes}, and shares the cores with loading: {about(both)} a second in training."
    return f"{takes}: it waits for loading."


def _first_epoch(stages: Stages) -> str:
    more = stages.read.seconds - stages.steady_read.seconds
    if more <= (_SLOWER - 1) * stages.load().seconds or stages.caches:
        return ""
    return f"The first epoch takes {_ms(more)} more an image, until the system keeps the files."


def _rate_of(choice: Choice) -> str:
    predicted = f"about {about(choice.predicted)} images/s predicted"
    if choice.measured is None:
        return predicted
    percent = round(100 * (choice.measured / choice.predicted - 1))
    than = f"{abs(percent)} % {'more' if percent > 0 else 'less'} than" if percent else "as"
    busy = f", other programs keeping {about(choice.other_cores)} cores busy"
    said = f"{about(choice.measured)} images/s measured, {than} predicted from the stages"
    return said + (busy if choice.other_cores >= _BUSY else "")


def _reason(stages: Stages, cores: int, choice: Choice) -> str:
    if choice.loader == PROCESSES:
        alone = [c.name for c in stages.calls if c.cost.alone > _MOSTLY * c.cost.seconds]
        said = f"Processes, because {' and '.join(alone)} runs in one thread at a time."
        return said if alone else ""
    if choice.loader != INLINE and choice.workers > cores:
        return f"More workers than the {cores} cores, because they wait most of the time."
    if limit(stages, choice.loader, choice.workers, cores) == "cores" and choice.measured is None:
        return f"More workers would not help: the {cores} cores are busy."
    return ""


def _others(choice: Choice) -> str:
    said = []
    if choice.tied:
        said.append(f"No clear difference to {'; '.join(choice.tied)}: their spreads overlap.")
    if choice.ahead:
        said.append(f"{choice.ahead} was faster in every round.")
    return " ".join(said)


def _check(check: Prediction, choice: Choice) -> str:
    times = "" if check.change == AS_ADVISED else f" ({about(check.predicted / choice.rate)} times)"
    said = f"{check.change}: about {about(check.predicted)} images/s predicted{times}"
    if check.measured is None:
        return f"{said}, not run."
    return f"{said}, {about(check.measured)} measured."


def about(value: float) -> str:
    """Give a number with two digits that count: 1,200."""
    if value <= 0:
        return "0"
    digits = 1 - floor(log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def _ms(seconds: float) -> str:
    return f"{about(1000 * seconds)} ms"

"""Advice: every branch on made-up figures, and four made-up situations that are really measured."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pytest
from fsspec.implementations.local import LocalFileSystem
from PIL import Image

from dfloader.advice import Advice, advise
from dfloader.advice_words import about
from dfloader.batch import prepare
from dfloader.choice import choose
from dfloader.comparison import Comparison, Machine, Result, Round, Work
from dfloader.costs import Call, Cost, Pixels, Stages, Training, Transport
from dfloader.frame import resolve
from dfloader.spec import parse
from dfloader.stages import measure_stages

CORES = 2
# 4 ms an image in one thread, so 250 images/s in one and 500 on two cores.
PLAIN = Stages(
    rows=64,
    frame_rows=1000,
    file_bytes=20_000,
    read=Cost(0.0002),
    reread=Cost(0.0002),
    pixels=Pixels(Cost(0.0028), Cost(0.0005), Cost(0.0005)),
    memory_bytes=10**9,
)
PYTHON = replace(PLAIN, calls=(Call("spin", Cost(0.03, alone=0.03)),))
SLOW_DISK = replace(PLAIN, read=Cost(0.0002, 0.02), reread=Cost(0.0002, 0.02))


def result(loader: str, workers: int, *rates: float, wait: float | None = None) -> Result:
    rounds = tuple(Round(each, each, 0.5, 1.5, 200.0, wait) for each in rates)
    return Result(f"{loader} {workers}", loader, workers, rounds)


def compared(*results: Result) -> Comparison:
    machine = Machine("AMD EPYC", CORES, 24.0, "Linux", {})
    return Comparison(Work("frame", 1000, 1000, 32, {}), machine, results)


def predicted(advice: Advice) -> dict[str, float]:
    return {check.change: check.predicted for check in advice.checks}


def test_u095_computing_is_for_as_many_threads_as_cores() -> None:
    found = advise(PLAIN, CORES)
    assert (found.bound, found.choice.loader, found.choice.workers) == ("decode", "threads", 2)
    assert predicted(found) == {"as advised": pytest.approx(500)}
    assert found.text == (
        "An image takes one thread 4.0 ms (measured on 64 rows): decode 2.8 ms, resize 0.50 ms, "
        "augmentation 0.50 ms, read 0.20 ms. Decoding bounds this frame. "
        "Use DataFrameSequence(df, workers=2): about 500 images/s predicted. "
        "More workers would not help: the 2 cores are busy. "
        "No other decode=, cache=, loader or number of workers promises 15 % more."
    )


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("resize", replace(PLAIN, pixels=Pixels(Cost(0.001), Cost(0.003)))),
        ("augmentation", replace(PLAIN, pixels=Pixels(Cost(0.001), augment=Cost(0.003)))),
        ("rest", replace(PLAIN, unstaged=0.005)),
        ("rest", replace(PLAIN, batch=Cost(0.005))),
        ("read", SLOW_DISK),
    ],
)
def test_the_largest_stage_bounds_the_frame(name: str, stages: Stages) -> None:
    assert advise(stages, CORES).bound == name


def test_transport_bounds_where_processes_are_worth_it_all_the_same() -> None:
    far = replace(PYTHON, transport=Transport(processes=Cost(0.04)))
    own = compared(result("processes", 2, 26, 27), result("threads", 2, 20, 21))
    assert advise(far, CORES, own).bound == "transport"


def test_python_that_holds_its_lock_is_for_processes() -> None:
    found = advise(PYTHON, CORES)
    assert (found.bound, found.choice.loader, found.choice.workers) == (
        "augmentation",
        "processes",
        2,
    )
    assert found.choice.predicted == pytest.approx(2 / 0.034)
    assert "Processes, because spin runs in one thread at a time." in found.text


def test_processes_that_measured_better_are_not_explained_by_a_lock() -> None:
    runs = compared(result("threads", 2, 300, 310), result("processes", 2, 400, 410))
    assert advise(PLAIN, CORES, runs).choice.loader == "processes"
    assert "in one thread at a time" not in advise(PLAIN, CORES, runs).text


def test_on_one_core_processes_bring_nothing() -> None:
    assert advise(PYTHON, 1).choice.loader == "threads"


def test_waiting_is_for_more_threads_than_cores() -> None:
    found = advise(SLOW_DISK, CORES)
    assert (found.choice.loader, found.choice.workers) == ("threads", 12)
    assert found.choice.predicted == pytest.approx(12 / 0.024)
    assert "More workers than the 2 cores, because they wait most of the time." in found.text
    assert "read 20 ms (20 ms of it waiting)" in found.text


def test_small_files_that_are_read_slowly_are_for_records() -> None:
    quick = replace(SLOW_DISK, pixels=Pixels(Cost(0.0005)), per_byte=1e-8)
    # Both cores decode; of reading, 0.2 ms are left, of which a hundredth computes.
    assert predicted(advise(quick, CORES))["records"] == pytest.approx(2 / 0.000502, rel=1e-3)
    large = replace(quick, file_bytes=5e6)
    assert "records" not in predicted(advise(large, CORES))


def test_full_decoding_could_be_scaled() -> None:
    full = replace(PLAIN, decode="full", scaled=Pixels(Cost(0.0008), Cost(0.0002), Cost(0.0003)))
    found = advise(full, CORES)
    assert predicted(found)['decode="scaled"'] == pytest.approx(2 / 0.0015)
    assert found.checks[1].spec == {"decode": "scaled"}
    assert 'decode="scaled": about 1,300 images/s predicted (2.7 times), not run.' in found.text


def test_a_small_gain_is_not_offered() -> None:
    full = replace(PLAIN, decode="full", scaled=Pixels(Cost(0.0025), Cost(0.0004), Cost(0.0005)))
    assert list(predicted(advise(full, CORES))) == ["as advised"]


def test_a_cache_is_offered_where_it_fits() -> None:
    kept = replace(PLAIN, kept=Cost(0.001), kept_bytes=150_000)
    found = advise(kept, CORES)
    assert predicted(found)['cache="memory"'] == pytest.approx(2000)
    assert found.checks[1].spec == {"cache": "memory"}
    for other in (
        replace(kept, frame_rows=10_000),
        replace(kept, caches=True),
        replace(kept, memory_bytes=None),
        replace(kept, kept=None),
    ):
        assert 'cache="memory"' not in predicted(advise(other, CORES))


def test_the_best_change_comes_first() -> None:
    both = replace(
        PLAIN,
        decode="full",
        scaled=Pixels(Cost(0.0008), Cost(0.0002)),
        kept=Cost(0.0005),
        kept_bytes=1000,
    )
    assert [check.change for check in advise(both, CORES).checks] == [
        "as advised",
        'cache="memory"',
        'decode="scaled"',
    ]


def test_a_slow_model_needs_no_faster_loading() -> None:
    slow = replace(PLAIN, model=Training(0.05), decode="full", scaled=Pixels(Cost(0.0001)))
    found = advise(slow, CORES)
    assert (found.bound, found.choice.workers) == ("model", 1)
    assert list(predicted(found)) == ["as advised"]
    assert "The model takes 50 ms an image, so 20 a second, which bounds training" in found.text
    assert found.text.endswith("Nothing that makes loading faster makes training faster.")


def test_a_fast_model_waits() -> None:
    found = advise(replace(PLAIN, model=Training(0.001)), CORES)
    assert (found.bound, found.choice.workers) == ("decode", 2)
    assert "The model takes 1.0 ms an image, so 1,000 a second: it waits for loading." in found.text


def test_a_model_that_computes_shares_the_cores() -> None:
    found = advise(replace(PLAIN, model=Training(0.001, 0.002)), CORES)
    assert "shares the cores with loading: 330 a second in training" in found.text


def test_the_first_epoch_may_be_slower() -> None:
    cold = replace(PLAIN, read=Cost(0.0002, 0.01))
    assert "The first epoch takes 10 ms more an image" in advise(cold, CORES).text
    assert advise(cold, CORES).bound == "decode"


def test_the_loader_clearly_ahead_is_chosen() -> None:
    runs = compared(result("threads", 2, 400, 420), result("tf.data", 2, 430, 450))
    choice = choose(PLAIN, CORES, runs)
    assert (choice.loader, choice.workers, choice.measured) == ("tf.data", 2, 440)
    assert choice.tied == ()


def test_a_lead_within_the_spread_is_no_lead() -> None:
    runs = compared(result("tf.data", 2, 419, 500), result("threads", 2, 400, 420))
    found = advise(PLAIN, CORES, runs)
    assert (found.choice.loader, found.choice.tied) == ("threads", ("tf.data 2",))
    assert "No clear difference to tf.data 2: their spreads overlap." in found.text


def test_among_equals_the_fewest_workers_are_chosen() -> None:
    runs = compared(result("threads", 4, 400, 420), result("threads", 2, 400, 420))
    assert choose(PLAIN, CORES, runs).workers == 2


def test_one_round_ranks_nothing_so_the_stages_choose() -> None:
    runs = compared(result("tf.data", 2, 900), result("threads", 4, 400), result("threads", 2, 400))
    assert (choose(PLAIN, CORES, runs).loader, choose(PLAIN, CORES, runs).workers) == ("threads", 2)
    only = compared(result("tf.data", 2, 900))
    assert choose(PLAIN, CORES, only).loader == "tf.data"


def test_peers_and_changes_are_not_chosen() -> None:
    runs = compared(
        result("threads", 2, 400, 420), result("torch", 2, 600, 610), result("cache", 2, 900, 910)
    )
    found = advise(PLAIN, CORES, runs)
    assert (found.choice.loader, found.choice.ahead) == ("threads", "torch 2")
    assert "torch 2 was faster in every round." in found.text


def test_peers_alone_leave_the_choice_to_the_stages() -> None:
    found = choose(PLAIN, CORES, compared(result("torch", 2, 600, 610)))
    assert (found.loader, found.workers, found.measured) == ("threads", 2, None)


def test_a_slow_model_is_content_with_what_does_not_keep_it_waiting() -> None:
    slow = replace(PLAIN, model=Training(0.05))
    runs = compared(
        result("inline", 0, 250, 251, wait=0.08),
        result("threads", 1, 240, 241, wait=0.01),
        result("threads", 2, 490, 500, wait=0.01),
    )
    assert (choose(slow, CORES, runs).loader, choose(slow, CORES, runs).workers) == ("threads", 1)


def test_predictions_follow_what_was_measured() -> None:
    full = replace(PLAIN, decode="full", scaled=Pixels(Cost(0.0008), Cost(0.0002)))
    found = advise(full, CORES, compared(result("threads", 2, 390, 410)))
    assert "400 images/s measured, 20 % less than predicted from the stages." in found.text
    assert predicted(found) == {'decode="scaled"': pytest.approx(0.8 * 2 / 0.0012)}


def test_other_programs_are_blamed_too() -> None:
    rounds = tuple(Round(each, each, 0.5, 1.5, 200.0, other_cores=0.9) for each in (300.0, 310.0))
    found = advise(PLAIN, CORES, compared(Result("threads", "threads", 2, rounds)))
    assert "predicted from the stages, other programs keeping 0.90 cores busy." in found.text


def test_a_loader_that_was_not_measured_is_offered_for_a_run() -> None:
    runs = compared(result("threads", 2, 28, 29))
    found = advise(PYTHON, CORES, runs)
    assert found.choice.loader == "threads"
    (check,) = found.checks
    assert (check.loader, check.workers, check.measured) == ("processes", 2, None)
    assert check.predicted == pytest.approx(28.5 / (1 / 0.03) * 2 / 0.034)


def test_more_workers_are_offered_for_a_run() -> None:
    found = advise(SLOW_DISK, CORES, compared(result("threads", 2, 80, 82)))
    assert [check.change for check in found.checks] == [
        "records",
        "DataFrameSequence(df, workers=12)",
    ]


def test_what_a_comparison_has_of_a_change_is_taken_from_it() -> None:
    kept = replace(PLAIN, kept=Cost(0.001), kept_bytes=1000)
    runs = compared(result("threads", 2, 490, 510), result("cache", 2, 1700, 1900))
    found = advise(kept, CORES, runs)
    assert found.checks[0].measured == 1800
    assert (
        'cache="memory": about 2,000 images/s predicted (4.0 times), 1,800 measured.' in found.text
    )


def test_checks_that_were_run_are_told() -> None:
    found = advise(PLAIN, CORES)
    run = replace(found, checks=tuple(replace(check, measured=450.0) for check in found.checks))
    assert "as advised: about 500 images/s predicted, 450 measured." in run.text


@pytest.mark.parametrize(
    ("value", "said"), [(1234.0, "1,200"), (98.7, "99"), (2.0, "2.0"), (0.0123, "0.012"), (0, "0")]
)
def test_numbers_have_two_digits_that_count(value: float, said: str) -> None:
    assert about(value) == said


class SlowFiles(LocalFileSystem):
    """A disk that takes 20 ms for each file."""

    protocol = "slow"

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> Any:
        time.sleep(0.02)
        return super().cat_file(path.split("slow://")[-1], *args, **kwargs)


def spin(image: Any) -> Any:
    start = time.thread_time()
    while time.thread_time() - start < 0.03:
        pass
    return image


def sleepy_model(batch: Any) -> None:
    time.sleep(0.05 * len(batch[0]))


def measured(df: pd.DataFrame, *, step: Any = None, **spec: Any) -> Stages:
    said = parse(4, {"target_size": (32, 32), "seed": 3, **spec}, fresh_seed=1)
    return measure_stages(prepare(resolve(df, said.frame), said), step=step, seconds=0.5)


def test_situation_a_slow_disk(df: pd.DataFrame) -> None:
    fsspec.register_implementation("slow", SlowFiles, clobber=True)
    found = advise(measured(df.assign(filename="slow://" + df["filename"])), CORES)
    assert (found.bound, found.choice.loader) == ("read", "threads")
    assert found.choice.workers >= 8
    assert found.choice.predicted >= 200  # one thread: less than 50
    assert predicted(found)["records"] > max(found.choice.predicted, 10 * 50)


def test_situation_pictures_of_12_megapixels(tmp_path: Path) -> None:
    small = np.random.default_rng(1).integers(0, 256, (100, 75, 3), np.uint8)
    Image.fromarray(small).resize((3000, 4000)).save(tmp_path / "large.jpg")
    df = pd.DataFrame({"filename": [str(tmp_path / "large.jpg")] * 4, "class": list("abab")})
    found = advise(measured(df, decode="full"), CORES)
    assert (found.bound, found.choice.loader, found.choice.workers) == ("decode", "threads", 2)
    assert predicted(found)['decode="scaled"'] > 1.3 * found.choice.predicted


def test_situation_heavy_augmentation_in_python(df: pd.DataFrame) -> None:
    found = advise(measured(df, augment=spin), CORES)
    assert (found.bound, found.choice.loader) == ("augmentation", "processes")
    assert found.choice.workers == CORES
    assert "spin runs in one thread at a time" in found.text


def test_situation_a_slow_model(df: pd.DataFrame) -> None:
    found = advise(measured(df, step=sleepy_model), CORES)
    assert (found.bound, found.choice.loader, found.choice.workers) == ("model", "threads", 1)
    assert len(found.checks) == 1

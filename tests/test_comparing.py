"""How a comparison is run: who is left out, how rounds take turns, where the budget ends."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dfloader
from dfloader import DataFrameError, DecodeError, comparing
from dfloader.bout import Bout
from dfloader.compare_advice import Staging
from dfloader.comparing import Options, run
from dfloader.comparison import Comparison, Proof, Round
from dfloader.contestants import Contestant
from dfloader.costs import Cost, Pixels, Stages
from dfloader.equality import Proved, Proving

SPEC: dict[str, Any] = {"target_size": (24, 32), "class_mode": "sparse", "batch_size": 8}


class Fake:
    """Stands for the fresh processes: remembers what ran, and fails where it is told to."""

    def __init__(self) -> None:
        self.ran: list[Bout] = []
        self.failing: dict[str, Exception] = {}
        self.refused: dict[Contestant, str] = {}
        pixels = Pixels(Cost(0.005))
        self.stages = Stages(20, 20, 1e4, Cost(1e-4), Cost(1e-4), pixels)

    def __call__(self, call: Any, *, timeout: float | None = None) -> Any:
        if isinstance(call, Staging):
            return self.stages
        if isinstance(call, Proving):
            names = tuple(each.name for each in call.contestants if each.loader != "inline")
            return Proved(Proof(names, 16, 0.0), self.refused)
        self.ran.append(call)
        if call.contestant.loader in self.failing:
            raise self.failing[call.contestant.loader]
        rate = 100.0 + len(self.ran)
        return Round(rate + 1, rate, 0.1, 1.0, 300.0)

    @property
    def loaders(self) -> list[str]:
        return [bout.contestant.loader for bout in self.ran]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    stand_in = Fake()
    monkeypatch.setattr(comparing, "run_fresh", stand_in)
    yield stand_in


def found(df: pd.DataFrame, *loaders: str, rounds: int = 3, **how: Any) -> Comparison:
    return run(df, Options(loaders, rounds=rounds, **how), **SPEC)


def test_rounds_take_turns_and_each_is_begun_by_another(df: pd.DataFrame, fake: Fake) -> None:
    result = found(df, "inline", "threads", "tf.data")
    assert fake.loaders[:3] == ["inline", "threads", "tf.data"]
    assert fake.loaders[3:6] == ["threads", "tf.data", "inline"]
    assert fake.loaders[6:] == ["tf.data", "inline", "threads"]
    assert [len(each.rounds) for each in result.results] == [3, 3, 3]
    assert result.results[0].rounds[1].wall_images_per_second == 106


def test_the_second_round_is_run_whatever_the_budget(df: pd.DataFrame, fake: Fake) -> None:
    result = found(df, "inline", "threads", rounds=5, budget=1e-9)
    assert [len(each.rounds) for each in result.results] == [2, 2]


def test_a_round_that_overruns_the_budget_is_dropped_for_all(
    df: pd.DataFrame, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = lambda contest: 100.0 if len(fake.ran) < 5 else -1000.0  # noqa: E731
    monkeypatch.setattr(comparing.Contest, "_left", left)
    result = found(df, "inline", "threads")
    assert len(fake.ran) == 5
    assert [len(each.rounds) for each in result.results] == [2, 2]


def test_a_peer_that_fails_is_left_out_with_its_reason(df: pd.DataFrame, fake: Fake) -> None:
    fake.failing["keras"] = OSError("no such thing\nand more")
    result = found(df, "threads", "keras")
    assert [each.loader for each in result.results] == ["threads"]
    assert result.left_out[0].name == "Keras flow_from_dataframe, 2 threads"
    assert result.left_out[0].reason == "it failed: OSError: no such thing"
    assert fake.loaders.count("keras") == 1


def test_a_loader_of_ours_that_fails_ends_it(df: pd.DataFrame, fake: Fake) -> None:
    fake.failing["threads"] = DecodeError("Row 3: bad.", rows=[3])
    with pytest.raises(DecodeError, match=r"Row 3: bad\."):
        found(df, "threads", "keras")


def test_what_was_refused_in_the_proof_is_left_out(df: pd.DataFrame, fake: Fake) -> None:
    fake.refused[Contestant("tf.data", 2)] = "it does not take it"
    result = found(df, "threads", "tf.data")
    assert "tf.data" not in fake.loaders
    assert [(each.name, each.reason) for each in result.left_out] == [
        ("to_tf_dataset, 2 threads", "it does not take it")
    ]


def test_a_wrong_frame_is_an_error_before_anything_runs(df: pd.DataFrame, fake: Fake) -> None:
    df.loc[3, "filename"] = "none.jpg"
    with pytest.raises(DataFrameError, match=r"none\.jpg"):
        found(df, "threads")
    assert not fake.ran


def test_an_unknown_keyword_is_a_type_error(df: pd.DataFrame, fake: Fake) -> None:
    with pytest.raises(TypeError, match="unknown keyword 'sise'"):
        run(df, Options(), sise=3)


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"rounds": 1.5}, {"budget": 0}])
def test_rounds_and_budget_are_positive(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is not a"):
        Options(**wrong)


def test_records_are_written_for_who_reads_them(df: pd.DataFrame, fake: Fake) -> None:
    found(df, "threads", "records")
    assert all(bout.given.records is not None for bout in fake.ran)


def test_every_contestant_gets_the_whole_frames_classes(df: pd.DataFrame, fake: Fake) -> None:
    found(df, "threads")
    assert fake.ran[0].given.spec["classes"] == ["cat", "dog", "emu"]


def test_u095_compare_gives_a_line_a_loader_and_all_of_it_beside(
    df: pd.DataFrame, fake: Fake
) -> None:
    table = dfloader.compare(df, loaders=["inline", "threads"], rounds=2, **SPEC)
    assert table["loader"].tolist() == ["inline", "threads"]
    assert table["workers"].tolist() == [0, 2]
    assert table["place"].tolist() == ["1-2", "1-2"]
    assert table["rounds"].tolist() == [2, 2]
    assert table["wall_images_per_second"].tolist() == [102.5, 102.5]
    assert table["wall_images_per_second_low"].tolist() == [101, 102]
    assert table["wall_images_per_second_high"].tolist() == [104, 103]
    assert table.index.tolist() == ["sequence, inline", "sequence, 2 threads"]
    assert json.loads(json.dumps(table.attrs["comparison"]))["work"]["rows"] == 20


def test_advice_is_given_and_what_it_predicts_is_run_once_more(
    df: pd.DataFrame, fake: Fake
) -> None:
    scaled = Pixels(Cost(0.001))
    fake.stages = replace(fake.stages, decode="full", scaled=scaled)
    result = run(df, Options(["threads"], rounds=2), decode="full", **SPEC)
    assert "Decoding bounds this frame." in result.advice
    changes = {each.change: each for each in result.predictions}
    assert changes['decode="scaled"'].measured == 103  # of the third bout
    assert fake.ran[2].given.spec["decode"] == "scaled"
    assert fake.ran[1].given.spec["decode"] == "full"


def test_without_time_left_predictions_stay_unchecked(df: pd.DataFrame, fake: Fake) -> None:
    fake.stages = replace(fake.stages, decode="full", scaled=Pixels(Cost(0.001)))
    result = run(df, Options(["threads"], rounds=2, budget=0.1), decode="full", **SPEC)
    assert [each.measured for each in result.predictions] == [None] * len(result.predictions)
    assert len(result.predictions) > 0
    assert len(fake.ran) == 2


def test_work_tells_what_was_asked_for(df: pd.DataFrame, fake: Fake) -> None:
    result = run(df, Options(["threads"]), name="x.csv", rescale=0.5, **SPEC)
    assert result.work.frame == "x.csv"
    assert result.work.spec["target_size"] == "(24, 32)"
    assert result.work.spec["rescale"] == "0.5"
    assert "on_error" not in result.work.spec


def test_a_callable_that_cannot_travel_is_an_error_that_says_what_to_do(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="define it in a module of its own"):
        run(df, Options(["threads"]), augment=lambda image: image, **SPEC)


def test_a_broken_image_is_the_usual_error(df: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 no more")
    df["filename"] = str(tmp_path / "broken.jpg")
    with pytest.raises(DecodeError, match=r"Row \d+: .*broken\.jpg"):
        run(df, Options(["threads"]), **SPEC)

"""What a comparison's data says: medians, spreads, places, and the way through JSON."""

import json

import pytest

from dfloader.comparison import (
    MEASURES,
    Comparison,
    LeftOut,
    Machine,
    Prediction,
    Proof,
    Result,
    Round,
    Work,
    from_json,
    places,
    to_json,
    verdict,
)


def result(name: str, *rates: float) -> Result:
    rounds = tuple(Round(rate + 1, rate, 0.5, 1.5, 200.0) for rate in rates)
    return Result(name, "threads", 2, rounds)


def comparison(*results: Result) -> Comparison:
    machine = Machine("AMD EPYC", 2, 24.0, "Linux", {"Python": "3.11"}, 0.5, 2.0)
    work = Work("labels.csv", 280, 1120, 32, {"target_size": "(224, 224)"}, "5 ms")
    return Comparison(
        work,
        machine,
        results,
        (LeftOut("torch", "torch is not installed"),),
        Proof(("a", "b"), 64, 0.01),
        "Use a.",
        (Prediction("a cache", "cache", 2, {"cache": "memory"}, 3000.0, 2900.0),),
    )


def test_a_figure_is_the_median_and_its_spread_the_extremes() -> None:
    found = result("a", 10, 40, 20)
    assert found.median("wall_images_per_second") == 20
    assert found.spread("wall_images_per_second") == (10, 40)


def test_what_was_not_measured_has_no_median() -> None:
    assert result("a", 10, 20).median("wait_share") is None
    assert result("a", 10, 20).spread("wait_share") is None


def test_a_loader_whose_every_round_is_faster_wins() -> None:
    found = [result("a", 100, 110), result("b", 90, 99)]
    assert places(found) == {"a": (1, 1), "b": (2, 2)}
    assert verdict(found) == "a is the fastest: its slowest round beat every other's best."


@pytest.mark.parametrize("low", [100, 95])
def test_spreads_that_touch_or_overlap_are_not_ranked(low: float) -> None:
    found = [result("a", low, 110), result("b", 90, 100), result("c", 50, 60)]
    assert places(found) == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    assert verdict(found) == "No clear winner between a and b: their spreads overlap."


def test_a_place_is_a_range_where_overlaps_chain() -> None:
    found = [result("a", 90, 100), result("b", 80, 92), result("c", 70, 82)]
    assert places(found) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}


def test_one_round_ranks_nothing() -> None:
    found = [result("a", 100), result("b", 10)]
    assert places(found) == {"a": None, "b": None}
    assert "one round" in verdict(found)


def test_ranked_puts_the_fastest_median_first() -> None:
    found = comparison(result("a", 10, 20), result("b", 30, 40))
    assert [each.name for each in found.ranked()] == ["b", "a"]


def test_json_there_and_back_is_the_same() -> None:
    found = comparison(result("b", 30, 40), result("a", 10, 20))
    assert from_json(json.loads(json.dumps(to_json(found)))) == found


def test_json_says_what_follows_from_the_rounds() -> None:
    found = to_json(comparison(result("a", 10, 20), result("b", 30, 40)))
    first = found["results"][0]
    assert (first["name"], first["place"]) == ("b", [1, 1])
    assert first["median"]["wall_images_per_second"] == 35
    assert first["spread"]["wall_images_per_second"] == [30, 40]
    assert set(first["median"]) == set(first["spread"]) == set(MEASURES)
    assert found["verdict"].startswith("b is the fastest")


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'other/2' is not 'dfloader.comparison/1'"):
        from_json({"schema": "other/2"})

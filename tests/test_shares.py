"""Shards, samplers and epochs of a said length: properties of the plan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfloader import DataFrameError
from dfloader.plan import Plan
from dfloader.rows import draw_keys, frame_rows, repeated, source_rows, times_before
from dfloader.spec import OrderSpec, parse


def plan_of(n: int, *, kept: object = None, chances: object = None, **said: object) -> Plan:
    spec = OrderSpec(**{"batch_size": 4, "seed": 5, **said})  # type: ignore[arg-type]
    return Plan(spec, n, kept, chances)  # type: ignore[arg-type]


@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 3), st.booleans())
def test_u145_shards_are_disjoint_equal_and_together_the_frame(
    n: int, count: int, epoch: int, shuffle: bool
) -> None:
    count = min(n, count)
    plans = [plan_of(n, shard=(index, count), shuffle=shuffle) for index in range(count)]
    orders = [plan.order(epoch) for plan in plans]
    assert len({len(order) for order in orders}) == 1
    assert len({len(plan) for plan in plans}) == 1
    real = np.concatenate([order[order >= 0] for order in orders])
    assert sorted(real.tolist()) == list(range(n))


@given(st.integers(1, 60), st.integers(1, 8))
def test_padding_is_one_row_of_the_shards_own_at_its_end(n: int, count: int) -> None:
    count = min(n, count)
    for index in range(count):
        plan = plan_of(n, shard=(index, count))
        order = plan.order(0)
        padding = np.flatnonzero(order < 0).tolist()
        assert padding == ([len(order) - 1] if n % count and index >= n % count else [])
        assert all(~order[i] in order[order >= 0] for i in padding)
        assert plan.pads == (n % count != 0)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2), st.integers(1, 4))
def test_batches_are_the_order_cut_up(n: int, batch_size: int, epoch: int, count: int) -> None:
    plan = plan_of(n, batch_size=batch_size, shard=(0, min(n, count)))
    batches = [plan.rows(epoch, i) for i in range(len(plan))]
    assert np.concatenate(batches).tolist() == plan.order(epoch).tolist()


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(0, 3))
def test_only_kept_rows_are_planned(kept: set[int], epoch: int) -> None:
    plan = plan_of(41, kept=np.array(sorted(kept)))
    assert sorted(plan.order(epoch).tolist()) == sorted(kept)


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(1, 70), st.booleans())
def test_u072_short_epochs_go_on_where_the_last_stopped(
    n: int, samples: int, shuffle: bool
) -> None:
    """So that every row comes once before any comes twice, and so on."""
    plan = plan_of(n, samples_per_epoch=samples, shuffle=shuffle)
    epochs = -(-3 * n // samples)
    stream = np.concatenate([source_rows(plan.order(epoch)) for epoch in range(epochs)])[: 3 * n]
    passes = stream.reshape(3, n)
    assert [sorted(one.tolist()) for one in passes] == [list(range(n))] * 3
    whole = plan_of(n, shuffle=shuffle)
    assert (passes[1] == whole.order(1 if shuffle else 0)).all()


def test_an_epoch_of_all_rows_is_a_pass() -> None:
    assert (plan_of(9, samples_per_epoch=9).order(2) == plan_of(9).order(2)).all()


def test_u042_balanced_chances_draw_the_classes_alike() -> None:
    chances = np.array([1 / 900] * 900 + [1 / 100] * 100)
    drawn = source_rows(plan_of(1000, chances=chances, samples_per_epoch=10_000).order(0))
    assert len(drawn) == 10_000
    assert abs((drawn >= 900).mean() - 0.5) < 0.02
    assert len(set(drawn.tolist())) > 950


def test_u043_a_drawn_epoch_has_every_batch_and_the_short_one_last() -> None:
    plan = plan_of(90, chances=np.ones(90), batch_size=64)
    assert [len(plan.rows(0, i)) for i in range(len(plan))] == [64, 26]


def test_draws_follow_the_chances_and_never_take_a_zero() -> None:
    plan = plan_of(5, chances=np.array([0, 1, 0, 3, 0.0]), samples_per_epoch=8000)
    drawn = source_rows(plan.order(0))
    rows, times = np.unique(drawn, return_counts=True)
    assert rows.tolist() == [1, 3]
    assert times[1] / times[0] == pytest.approx(3, rel=0.1)


def test_draws_are_the_same_for_the_same_seed_and_epoch_only() -> None:
    chances = np.ones(50)
    first = plan_of(50, chances=chances).order(1)
    assert (plan_of(50, chances=chances.copy()).order(1) == first).all()
    assert (plan_of(50, chances=chances).order(2) != first).any()
    assert (plan_of(50, chances=chances, seed=6).order(1) != first).any()


PINNED = [0, 3, 1, 3, 2, 2, 2, 3]


def test_draws_are_pinned_to_these_rows() -> None:
    chances = np.array([1, 2, 3, 4.0])
    order = plan_of(4, chances=chances, samples_per_epoch=8).order(0)
    assert source_rows(order).tolist() == PINNED


def test_shards_of_a_drawn_epoch_share_its_places() -> None:
    chances = np.ones(20)
    whole = plan_of(20, chances=chances, samples_per_epoch=10).order(3)
    parts = [
        plan_of(20, chances=chances, samples_per_epoch=10, shard=(i, 2)).order(3) for i in range(2)
    ]
    assert (whole[0::2] == parts[0]).all()
    assert (whole[1::2] == parts[1]).all()


def test_ordered_plan_has_each_row_once_in_frame_order() -> None:
    plan = plan_of(7, chances=np.ones(7), samples_per_epoch=3, drop_remainder=True).ordered()
    assert plan.order(4).tolist() == list(range(7))
    assert len(plan) == 2


def test_drop_remainder_leaves_the_short_batch_out() -> None:
    assert [len(plan_of(n, drop_remainder=True)) for n in (3, 4, 7, 8)] == [0, 1, 1, 2]


def test_more_shards_than_rows_are_refused() -> None:
    with pytest.raises(DataFrameError, match=r"shard=\(0, 4\): 3 rows do not give 4 processes"):
        plan_of(3, shard=(0, 4))


@pytest.mark.parametrize(
    "shard", [(2, 2), (-1, 2), (0, 0), (0.0, 1), 3, "01", (0, 1, 2), (True, 2)]
)
def test_shards_that_are_none_are_refused(shard: object) -> None:
    with pytest.raises(ValueError, match="shard="):
        plan_of(9, shard=shard)


@pytest.mark.parametrize("samples", [0, -1, 1.5, True, "9"])
def test_samples_per_epoch_is_a_positive_whole_number(samples: object) -> None:
    with pytest.raises(ValueError, match="samples_per_epoch="):
        plan_of(9, samples_per_epoch=samples)


def test_a_shard_needs_a_seed() -> None:
    with pytest.raises(ValueError, match="needs a seed that all processes share"):
        parse(4, {"shard": (0, 2)}, fresh_seed=1)
    assert parse(4, {"shard": (0, 2), "seed": 3}, fresh_seed=1).order.seed == 3


def test_numbers_tell_row_repeat_and_padding_apart() -> None:
    numbers = repeated(np.array([5, 5, 7]), np.array([0, 3, 1]))
    assert numbers[0] == 5
    assert source_rows(numbers).tolist() == [5, 5, 7]
    assert len(set(draw_keys(numbers).tolist())) == 3
    assert source_rows(~numbers).tolist() == [5, 5, 7]
    assert draw_keys(~numbers).tolist() == draw_keys(numbers).tolist()
    assert frame_rows(np.array([numbers[1], ~numbers[2], 0, ~0])).tolist() == [5, -1, 0, -1]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_times_before_counts_the_same_row_at_earlier_places(rows: list[int]) -> None:
    counted = times_before(np.array(rows, np.int64)).tolist()
    assert counted == [rows[:i].count(row) for i, row in enumerate(rows)]


@given(st.integers(1, 30), st.integers(0, 3), st.integers(1, 3))
def test_numbers_are_simply_rows_where_an_epoch_is_every_row_once(
    n: int, epoch: int, count: int
) -> None:
    order = plan_of(n, shard=(0, min(count, n))).order(epoch)
    assert order.max() < n


@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 2), st.booleans())
def test_no_two_places_of_an_epoch_have_the_same_draw(
    n: int, samples: int, epoch: int, drawn: bool
) -> None:
    chances = np.ones(n) if drawn else None
    order = plan_of(n, chances=chances, samples_per_epoch=samples).order(epoch)
    assert len(set(draw_keys(order).tolist())) == samples

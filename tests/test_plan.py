"""Orders are pure functions of (seed, epoch), and whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfloader.plan import Plan, fresh_seed
from dfloader.spec import OrderSpec


def plan(n: int, **said: object) -> Plan:
    return Plan(OrderSpec(**{"seed": 1, "batch_size": 4, **said}), n)  # type: ignore[arg-type]


@given(n=st.integers(1, 200), seed=st.integers(0, 2**64 - 1), epoch=st.integers(0, 10**6))
def test_every_row_comes_once_an_epoch(n: int, seed: int, epoch: int) -> None:
    batches = [plan(n, seed=seed).rows(epoch, i) for i in range(len(plan(n)))]
    assert sorted(np.concatenate(batches).tolist()) == list(range(n))


def test_order_is_the_same_for_the_same_seed_and_epoch() -> None:
    assert plan(50).order(3).tolist() == Plan(OrderSpec(seed=1), 50).order(3).tolist()


def test_order_differs_between_epochs_and_seeds() -> None:
    orders = [plan(50, seed=s).order(e).tolist() for s in (1, 2) for e in (0, 1)]
    assert len({tuple(order) for order in orders}) == 4


def test_order_is_pinned_to_these_rows() -> None:
    """A seed written down in a paper must go on giving the same order in later versions."""
    assert plan(10, seed=42).order(0).tolist() == [0, 2, 6, 9, 3, 5, 4, 8, 7, 1]


def test_unshuffled_order_is_the_frame() -> None:
    assert plan(6, shuffle=False).order(9).tolist() == [0, 1, 2, 3, 4, 5]


def test_order_leaves_the_global_random_state_alone() -> None:
    np.random.seed(0)  # noqa: NPY002 (the global state is what is tested)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    plan(100, seed=9).order(0)
    fresh_seed()
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002

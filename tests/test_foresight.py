"""Batches that will be asked for are loaded before."""

import random
from concurrent.futures import Future
from typing import Any

from dfloader.foresight import Foresight


class Loading:
    """Notes what is submitted."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.futures: list[Future[Any]] = []

    def __call__(self, i: int) -> "Future[Any]":
        self.asked.append(i)
        self.futures.append(Future())
        return self.futures[-1]


def take(foresight: Foresight, i: int, loading: Loading) -> None:
    foresight.take(i, loading, count=8, depth=3)


def test_an_order_that_python_shuffled_is_known() -> None:
    foresight, loading = Foresight(), Loading()
    before = random.getstate()
    foresight.asked_how_many()
    order = list(range(8))
    random.shuffle(order)
    take(foresight, order[0], loading)
    assert loading.asked == order[:4]
    for i in order[1:]:
        take(foresight, i, loading)
    assert loading.asked == order
    random.setstate(before)


def test_batches_in_order_are_known_from_the_second_on() -> None:
    foresight, loading = Foresight(), Loading()
    take(foresight, 0, loading)
    assert loading.asked == [0]
    for i in range(1, 8):
        take(foresight, i, loading)
    assert loading.asked == list(range(8))


def test_other_batches_are_loaded_one_by_one_and_guesses_given_up() -> None:
    foresight, loading = Foresight(), Loading()
    for i in (0, 1, 6, 3):
        take(foresight, i, loading)
    assert loading.asked == [0, 1, 2, 3, 4, 6, 3]
    given_up = [i for i, f in zip(loading.asked, loading.futures, strict=True) if f.cancelled()]
    assert given_up == [2, 3, 4]


def test_another_epoch_gives_up_what_was_guessed() -> None:
    foresight, loading = Foresight(), Loading()
    for i in (0, 1):
        take(foresight, i, loading)
    foresight.forget()
    take(foresight, 2, loading)
    assert loading.asked == [0, 1, 2, 3, 4, 2]

"""A callable in a fresh interpreter: what comes back, and how it fails."""

import operator
import os
import time
from functools import partial

import pytest

from dfloader import DecodeError
from dfloader.fresh import run_fresh


def fail() -> None:
    raise DecodeError("Row 3: 'a.jpg': no image.", rows=[3], path="a.jpg")


class StubbornError(Exception):
    """Cannot be put together again from its pickle."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail_stubbornly() -> None:
    raise StubbornError(1, 2)


def test_it_runs_in_another_process_and_gives_the_value() -> None:
    assert run_fresh(partial(operator.add, 2, 3)) == 5
    assert run_fresh(os.getpid) != os.getpid()


def test_an_error_is_raised_as_itself_with_its_traceback() -> None:
    with pytest.raises(DecodeError, match=r"Row 3: 'a.jpg'") as caught:
        run_fresh(fail)
    assert (caught.value.rows, caught.value.path) == ((3,), "a.jpg")
    assert "in fail" in str(caught.value.__cause__)


def test_an_error_that_cannot_travel_still_says_what_it_was() -> None:
    with pytest.raises(RuntimeError, match="StubbornError: 1 and 2"):
        run_fresh(fail_stubbornly)


def test_a_process_that_dies_is_an_error_with_its_status() -> None:
    with pytest.raises(RuntimeError, match=r"died \(status 7\)"):
        run_fresh(partial(os._exit, 7))


def test_what_cannot_be_pickled_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="define it in a module of its own"):
        run_fresh(lambda: 1)


def test_what_does_not_end_is_ended() -> None:
    with pytest.raises(TimeoutError, match="1 seconds"):
        run_fresh(partial(time.sleep, 60), timeout=1)

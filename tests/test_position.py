"""Epochs count 0, 1, 2, ... however Keras calls."""

import pytest

from dfloader.position import Position


def epochs(calls: str) -> list[int]:
    """Play E(nd), B(egin), n(um_batches), i (a batch); give the epoch of each i after a B or |."""
    position = Position()
    seen = []
    for call in calls.replace(" ", ""):
        if call == "i":
            seen.append(position.epoch)
        {
            "E": position.end,
            "B": position.begin,
            "n": position.looked_at,
            "i": position.read,
        }[call]()
    return seen


def test_fit_of_keras_3() -> None:
    assert epochs("nn n ii nE  B n iii E  B n iii E") == [0, 0, 0, 0, 0, 1, 1, 1]


def test_threads_of_keras_3_that_read_before_the_epoch_begins() -> None:
    assert epochs("n ii nE  n ii B i E  n i B ii E") == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_second_fit_goes_on() -> None:
    assert epochs("n ii nE  B i E" + "n ii nE  B i E  B i E") == [0, 0, 0, 1, 1, 1, 2]


def test_evaluations_of_one_validation_sequence() -> None:
    assert epochs("n ii nE  B ii nE  nE  B ii nE") == [0, 0, 0, 0, 1, 1]


def test_a_loop_of_the_user_s_own() -> None:
    assert epochs("n ii E ii E i") == [0, 0, 1, 1, 2]


def test_a_loop_of_the_user_s_own_before_fit() -> None:
    assert epochs("i E i E  n ii nE  B i E") == [0, 1, 2, 2, 2]


def test_an_epoch_that_was_broken_off_counts() -> None:
    assert epochs("n ii nE  B i  n ii nE  B i") == [0, 0, 0, 0, 0, 1]


def test_a_pass_starts_where_the_state_says_and_the_next_at_the_start() -> None:
    position = Position()
    position.move(3, 2)
    assert (position.epoch, position.batch, position.start()) == (3, 2, 2)
    position.gave(3, 2)
    assert position.batch == 3
    assert position.start() == 0


def test_epochs_count_from_0() -> None:
    with pytest.raises(ValueError, match="epoch=-1: epochs count from 0"):
        Position().move(-1)

"""Epochs and passes."""

import pytest

from dfloader.position import Position


def test_a_pass_starts_where_the_state_says_and_the_next_at_the_start() -> None:
    position = Position()
    position.move(3, 2)
    assert (position.epoch, position.batch, position.start()) == (3, 2, 2)
    position.gave(3, 2)
    assert position.batch == 3
    assert position.start() == 0


def test_a_pass_over_another_epoch_does_not_move_this_one() -> None:
    position = Position()
    position.start()
    position.move(1)
    position.gave(0, 4)
    assert (position.epoch, position.batch) == (1, 0)


def test_epochs_count_from_0() -> None:
    with pytest.raises(ValueError, match="epoch=-1: epochs count from 0"):
        Position().move(-1)

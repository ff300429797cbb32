"""Columns of counters against NumPy's own Philox."""

import numpy as np
import pytest

from dfloader.philox import generator, raw, uniforms

ROWS = np.array([0, 1, 31, 2**40, 5], np.int64)


@pytest.mark.parametrize("key", [(0, 0), (2**64 - 1, 7), (12345, 2**63)])
def test_words_are_those_of_numpy(key: tuple[int, int]) -> None:
    drawn = raw(key, ROWS, 3, purpose=9)
    for row, words in zip(ROWS.tolist(), drawn, strict=True):
        counter = np.array([0, 0, row, 9], np.uint64)
        numpys = np.random.Philox(key=np.array(key, np.uint64), counter=counter)
        np.testing.assert_array_equal(words, numpys.random_raw(12))


def test_fractions_are_those_of_a_numpy_generator() -> None:
    drawn = uniforms((3, 4), ROWS, 2, purpose=1)
    for row, fractions in zip(ROWS.tolist(), drawn, strict=True):
        np.testing.assert_array_equal(fractions, generator((3, 4), row, 1).random(8))


def test_rows_purposes_and_keys_have_streams_of_their_own() -> None:
    streams = [raw(key, ROWS, 2, purpose) for key in [(0, 0), (0, 1), (1, 0)] for purpose in (1, 2)]
    assert len(np.unique(streams)) == 6 * len(ROWS) * 8


def test_no_row_depends_on_the_others() -> None:
    np.testing.assert_array_equal(raw((1, 2), ROWS, 4, 3)[2:3], raw((1, 2), ROWS[2:3], 4, 3))

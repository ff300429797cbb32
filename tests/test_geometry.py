"""Sizes in, boxes out: the same on ints, arrays and tensors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfloader.geometry import (
    ORIENTATION_FLAGS,
    Box,
    cropped,
    fitted,
    nearest_index,
    place,
    scale,
    shrunk,
    stored_box,
    upright_size,
    with_margin,
    within,
)

SIDES = st.integers(1, 5000)
SMALL = st.integers(1, 300)
MODES = ["stretch", "crop", "pad"]


def inside(box: Box, height: int, width: int) -> bool:
    return (
        box.height > 0
        and box.width > 0
        and 0 <= box.top <= height - box.height
        and 0 <= box.left <= width - box.width
    )


@given(SIDES, SIDES, SMALL, SMALL)
def test_scale_is_the_largest_that_covers_the_target(h: int, w: int, rows: int, columns: int):
    def covers(k: int) -> bool:
        return -(-h // k) >= rows and -(-w // k) >= columns

    k = scale(h, w, rows, columns)
    assert k in (1, 2, 4, 8)
    assert k == 1 or covers(k)
    if rows > 1 and columns > 1:
        assert k == 8 or max(h, w) < 6 or not covers(2 * k)


def test_tiny_pictures_are_decoded_in_full() -> None:
    assert scale(5, 5, 1, 1) == 1
    assert scale(6, 5, 1, 1) == 4


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("resize_mode", MODES)
@given(h=SIDES, w=SIDES, rows=SMALL, columns=SMALL)
def test_boxes_lie_inside(
    resize_mode: str, scaled: bool, h: int, w: int, rows: int, columns: int
) -> None:
    placed = place(h, w, (rows, columns), resize_mode=resize_mode, scaled=scaled)
    assert (placed.height, placed.width) == (-(-h // placed.scale), -(-w // placed.scale))
    assert inside(placed.window, placed.height, placed.width)
    assert inside(placed.target, rows, columns)
    if placed.scale > 1:
        assert placed.window.height >= placed.target.height
        assert placed.window.width >= placed.target.width


@pytest.mark.parametrize("resize_mode", ["crop", "pad"])
@given(h=SIDES, w=SIDES, rows=SMALL, columns=SMALL)
def test_crop_and_pad_keep_the_aspect_to_half_a_pixel(
    resize_mode: str, h: int, w: int, rows: int, columns: int
) -> None:
    window, target = place(h, w, (rows, columns), resize_mode=resize_mode)[3:]
    tall = target.height * window.width
    wide = target.width * window.height
    slack = max(target.height, target.width, window.height, window.width)
    assert abs(tall - wide) <= slack


def test_crop_cuts_the_middle() -> None:
    assert place(100, 200, (50, 50), resize_mode="crop").window == Box(0, 50, 100, 100)
    assert cropped(Box(10, 20, 40, 40), 10, 20) == Box(20, 20, 20, 40)


def test_pad_centres_the_picture() -> None:
    assert place(100, 200, (50, 50), resize_mode="pad").target == Box(12, 0, 25, 50)
    assert fitted(1, 10_000, 8, 8) == Box(3, 0, 1, 8)


def test_no_target_size_keeps_every_pixel() -> None:
    placed = place(31, 17, None, scaled=True)
    assert placed == (1, 31, 17, Box(0, 0, 31, 17), Box(0, 0, 31, 17))


def test_window_is_taken_as_the_picture() -> None:
    placed = place(1000, 2000, (50, 50), scaled=True, window=Box(401, 800, 390, 400))
    assert placed.scale == 4
    assert (placed.height, placed.width) == (250, 500)
    assert placed.window == Box(100, 200, 98, 100)
    assert shrunk(Box(401, 800, 400, 400), 4) == Box(100, 200, 101, 100)
    assert scale(399, 400, 50, 50) == 8


def test_margin_stops_at_the_border_and_can_be_cut_off_again() -> None:
    box = Box(1, 5, 10, 10)
    grown = with_margin(box, 20, 16)
    assert grown == Box(0, 3, 13, 13)
    assert within(box, grown) == Box(1, 2, 10, 10)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_stored_box_holds_the_pixels_of_the_upright_box(orientation: int) -> None:
    stored = np.arange(6 * 9).reshape(6, 9)
    flags = ORIENTATION_FLAGS[orientation]
    upright = stored.T if flags[0] else stored
    upright = upright[:: 1 - 2 * flags[1], :: 1 - 2 * flags[2]]
    assert upright_size(6, 9, flags) == upright.shape
    box = Box(1, 2, 3, 4)
    top, left, high, wide = stored_box(box, *upright.shape, flags)
    expected = upright[1:4, 2:6]
    assert set(stored[top : top + high, left : left + wide].flat) == set(expected.flat)


@given(length=SMALL, n=SMALL, start=st.integers(0, 50), rest=st.integers(0, 50))
def test_nearest_index_stays_in_the_window(length: int, n: int, start: int, rest: int) -> None:
    index = nearest_index(length, np.arange(n + 1), start=start, decoded=start + length + rest)
    assert (index >= 0).all()
    index = nearest_index(length, np.arange(n + 1), start=start)
    assert index.min() >= start
    assert index.max() < start + length
    assert (np.diff(index) >= 0).all()


def test_nearest_index_follows_a_mask_of_another_size() -> None:
    # Pixels 2..5 of 8, so the middle half: of a mask of 16 pixels, pixels 4..11.
    index = nearest_index(4, np.arange(5), start=2, decoded=8, stored=16)
    assert index.tolist() == [5, 7, 9, 11]


@pytest.mark.parametrize("resize_mode", MODES)
def test_arrays_and_tensors_give_what_ints_give(resize_mode: str) -> None:
    tf = pytest.importorskip("tensorflow")
    sizes = np.array([[31, 4000], [3000, 17], [500, 375], [64, 64], [1, 1]])
    ints = [place(*size, (64, 48), resize_mode=resize_mode, scaled=True) for size in sizes.tolist()]

    def flat(placed: tuple[object, ...]) -> list[object]:
        return [*placed[:3], *placed[3], *placed[4]]

    arrays = place(*sizes.T, (64, 48), resize_mode=resize_mode, scaled=True)
    tensors = place(*tf.constant(sizes.T), (64, 48), resize_mode=resize_mode, scaled=True)
    for placed in (arrays, tensors):
        columns = [np.broadcast_to(np.asarray(value), 5) for value in flat(placed)]
        assert np.array_equal(np.stack(columns, axis=1), [flat(one) for one in ints])

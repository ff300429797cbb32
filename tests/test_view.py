"""Where target pixels look: the order of composition, crops, windows, masks."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras_preprocessing.image import affine_transformations

from dfloader.augment import Augment
from dfloader.draws import Draws, draw
from dfloader.geometry import Box
from dfloader.spec import ImageSpec
from dfloader.view import PYTHON, View, corners, crop_box, looks, of_mask, see

SPEC = ImageSpec(target_size=(40, 60))
CENTRE = (30, 20)  # x, y of the target's middle


def view_of(
    augment: Augment, height: int = 40, width: int = 60, *, row: int = 0, spec: ImageSpec = SPEC
) -> tuple[View, Draws]:
    drawn = draw(augment, 1, 0, np.array([row])).row(0)
    return see(height, width, spec, scaled=True, augment=augment, drawn=drawn), drawn


def looked_at(view: View, i: float, j: float) -> tuple[float, float]:
    """Give the point (x, y) of the decoded picture that a point of the target shows."""
    assert view.x is not None and view.y is not None
    column, row = i - 0.5, j - 0.5
    return (
        view.placement.window.left + view.x.a * column + view.x.b * row + view.x.c,
        view.placement.window.top + view.y.a * column + view.y.b * row + view.y.c,
    )


def test_shift_then_rotation_then_shear_then_zoom_then_flip() -> None:
    """Send a marked point of the picture through each step and find it where the target says."""
    options: dict[str, Any] = {
        "shift": (0.2, 0.3),
        "rotation": 40,
        "shear": 25,
        "zoom": (0.6, 1.5),
        "flip_horizontal": True,
        "flip_vertical": True,
    }
    for row in range(20):
        view, drawn = view_of(Augment(**options), row=row)
        each = [
            draw(Augment(**{name: value}), 1, 0, np.array([row])).matrix[0]
            for name, value in options.items()
        ]
        mark = np.array([7.0, -4.0])
        point = mark - each[0][:, 2] * (60, 40)
        for step in each[1:]:
            point = np.linalg.solve(step[:, :2], point)
        seen = looked_at(view, point[0] + CENTRE[0], point[1] + CENTRE[1])
        np.testing.assert_allclose(seen, mark + CENTRE, atol=0.01)
        product = np.linalg.multi_dot([step[:, :2] for step in each])
        np.testing.assert_allclose(drawn.matrix[:, :2], product, atol=1e-12)


def test_quarter_turn_is_clockwise_and_rigid_in_target_pixels() -> None:
    augment = Augment(rotation=90)
    turned = Draws(matrix=np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]))
    view = see(400, 300, SPEC, scaled=False, augment=augment, drawn=turned)
    # Ten target pixels right of the centre shows what was ten above it, in a picture stretched
    # from 300 x 400 to 60 x 40.
    assert looked_at(view, CENTRE[0] + 10, CENTRE[1]) == pytest.approx(
        (150, 200 - 10 * 400 / 40), abs=0.01
    )
    assert looked_at(view, CENTRE[0], CENTRE[1] + 10) == pytest.approx(
        (150 + 10 * 300 / 60, 200), abs=0.01
    )


def test_linear_part_is_that_of_keras_preprocessing() -> None:
    """Its matrices are of (row, column), and it shifts after the rotation."""
    options = {"rotation": 40, "shear": 25, "zoom": (0.6, 1.5)}
    row = np.array([3])
    turn, shear, zoom = (
        draw(Augment(**{name: value}), 1, 0, row).matrix[0] for name, value in options.items()
    )
    seen: list[Any] = []

    def spy(channel: Any, matrix: Any, offset: Any, **_: Any) -> Any:
        seen.append(matrix)
        return channel

    scipys = SimpleNamespace(interpolation=SimpleNamespace(affine_transform=spy))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(affine_transformations, "ndimage", scipys)
        affine_transformations.apply_affine_transform(
            np.zeros((4, 4, 1)),
            theta=math.degrees(math.atan2(turn[0, 1], turn[0, 0])),
            shear=math.degrees(math.asin(-shear[1, 0])),
            zx=zoom[1, 1],
            zy=zoom[0, 0],
        )
    ours = draw(Augment(**options), 1, 0, row).matrix[0, :, :2]
    np.testing.assert_allclose(ours[::-1, ::-1], seen[0], atol=1e-12)


@given(
    height=st.integers(1, 5000),
    width=st.integers(1, 5000),
    area=st.floats(0.001, 1),
    ratio=st.floats(0.1, 10),
    x=st.floats(0, 1, exclude_max=True),
    y=st.floats(0, 1, exclude_max=True),
)
def test_crop_lies_inside_with_the_area_drawn(
    height: int, width: int, area: float, ratio: float, x: float, y: float
) -> None:
    box = crop_box(height, width, (area, ratio, x, y), PYTHON)
    assert box.height >= 1 and box.width >= 1
    assert box.top >= 0 and box.top + box.height <= height
    assert box.left >= 0 and box.left + box.width <= width
    slack = box.height + box.width + 1  # half a pixel on each side
    assert abs(box.height * box.width - area * height * width) <= slack


def test_crop_of_everything_is_the_picture() -> None:
    assert crop_box(333, 500, (1.0, 0.8, 0.5, 0.5), PYTHON) == Box(0, 0, 333, 500)


def test_crop_has_the_ratio_drawn_where_it_fits() -> None:
    box = crop_box(1000, 1000, (0.25, 4 / 3, 0.5, 0.5), PYTHON)
    assert box.width / box.height == pytest.approx(4 / 3, rel=0.005)
    assert crop_box(1000, 100, (0.5, 4.0, 0.0, 0.0), PYTHON) == Box(0, 0, 500, 100)


def test_small_crop_is_decoded_finer_than_the_whole() -> None:
    spec = ImageSpec(target_size=(100, 100))
    augment = Augment(crop_scale=(0.05, 0.05), crop_ratio=(1.0, 1.0))
    assert see(3000, 4000, spec, scaled=True).placement.scale == 8
    view, _ = view_of(augment, 3000, 4000, spec=spec)
    side = math.sqrt(0.05 * 12e6)
    assert view.placement.scale == 4
    assert view.placement.window.height == pytest.approx(side / 4, abs=2)
    assert view.placement.height == 750


def test_zoom_into_the_picture_is_decoded_finer() -> None:
    spec = ImageSpec(target_size=(100, 100))
    closer, _ = view_of(Augment(zoom=(0.25, 0.25)), 1600, 1600, spec=spec)
    assert (closer.placement.scale, closer.placement.window.height) == (4, 110)
    turned, _ = view_of(Augment(rotation=90), 1600, 1600, spec=spec)
    assert turned.placement.scale == 8


@pytest.mark.parametrize("fill_mode", ["constant", "nearest", "reflect", "wrap"])
def test_window_holds_every_pixel_that_is_looked_at(fill_mode: Any) -> None:
    augment = Augment(rotation=60, shift=(0.4, 0.4), zoom=(0.2, 1.6), shear=30, fill_mode=fill_mode)
    for row in range(200):
        view, _ = view_of(augment, 90, 130, row=row)
        assert view.x is not None and view.y is not None
        columns, rows = np.arange(60), np.arange(40)[:, None]
        box = view.placement.window
        for axis, start, length, full in (
            (view.x, box.left, box.width, view.placement.width),
            (view.y, box.top, box.height, view.placement.height),
        ):
            index = looks(axis, columns, rows, PYTHON) + start
            if augment.repeats and (index.min() < 0 or index.max() >= full):
                assert (start, length) == (0, full)
            inside = index[(index >= 0) & (index < full)]
            if inside.size:
                assert start <= inside.min() and inside.max() < start + length


def test_window_of_a_warp_that_misses_the_picture_is_one_edge_pixel_wide() -> None:
    augment = Augment(shift=(1.0, 1.0))
    missed = Draws(matrix=np.array([[1.0, 0, 3.0], [0, 1.0, 0]]))
    view = see(40, 60, SPEC, scaled=False, augment=augment, drawn=missed)
    assert view.placement.window == Box(0, 59, 40, 1)


@given(st.integers(0, 10_000), st.integers(1, 6000), st.integers(1, 6000))
def test_float32_arithmetic_gives_the_very_points(row: int, height: int, width: int) -> None:
    """In whichever order the terms are added."""
    augment = Augment(rotation=180, shift=(0.5, 0.5), zoom=(0.2, 2), shear=30)
    view, _ = view_of(augment, height, width, row=row)
    i, j = (side.ravel().astype(np.float64) for side in np.meshgrid(range(60), range(40)))
    for axis in (view.x, view.y):
        assert axis is not None
        a, b, c = (np.float32(part) for part in axis)
        i32, j32 = i.astype(np.float32), j.astype(np.float32)
        exact = axis.a * i + axis.b * j + axis.c
        for found in ((a * i32 + b * j32) + c, a * i32 + (b * j32 + c), (a * i32 + c) + b * j32):
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, exact)


def test_mask_of_another_size_is_looked_at_in_the_same_place() -> None:
    view, _ = view_of(Augment(rotation=20, zoom=(0.4, 0.5)), 90, 130)
    assert view.x is not None
    window = view.placement.window
    same = of_mask(view.x, window.left, 130, 130, PYTHON)
    assert same == pytest.approx((view.x.a, view.x.b, view.x.c + window.left))
    half = of_mask(view.x, window.left, 130, 65, PYTHON)
    assert half == pytest.approx(tuple(part / 2 for part in same))


def test_fractions_become_whole_pixels() -> None:
    assert corners((0.0, 0.1, 0.5, 1.0), 10, 25, PYTHON) == (0, 3, 5, 25)

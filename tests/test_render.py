"""Where a marked pixel lands, and what level it has there."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfloader.geometry import place
from dfloader.render import render, render_mask
from dfloader.spec import ImageSpec

INTERPOLATIONS = ["bilinear", "nearest", "area", "bicubic", "lanczos"]
MODES = ["stretch", "crop", "pad"]
DTYPES = ["float32", "uint8", "uint16"]
TURNS = {
    "as stored": lambda image: image,
    "columns flipped": lambda image: image[:, ::-1],
    "rows flipped": lambda image: image[::-1],
    "turned round": lambda image: image[::-1, ::-1],
    "transposed": lambda image: image.swapaxes(0, 1),
    "turned right": lambda image: image.swapaxes(0, 1)[:, ::-1],
    "turned left": lambda image: image.swapaxes(0, 1)[::-1],
    "transverse": lambda image: image.swapaxes(0, 1)[::-1, ::-1],
}


def rendered(image: npt.NDArray[Any], **spec: Any) -> npt.NDArray[Any]:
    said = ImageSpec(**spec)
    size = said.target_size or image.shape[:2]
    out = np.full((*size, image.shape[2]), 99, said.dtype)
    render(image, said, out)
    return out


def smooth(height: int, width: int, channels: int = 3) -> npt.NDArray[np.uint8]:
    y, x, c = np.indices((height, width, channels))
    return np.round(127 + 60 * np.sin(y / 9 + c) + 60 * np.cos(x / 7 - c)).astype(np.uint8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("resize_mode", MODES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_u115_marked_pixels_land_where_the_geometry_says(
    resize_mode: str, interpolation: str, dtype: str, data: st.DataObject
) -> None:
    height, width, rows, columns = (data.draw(st.integers(12, 90)) for _ in range(4))
    placed = place(height, width, (rows, columns), resize_mode=resize_mode)
    window, target = placed.window, placed.target
    side = 1 + max(3, 3 * window.height // target.height, 3 * window.width // target.width)
    y = data.draw(st.integers(window.top, window.top + window.height - 1))
    x = data.draw(st.integers(window.left, window.left + window.width - 1))
    image = np.zeros((height, width, 1), np.uint8)
    image[max(y - side, 0) : y + side + 1, max(x - side, 0) : x + side + 1] = 200
    out = rendered(
        image,
        target_size=(rows, columns),
        resize_mode=resize_mode,
        interpolation=interpolation,
        dtype=dtype,
    )
    row = target.top + (y - window.top) * target.height // window.height
    column = target.left + (x - window.left) * target.width // window.width
    level = 257 if dtype == "uint16" else 1
    assert abs(float(out[row, column, 0]) / level - 200) < 24
    outside = np.ones(out.shape[:2], bool)
    outside[target.top : target.top + target.height, target.left : target.left + target.width] = 0
    assert (out[outside] == 0).all()


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("resize_mode", MODES)
def test_turned_views_are_resampled_as_if_they_were_stored_so(
    resize_mode: str, interpolation: str, dtype: str, turn: str
) -> None:
    view = TURNS[turn](smooth(50, 70))
    said: dict[str, Any] = {
        "target_size": (33, 41),
        "resize_mode": resize_mode,
        "interpolation": interpolation,
        "dtype": dtype,
    }
    difference = rendered(view, **said).astype(float) - rendered(view.copy(), **said)
    assert abs(difference).max() <= {"float32": 1e-3, "uint8": 1, "uint16": 1}[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "area", "bicubic"])
@pytest.mark.parametrize("size", [(20, 30), (100, 120), (20, 120)])
def test_u117_many_channels_give_what_each_gives_alone(
    size: tuple[int, int], interpolation: str, dtype: str
) -> None:
    image = smooth(50, 70, 7)
    said: dict[str, Any] = {"target_size": size, "interpolation": interpolation, "dtype": dtype}
    alone = [rendered(image[:, :, i : i + 1].copy(), **said) for i in range(7)]
    difference = rendered(image, **said).astype(float) - np.concatenate(alone, axis=2)
    assert abs(difference).max() <= {"float32": 0.02, "uint8": 1, "uint16": 5}[dtype]


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_a_picture_of_the_target_size_is_kept(interpolation: str) -> None:
    image = smooth(31, 23)
    for dtype in DTYPES:
        out = rendered(image, target_size=(31, 23), interpolation=interpolation, dtype=dtype)
        assert np.array_equal(out, image.astype(int) * (257 if dtype == "uint16" else 1))


def test_16_bits_are_kept_and_scaled() -> None:
    image = np.arange(0, 65536, 16, np.uint16).reshape(64, 64, 1)
    kept = rendered(image, target_size=(64, 64), dtype="uint16")
    assert np.array_equal(kept, image)
    levels = rendered(image, target_size=(64, 64))
    assert np.allclose(levels, image / 257, atol=1e-4)
    assert len(np.unique(levels)) == image.size
    rounded = rendered(image, target_size=(64, 64), dtype="uint8")
    assert np.array_equal(rounded, np.rint(image / 257))


def test_u114_area_averages_and_bilinear_does_not() -> None:
    image = np.zeros((8, 8, 1), np.uint8)
    image[::4] = 200
    said: dict[str, Any] = {"target_size": (2, 2)}
    assert (rendered(image, interpolation="area", **said) == 50).all()
    assert (rendered(image, interpolation="bilinear", **said) == 0).all()


def test_area_is_bilinear_along_an_axis_that_grows() -> None:
    image = smooth(40, 20).astype(np.float32)
    out = rendered(image, target_size=(10, 60), interpolation="area")
    rows = image.reshape(10, 4, 20, 3).mean(axis=1)
    assert np.allclose(out, rendered(rows, target_size=(10, 60)), atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize("interpolation", ["bilinear", "area"])
@pytest.mark.parametrize("size", [(20, 30), (70, 30), (20, 120), (70, 120)])
def test_large_pictures_give_band_by_band_what_they_give_at_once(
    size: tuple[int, int], interpolation: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[str, Any] = {"target_size": size, "interpolation": interpolation, "dtype": dtype}
    at_once = rendered(smooth(57, 90), **said)
    monkeypatch.setattr("dfloader.render._BAND_VALUES", 1000)
    difference = rendered(smooth(57, 90), **said).astype(float) - at_once
    assert abs(difference).max() <= (1 if dtype == "uint16" else 1e-3)


def test_filters_are_pillows() -> None:
    from PIL import Image

    image = smooth(90, 70)
    for name in ("bicubic", "lanczos"):
        filter_ = Image.Resampling[name.upper()]
        expected = np.asarray(Image.fromarray(image).resize((30, 40), filter_))
        out = rendered(image, target_size=(40, 30), interpolation=name, dtype="uint8")
        assert abs(out.astype(int) - expected).max() <= 1


def test_an_overshoot_is_cut_off_not_wrapped() -> None:
    image = np.zeros((16, 16, 1), np.uint8)
    image[:, 8:] = 255
    out = rendered(image, target_size=(32, 32), interpolation="lanczos", dtype="uint8")
    assert set(out[:, :8].flat) <= set(range(30))
    assert set(out[:, -8:].flat) <= set(range(226, 256))


def test_rescale_multiplies_the_picture_and_leaves_the_fill_black() -> None:
    image = np.full((10, 20, 3), 255, np.uint8)
    out = rendered(image, target_size=(20, 20), resize_mode="pad", rescale=1 / 255)
    assert np.allclose(out[5:15], 1)
    assert (out[:5] == 0).all()
    assert (out[15:] == 0).all()


@pytest.mark.parametrize("resize_mode", MODES)
@given(
    size=st.tuples(st.integers(8, 90), st.integers(8, 90)),
    factor=st.integers(1, 3),
)
def test_a_mask_shows_the_pixels_under_the_nearest_image(
    resize_mode: str, size: tuple[int, int], factor: int
) -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (*size, 1), np.uint8)
    spec = ImageSpec(target_size=(30, 40), resize_mode=resize_mode, interpolation="nearest")  # type: ignore[arg-type]
    placed = place(*size, (30, 40), resize_mode=resize_mode)
    shown = np.empty((30, 40, 1), np.uint8)
    render(image, replace(spec, dtype="uint8"), shown, placement=placed)
    mask = np.empty((30, 40, 1), np.uint8)
    render_mask(image, placed, mask)
    assert np.array_equal(mask, shown)
    # A mask of `factor` times the size shows the same picture.
    render_mask(image.repeat(factor, 0).repeat(factor, 1), placed, mask)
    assert np.array_equal(mask, shown)

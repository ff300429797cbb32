"""One example with its draw, in the NumPy engine."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from PIL import Image

from dfloader import Augment, DataFrameSequence, to_tf_dataset
from dfloader.augmented import render_drawn, render_mask_drawn
from dfloader.draws import Draws, draw
from dfloader.render import render
from dfloader.spec import ImageSpec
from dfloader.view import View, see


def picture(height: int = 90, width: int = 130, channels: int = 3) -> npt.NDArray[np.uint8]:
    noise = np.random.default_rng(3).integers(0, 256, (height, width, channels), np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 1.5).reshape(height, width, channels)


def drawn_row(augment: Augment, row: int = 0) -> Draws:
    return draw(augment, 1, 0, np.array([row])).row(0)


def example(
    image: npt.NDArray[Any], spec: ImageSpec, augment: Augment, drawn: Draws
) -> npt.NDArray[Any]:
    out = np.full((*(spec.target_size or image.shape[:2]), image.shape[2]), 77, spec.dtype)
    view = view_of(image, spec, augment, drawn)
    render_drawn(image, view, spec, augment, drawn, out)
    return out


def view_of(image: npt.NDArray[Any], spec: ImageSpec, augment: Augment, drawn: Draws) -> View:
    return see(*image.shape[:2], spec, scaled=False, augment=augment, drawn=drawn)


def plain(image: npt.NDArray[Any], spec: ImageSpec) -> npt.NDArray[Any]:
    out = np.empty((*(spec.target_size or image.shape[:2]), image.shape[2]), spec.dtype)
    render(image, spec, out)
    return out


@pytest.mark.parametrize("dtype", ["float32", "uint8", "uint16"])
@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "area", "lanczos"])
def test_u120_no_option_gives_the_identical_image(dtype: Any, interpolation: Any) -> None:
    spec = ImageSpec(target_size=(40, 60), dtype=dtype, interpolation=interpolation)
    image, augment = picture(), Augment(fill_mode="nearest")
    out = example(image, spec, augment, drawn_row(augment))
    np.testing.assert_array_equal(out, plain(image, spec))


@pytest.mark.parametrize("resize_mode", ["stretch", "crop", "pad"])
def test_u120_identity_warp_and_colour_change_nothing_inside(resize_mode: Any) -> None:
    spec = ImageSpec(target_size=(40, 60), resize_mode=resize_mode)
    augment = Augment(rotation=1, brightness=0.1)
    still = Draws(
        matrix=np.array([[1.0, 0, 0], [0, 1, 0]]),
        colour=np.concatenate([np.eye(3).ravel(), [1, 0, 0]]),
    )
    out = example(picture(), spec, augment, still)
    np.testing.assert_allclose(out, plain(picture(), spec), atol=0.05)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_u120_neutral_options_change_nothing(kind: str, native: bool) -> None:
    """Of bytes, and of floats in 0..1, at the loader: no option rescales an image to its range."""
    values = picture(12, 16) if kind == "uint8" else picture(12, 16).astype(np.float32) / 510
    frame = pd.DataFrame({"image": [values] * 3})
    neutral = {"brightness": (1.0, 1.0), "contrast": (1.0, 1.0), "saturation": (1.0, 1.0)}
    said: dict[str, Any] = {"class_mode": None, "target_size": (12, 16), "seed": 1}
    said["augment"] = Augment(**neutral, zoom=(1.0, 1.0))
    x = next(iter(to_tf_dataset(frame, 3, **said) if native else DataFrameSequence(frame, **said)))
    wanted = picture(12, 16) / (1 if kind == "uint8" else 2)
    np.testing.assert_allclose(np.asarray(x), np.stack([wanted] * 3), atol=0.02)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_flips_are_those_of_numpy(dtype: Any) -> None:
    spec = ImageSpec(target_size=(40, 60), dtype=dtype)
    augment = Augment(flip_horizontal=True, flip_vertical=True)
    seen = set()
    for row in range(20):
        drawn = drawn_row(augment, row)
        across, down = drawn.matrix[0, 0] < 0, drawn.matrix[1, 1] < 0
        seen.add((across, down))
        expected = plain(picture(), spec)[:: -1 if down else 1, :: -1 if across else 1]
        np.testing.assert_array_equal(example(picture(), spec, augment, drawn), expected)
    assert len(seen) == 4


def test_quarter_turn_is_that_of_numpy() -> None:
    spec = ImageSpec(target_size=(60, 60))
    augment, image = Augment(rotation=90), picture(60, 60)
    turned = Draws(matrix=np.array([[0.0, 1, 0], [-1, 0, 0]]))
    out = example(image, spec, augment, turned)
    np.testing.assert_allclose(out, np.rot90(image, -1), atol=0.01)


def test_crop_is_a_resize_of_the_box() -> None:
    spec, augment = ImageSpec(target_size=(40, 60)), Augment(crop_scale=(0.3, 0.6))
    drawn = drawn_row(augment)
    box = view_of(picture(), spec, augment, drawn).placement.window
    cut = picture()[box.top : box.top + box.height, box.left : box.left + box.width]
    np.testing.assert_array_equal(example(picture(), spec, augment, drawn), plain(cut, spec))


@pytest.mark.parametrize("fill_mode", ["constant", "nearest", "reflect", "wrap"])
@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
def test_fill_modes_outside_the_picture(fill_mode: Any, interpolation: Any) -> None:
    """A picture moved half its width to the left, at its own size."""
    spec = ImageSpec(target_size=(20, 40), interpolation=interpolation)
    image = picture(20, 40)
    augment = Augment(shift=(0.5, 0.5), fill_mode=fill_mode, fill_value=9)
    out = example(image, spec, augment, Draws(matrix=np.array([[1.0, 0, 0.5], [0, 1, 0]])))
    pad = {"nearest": "edge", "reflect": "symmetric", "wrap": "wrap"}
    outside = (
        np.full((20, 20, 3), 9)
        if fill_mode == "constant"
        else np.pad(image, ((0, 0), (0, 20), (0, 0)), mode=pad[fill_mode])[:, 40:]
    )
    np.testing.assert_allclose(out[:, :20], image[:, 20:], atol=0.01)
    np.testing.assert_allclose(out[:, 20:], outside, atol=0.01)


@pytest.mark.parametrize("channels", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_u117_each_channel_is_warped_alike(channels: int, dtype: Any) -> None:
    spec = ImageSpec(target_size=(40, 60), color_mode="unchanged", dtype=dtype)
    augment = Augment(rotation=30)
    image = picture(channels=channels)
    out = example(image, spec, augment, drawn_row(augment))
    for channel in range(channels):
        alone = example(image[:, :, [channel]], spec, augment, drawn_row(augment))
        np.testing.assert_array_equal(out[:, :, channel], alone[:, :, 0])


def test_warped_bytes_are_the_rounded_float_result() -> None:
    augment = Augment.light()
    for row in range(10):
        results = [
            example(
                picture(),
                ImageSpec(target_size=(40, 60), dtype=dtype),
                augment,
                drawn_row(augment, row),
            )
            for dtype in ("float32", "uint8", "uint16")
        ]
        assert np.abs(results[0] - results[1]).max() <= 0.51
        assert np.abs(results[0] * 257 - results[2]).max() <= 0.6


def test_antialiased_warp_of_a_fine_pattern_is_grey() -> None:
    stripes = np.zeros((400, 400, 1), np.uint8)
    stripes[:, ::2] = 255
    augment = Augment(rotation=45)
    for interpolation, least, most in (("area", 120, 135), ("bilinear", 0, 255)):
        spec = ImageSpec(target_size=(40, 40), interpolation=interpolation)
        out = example(stripes, spec, augment, drawn_row(augment))[15:25, 15:25]
        assert least <= out.min() and out.max() <= most
    assert out.std() > 20


def test_colour_is_one_formula_rounded_and_clipped_once() -> None:
    augment = Augment(brightness=0.5, contrast=0.5, saturation=0.5, hue=0.2, channel_shift=20)
    luma = np.array([0.299, 0.587, 0.114])
    for row in range(10):
        drawn = drawn_row(augment, row)
        linear = drawn.colour[:9].reshape(3, 3)
        image = picture().astype(np.float64)
        grey = float((image @ luma).mean())
        expected = image @ linear.T + drawn.colour[10] * grey + drawn.colour[11]
        expected = expected.clip(0, 255)
        floats = example(picture(), ImageSpec(target_size=None), augment, drawn)
        np.testing.assert_allclose(floats, expected, atol=1e-3)
        whole = example(picture(), ImageSpec(target_size=None, dtype="uint8"), augment, drawn)
        np.testing.assert_array_equal(whole, np.rint(floats))


def test_contrast_keeps_the_mean_grey_and_brightness_scales_it() -> None:
    image, spec = picture(), ImageSpec(target_size=None)
    for option, factor in (({"contrast": (0.5, 0.5)}, 1.0), ({"brightness": (0.8, 0.8)}, 0.8)):
        augment = Augment(**option)
        out = example(image, spec, augment, drawn_row(augment))
        luma = np.array([0.299, 0.587, 0.114])
        assert (out @ luma).mean() == pytest.approx(factor * (image @ luma).mean(), rel=1e-4)


def test_no_saturation_is_grey() -> None:
    augment = Augment(saturation=(0, 0))
    out = example(picture(), ImageSpec(target_size=None), augment, drawn_row(augment))
    luma = picture() @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(out, np.repeat(luma[:, :, None], 3, axis=2), atol=1e-3)


def test_alpha_keeps_its_value_and_grey_has_no_hue() -> None:
    augment = Augment(brightness=(0.5, 0.5), hue=0.5, saturation=(0.2, 0.2))
    rgba = picture(channels=4)
    out = example(rgba, ImageSpec(target_size=None, color_mode="rgba"), augment, drawn_row(augment))
    np.testing.assert_array_equal(out[:, :, 3], rgba[:, :, 3])
    grey = picture(channels=1)
    spec = ImageSpec(target_size=None, color_mode="grayscale")
    np.testing.assert_allclose(example(grey, spec, augment, drawn_row(augment)), grey * 0.5)


def test_erased_box_has_the_fill_value_and_nothing_else_changes() -> None:
    augment, spec = Augment(erase=1.0, fill_value=200), ImageSpec(target_size=(40, 60))
    drawn = drawn_row(augment)
    out = example(picture(), spec, augment, drawn)
    top, left, bottom, right = np.floor(drawn.erase * (40, 60, 40, 60) + 0.5).astype(int)
    assert np.all(out[top:bottom, left:right] == 200) and bottom > top and right > left
    out[top:bottom, left:right] = plain(picture(), spec)[top:bottom, left:right]
    np.testing.assert_array_equal(out, plain(picture(), spec))


def test_mask_follows_its_image_pixel_by_pixel() -> None:
    """The picture is its own mask, so that with nearest sampling both must be equal."""
    augment = Augment(
        rotation=50, shift=(0.2, 0.2), zoom=(0.5, 1.5), crop_scale=(0.3, 1), flip_horizontal=True
    )
    spec = ImageSpec(target_size=(40, 60), interpolation="nearest", dtype="uint8")
    image = picture(channels=1)
    for row in range(30):
        drawn = drawn_row(augment, row)
        view = view_of(image, spec, augment, drawn)
        out, mask = np.empty((2, 40, 60, 1), np.uint8)
        render_drawn(image, view, spec, augment, drawn, out)
        render_mask_drawn(image, view, augment, drawn, mask)
        np.testing.assert_array_equal(out, mask)


@pytest.mark.parametrize("fill_mode", ["constant", "nearest", "reflect", "wrap"])
def test_u122_mask_keeps_its_labels_and_has_background_outside(fill_mode: Any) -> None:
    augment = Augment(rotation=45, zoom=(1.5, 2), fill_mode=fill_mode, fill_value=50)
    spec = ImageSpec(target_size=(40, 60))
    labels = np.full((90, 130, 1), 7, np.uint8)
    labels[20:60, 30:90] = 201
    drawn = drawn_row(augment)
    view = view_of(labels, spec, augment, drawn)
    out = np.empty((40, 60, 1), np.uint8)
    render_mask_drawn(labels, view, augment, drawn, out)
    outside = set() if fill_mode in ("reflect", "wrap") else {0}
    assert set(np.unique(out)) == {7, 201} | outside


@pytest.fixture
def masked(tmp_path: Any) -> pd.DataFrame:
    """Images whose red channel is their mask."""
    for i in range(6):
        image = picture(50 + i, 70)
        Image.fromarray(image).save(tmp_path / f"{i}.png")
        Image.fromarray(image[:, :, 0]).save(tmp_path / f"{i}_mask.png")
    return pd.DataFrame(
        {
            "filename": [str(tmp_path / f"{i}.png") for i in range(6)],
            "mask": [str(tmp_path / f"{i}_mask.png") for i in range(6)],
        }
    )


def test_u094_u121_sequence_gives_images_and_masks_of_one_draw(masked: pd.DataFrame) -> None:
    seq = DataFrameSequence(
        masked,
        6,
        mask_col="mask",
        class_mode=None,
        target_size=(40, 60),
        interpolation="nearest",
        dtype="uint8",
        augment=Augment(rotation=30, flip_horizontal=True, zoom=(0.7, 1.3), crop_scale=(0.5, 1)),
        seed=1,
    )
    x, y = seq[0]
    np.testing.assert_array_equal(x[..., :1], y)
    seq.set_epoch(1)
    assert not np.array_equal(seq[0][0], x)


def test_draws_are_distinct_and_the_same_for_any_worker_count(df: pd.DataFrame) -> None:
    frame = pd.concat([df] * 3, ignore_index=True).iloc[:48]
    options: dict[str, Any] = {
        "target_size": (16, 16),
        "seed": 5,
        "augment": Augment(rotation=90, brightness=0.5),
        "shuffle": False,
    }
    inline = [x for x, _ in DataFrameSequence(frame, 12, workers=0, **options)]
    with DataFrameSequence(frame, 12, workers=4, use_multiprocessing=True, **options) as seq:
        for ours, theirs in zip(inline, seq, strict=True):
            np.testing.assert_array_equal(ours, theirs[0])
    every = np.concatenate(inline)
    assert len(np.unique(every.reshape(48, -1), axis=0)) == 48
    with DataFrameSequence(frame, 12, workers=3, **options) as seq:
        np.testing.assert_array_equal(np.concatenate([x for x, _ in seq]), every)


def test_eval_is_not_augmented(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 20, target_size=(16, 16), augment=Augment(rotation=90))
    plain_seq = DataFrameSequence(df, 20, target_size=(16, 16), shuffle=False)
    np.testing.assert_array_equal(seq.eval()[0][0], plain_seq[0][0])


def test_crop_without_target_size_is_an_error(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"crop_scale=.* gives images of many sizes"):
        DataFrameSequence(df, target_size=None, augment=Augment.imagenet())


@pytest.mark.parametrize("interpolation", ["bilinear", "area"])
def test_u128_geometry_is_applied_to_the_pixels_of_the_file(interpolation: Any) -> None:
    """A zoom into a large picture shows its detail, which the target's size alone would lose."""
    image = np.zeros((800, 800, 3), np.uint8)
    image[::2] = 255
    closer = Draws(matrix=np.array([[0.05, 0, 0], [0, 0.05, 0]]))
    spec = ImageSpec(target_size=(40, 40), interpolation=interpolation)
    out = example(image, spec, Augment(zoom=(0.05, 0.05)), closer)[..., 0]
    np.testing.assert_allclose(out, image[380:420, 380:420, 0], atol=0.01)
    assert plain(image, replace(spec, interpolation="area")).std() == 0


@pytest.mark.parametrize("native", [False, True])
def test_u129_what_a_turn_uncovers_is_black_by_default(native: bool) -> None:
    assert (Augment().fill_mode, Augment().fill_value) == ("constant", 0)
    frame = pd.DataFrame({"image": [np.full((40, 40, 3), 200, np.uint8)] * 2})
    said: dict[str, Any] = {"class_mode": None, "target_size": (40, 40), "seed": 1}
    said["augment"] = Augment(rotation=90, seed=3)
    turns = np.abs(draw(said["augment"], 1, 0, np.arange(2)).matrix[:, 0, 1])
    x = next(iter(to_tf_dataset(frame, 2, **said) if native else DataFrameSequence(frame, **said)))
    corners = np.asarray(x)[:, [0, 0, -1, -1], [0, -1, 0, -1]]
    assert (turns > 0.1).all()
    assert (corners == 0).all()
    np.testing.assert_allclose(np.asarray(x)[:, 20, 20], 200, atol=0.02)


def test_rescale_comes_last(df: pd.DataFrame) -> None:
    options: dict[str, Any] = {"target_size": (16, 16), "seed": 1}
    augment = Augment(brightness=(2, 2))
    x = DataFrameSequence(df, 20, augment=augment, **options)[0][0]
    scaled = DataFrameSequence(df, 20, augment=augment, rescale=1 / 255, **options)[0][0]
    assert scaled.max() == 1.0
    np.testing.assert_allclose(scaled, x / 255, rtol=1e-6)

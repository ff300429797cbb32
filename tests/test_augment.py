"""What an `Augment` accepts, its presets, and the translation of ImageDataGenerators."""

import dataclasses
import pickle
from importlib import import_module
from typing import Any

import pytest
from keras_preprocessing.image import ImageDataGenerator

from dfloader import Augment


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rotation": -1}, "rotation=-1 is not a number from 0 to 180"),
        ({"rotation": True}, "rotation=True is not a number"),
        ({"hue": 0.6}, "hue=0.6 is not a number from 0 to 0.5"),
        ({"mixup": float("inf")}, "mixup=inf is not a number from 0 up"),
        ({"shift": 0.1}, r"shift=0.1 is not a pair \(height, width\)"),
        ({"shift": (0.1, 2)}, "shift=2 is not a number from 0 to 1"),
        ({"zoom": (1.2, 0.8)}, r"zoom=\(1.2, 0.8\): low is greater than high"),
        ({"zoom": (0, 1)}, "zoom=0 is not a number from 0.001 to 1000"),
        ({"crop_scale": "all"}, r"crop_scale='all' is not a pair \(low, high\)"),
        ({"brightness": -0.1}, "brightness=-0.1 is not a number"),
        ({"contrast": (1.5, 0.5)}, "low is greater than high"),
        ({"flip_vertical": 2}, "flip_vertical=2 is neither True nor False"),
        ({"fill_mode": "edge"}, "fill_mode='edge' is not one of"),
        ({"fill_value": 256}, "fill_value=256 is not a number from 0 to 255"),
        ({"seed": -1}, "seed=-1 is not a whole number"),
    ],
)
def test_bad_value_is_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Augment(**keywords)


def test_frozen_equal_and_picklable() -> None:
    augment = Augment(rotation=3, shift=[0.1, 0.2])
    assert augment == pickle.loads(pickle.dumps(augment)) == Augment(rotation=3, shift=(0.1, 0.2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        augment.rotation = 4  # type: ignore[misc]


def test_nothing_changes_by_default() -> None:
    plain = Augment()
    assert not (plain.warps or plain.flips or plain.colours or plain.mixes or plain.crop_scale)


def test_a_number_and_a_pair_of_factors() -> None:
    assert Augment(brightness=0.2).factors("brightness") == (0.8, 1.2)
    assert Augment(brightness=1.5).factors("brightness") == (0.0, 2.5)
    assert Augment(contrast=(0.5, 0.9)).factors("contrast") == (0.5, 0.9)


def test_imagenet_crops_flips_and_colours_without_a_warp() -> None:
    preset = Augment.imagenet()
    assert preset.crop_scale == (0.08, 1.0)
    assert preset.flip_horizontal and preset.colours and not preset.warps


def test_light_warps_a_little() -> None:
    assert Augment.light().warps and Augment.light().rotation == 10


@pytest.mark.parametrize(
    "package", ["keras_preprocessing.image", "keras.src.legacy.preprocessing.image"]
)
def test_options_of_an_image_data_generator_translate(package: str) -> None:
    idg = import_module(package).ImageDataGenerator(
        rotation_range=20,
        width_shift_range=0.1,
        height_shift_range=0.2,
        shear_range=5,
        zoom_range=0.3,
        brightness_range=(0.5, 1.5),
        channel_shift_range=10,
        horizontal_flip=True,
        fill_mode="reflect",
        cval=7,
    )
    assert Augment.from_image_data_generator(idg) == Augment(
        rotation=20,
        shift=(0.2, 0.1),
        shear=5,
        zoom=(0.7, 1.3),
        brightness=(0.5, 1.5),
        channel_shift=10,
        flip_horizontal=True,
        fill_mode="reflect",
        fill_value=7,
    )


def test_options_that_do_not_translate_are_all_named() -> None:
    idg = ImageDataGenerator(rescale=1 / 255, samplewise_center=True, width_shift_range=[1, 2])
    with pytest.raises(ValueError, match=r"rescale \(say.*samplewise_center.*in pixels"):
        Augment.from_image_data_generator(idg)

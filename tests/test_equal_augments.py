"""Both engines over drawn `Augment`s: pictures within the promise, masks and labels equal."""

from typing import Any

import cv2
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

from dfloader import Augment, DataFrameSequence, to_tf_dataset
from dfloader.batch import prepare
from dfloader.draws import Draws
from dfloader.example import Change
from dfloader.frame import resolve
from dfloader.spec import parse
from dfloader.tfpixels import picture

TOLERANCE = {"float32": 0.02, "uint8": 1, "uint16": 257}
SIDES = [(120, 90), (61, 147), (300, 400), (64, 64), (200, 230), (45, 33)]
COUNT = 64


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Pictures, JPEG and PNG, with masks of four classes; one mask is half its picture's size."""
    folder = tmp_path_factory.mktemp("masked")
    rng = np.random.default_rng(5)
    rows = []
    for i, (height, width) in enumerate(SIDES):
        noise = rng.integers(0, 256, (height, width, 3), np.uint8)
        image = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX)
        name = folder / f"{i}.{'png' if i % 3 == 2 else 'jpg'}"
        Image.fromarray(image).save(name, quality=92)
        mask = Image.fromarray(image[:, :, 0] // 64)
        mask = mask.resize((width // 2, height // 2), Image.Resampling.NEAREST) if i == 0 else mask
        mask.save(folder / f"{i}_mask.png")
        rows.append((str(name), str(folder / f"{i}_mask.png"), "ab"[i % 2]))
    return pd.DataFrame(rows, columns=["filename", "mask", "class"])


def options(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw the options of an `Augment` and the keywords of a loader."""
    rng = np.random.default_rng(number)

    def sometimes(value: Any, otherwise: Any) -> Any:
        return value if rng.random() < 0.4 else otherwise

    augment = {
        "flip_horizontal": bool(rng.integers(2)),
        "flip_vertical": bool(rng.integers(2)),
        "rotation": sometimes(float(rng.uniform(1, 180)), 0),
        "shift": sometimes((0.2, 0.3), (0.0, 0.0)),
        "zoom": sometimes((0.5, 1.6), (1.0, 1.0)),
        "shear": sometimes(25.0, 0),
        "crop_scale": sometimes((0.1, 1.0), None),
        "brightness": sometimes(0.3, 0),
        "contrast": sometimes(0.5, 0),
        "saturation": sometimes(0.5, 0),
        "hue": sometimes(0.2, 0),
        "channel_shift": sometimes(30, 0),
        "erase": sometimes(0.5, 0),
        "fill_mode": ("constant", "nearest", "reflect", "wrap")[number % 4],
        "fill_value": int(rng.integers(256)),
    }
    spec = {
        "dtype": ("float32", "float32", "uint8", "uint16")[int(rng.integers(4))],
        "interpolation": ("bilinear", "bilinear", "nearest", "area")[int(rng.integers(4))],
        "resize_mode": ("stretch", "crop", "pad")[int(rng.integers(3))],
        "color_mode": ("rgb", "rgb", "grayscale", "rgba")[int(rng.integers(4))],
        "decode": ("scaled", "scaled", "full")[int(rng.integers(3))],
        "target_size": ((48, 64), (40, 40), (100, 72))[int(rng.integers(3))],
        "seed": number,
    }
    return augment, spec


def assert_alike(ours: Any, theirs: Any, dtype: str, said: Any) -> None:
    assert theirs.dtype.name == ours.dtype.name == dtype and theirs.shape == ours.shape
    apart = np.abs(theirs.numpy().astype(np.float64) - ours)
    assert apart.max() <= TOLERANCE[dtype], said


@pytest.mark.parametrize("number", range(COUNT))
def test_u094_u121_ops_give_the_pictures_and_masks_of_a_draw(
    masked: pd.DataFrame, number: int
) -> None:
    """Without a pipeline around the ops, whose graph takes longer to make than they take."""
    said, spec = options(number)
    keywords = {"augment": Augment(**said), "mask_col": "mask", "class_mode": None, **spec}
    parsed = parse(6, {**keywords, "shuffle": False}, fresh_seed=0)
    loader = prepare(resolve(masked, parsed.frame), parsed)
    rows = np.arange(6)
    pixels = {
        name: np.empty((6, *part.shape), part.dtype) for name, part in loader.pixels().items()
    }
    loader.fill(0, rows, pixels)
    draws = loader.draws(0, rows)
    for i, (image, mask) in enumerate(zip(masked["filename"], masked["mask"], strict=True)):
        drawn = Draws(*(None if part is None else tf.constant(part) for part in draws.row(i)))
        made = picture(
            tf.io.read_file(image),
            tf.io.read_file(mask),
            loader.image,
            Change(loader.augment, drawn),
            call=lambda pixels: pixels,
            otherwise=fail_python,
        )
        assert_alike(pixels["image"][i], made["image"], spec["dtype"], (said, spec))
        np.testing.assert_array_equal(made["mask"], pixels["mask"][i])


def fail_python() -> Any:
    raise AssertionError("every file here is one that TensorFlow decodes")


@pytest.mark.parametrize("number", range(0, COUNT, 13))
def test_batches_agree(masked: pd.DataFrame, number: int) -> None:
    said, spec = options(number)
    keywords = {"augment": Augment(**said, cutmix=1.0), "mask_col": "mask", **spec}
    (x, y), *_ = DataFrameSequence(masked, 6, workers=0, **keywords)
    (tx, ty), *_ = to_tf_dataset(masked, 6, **keywords)
    assert_alike(x, tx, spec["dtype"], (said, spec))
    np.testing.assert_array_equal(ty["mask"], y["mask"])
    np.testing.assert_allclose(ty["label"], y["label"], atol=1e-6)


@pytest.mark.parametrize(
    "said",
    [{"mixup": 0.4}, {"cutmix": 1.0}, {"mixup": 0.4, "cutmix": 1.0, "rotation": 30, "hue": 0.1}],
)
def test_mixing_agrees_over_epochs_and_with_weights(
    masked: pd.DataFrame, said: dict[str, Any]
) -> None:
    frame = masked.assign(weight=np.arange(6) / 3)
    keywords = {"augment": Augment(**said), "weight_col": "weight", "target_size": (32, 32)}
    keywords["seed"] = 4
    seq = DataFrameSequence(frame, 4, workers=0, **keywords)
    ds = to_tf_dataset(frame, 4, **keywords)
    for epoch in range(2):
        seq.set_epoch(epoch)
        for (x, y, w), (tx, ty, tw) in zip(seq, ds, strict=True):
            np.testing.assert_allclose(tx, x, atol=0.02)
            np.testing.assert_allclose(ty, y, atol=1e-6)
            np.testing.assert_allclose(tw, w, atol=1e-6)
            np.testing.assert_allclose(y.sum(axis=1), 1, atol=1e-6)

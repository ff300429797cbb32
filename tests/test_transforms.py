"""Callables as augmentation, in every engine."""

import functools
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skimage
from callables import (
    Turned,
    darker,
    failing,
    flipped,
    global_noise,
    noisy,
    noisy_keyword,
    wrong_shape,
)
from keras_preprocessing.image import ImageDataGenerator

from dfloader import Augment, DataFrameSequence, to_tf_dataset
from dfloader.transforms import resolve

OPTIONS: dict[str, Any] = {"target_size": (16, 16), "seed": 1, "shuffle": False}


def images(df: pd.DataFrame, augment: Any, **options: Any) -> Any:
    return DataFrameSequence(df, 20, augment=augment, workers=0, **{**OPTIONS, **options})[0][0]


def test_function_of_an_image(df: pd.DataFrame) -> None:
    np.testing.assert_array_equal(images(df, flipped), images(df, None)[:, :, ::-1])


def test_function_with_a_generator_of_its_row(df: pd.DataFrame) -> None:
    for augment in (noisy, functools.partial(noisy_keyword, amount=100)):
        added = images(df, augment) - images(df, None)
        assert len(np.unique(np.round(added[:, 0, 0, 0], 3))) == 20
        np.testing.assert_allclose(
            added, np.broadcast_to(added[:, :1, :1, :1], added.shape), atol=1e-4
        )
        np.testing.assert_array_equal(images(df, augment), images(df, augment))


def test_list_is_applied_in_order_after_the_augment(df: pd.DataFrame) -> None:
    bright = Augment(brightness=(1.5, 1.5))
    expected = images(df, bright)[:, :, ::-1] * 0.5
    np.testing.assert_array_equal(images(df, [bright, flipped, darker]), expected)


def test_rescale_comes_after(df: pd.DataFrame) -> None:
    np.testing.assert_allclose(
        images(df, darker, rescale=1 / 255), images(df, None) * 0.5 / 255, rtol=1e-6
    )


def test_scikit_image_functions(df: pd.DataFrame) -> None:
    swirl = functools.partial(skimage.transform.swirl, strength=3, radius=10, preserve_range=True)
    out = images(df, swirl)
    assert out.dtype == np.float32 and not np.array_equal(out, images(df, None))


def test_albumentations_style_moves_masks_and_is_seeded_for_each_row(masked: pd.DataFrame) -> None:
    options = {"mask_col": "mask", "class_mode": None, "dtype": "uint8"}
    seq = DataFrameSequence(masked, 6, augment=Turned(), workers=0, **OPTIONS, **options)
    x, mask = seq[0]
    plain, _ = DataFrameSequence(masked, 6, workers=0, **OPTIONS, **options)[0]
    turns = [
        [turn for turn in range(4) if np.array_equal(np.rot90(p, turn), image)]
        for p, image in zip(plain, x, strict=True)
    ]
    assert all(len(found) == 1 for found in turns) and len({found[0] for found in turns}) > 1
    assert np.abs(x[..., :1].astype(int) - mask).max() <= 40  # nearest against bilinear
    np.testing.assert_array_equal(seq[0][0], x)


@pytest.fixture
def masked(df: pd.DataFrame, tmp_path: Any) -> pd.DataFrame:
    """Pictures whose red channel is their mask."""
    from PIL import Image

    frame = df.iloc[:6].copy()
    frame["mask"] = [str(tmp_path / f"{i}.png") for i in range(6)]
    for name, mask in zip(frame["filename"], frame["mask"], strict=True):
        Image.open(name).convert("RGB").getchannel(0).save(mask)
    return frame


IDG = ImageDataGenerator(
    rotation_range=30,
    width_shift_range=0.1,
    height_shift_range=[-2, 2],
    zoom_range=0.2,
    shear_range=5,
    channel_shift_range=20,
    horizontal_flip=True,
    vertical_flip=True,
    rescale=1 / 255,
    preprocessing_function=darker,
)


def test_image_data_generator_draws_from_the_row_and_standardises(df: pd.DataFrame) -> None:
    out = images(df, IDG)
    assert out.max() <= 0.5 + 1e-6 and out.max() > 0.1
    np.testing.assert_array_equal(out, images(df, IDG))
    still = images(df, ImageDataGenerator(rescale=0.5))
    np.testing.assert_allclose(still, images(df, None) * 0.5, rtol=1e-6)


def test_image_data_generator_moves_masks_alike(masked: pd.DataFrame) -> None:
    idg = ImageDataGenerator(horizontal_flip=True, vertical_flip=True)
    options = {
        "mask_col": "mask",
        "class_mode": None,
        "interpolation": "nearest",
        "dtype": "uint8",
        "decode": "full",
    }
    x, mask = DataFrameSequence(masked, 6, augment=idg, workers=0, **OPTIONS, **options)[0]
    np.testing.assert_array_equal(x[..., :1], mask)
    plain, _ = DataFrameSequence(masked, 6, workers=0, **OPTIONS, **options)[0]
    assert not np.array_equal(plain, x)


def test_global_randomness_is_the_rows_own_and_put_back(df: pd.DataFrame) -> None:
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    before = (np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002
    out = images(df, global_noise)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002
    assert len(np.unique(out[:, 0, 0, 0])) == 20
    np.testing.assert_array_equal(images(df, global_noise), out)


@pytest.mark.parametrize("augment", [noisy, global_noise, Turned(), IDG])
def test_48_rows_on_4_workers_are_48_draws_as_without(df: pd.DataFrame, augment: Any) -> None:
    frame = pd.concat([df] * 3, ignore_index=True).iloc[:48]
    options: dict[str, Any] = {**OPTIONS, "augment": [Augment(rotation=20), augment]}
    inline = list(DataFrameSequence(frame, 12, workers=0, **options))
    every = np.concatenate([x for x, _ in inline])
    assert len(np.unique(every.reshape(48, -1), axis=0)) == 48
    for processes in (False, True):
        with DataFrameSequence(
            frame, 12, workers=4, use_multiprocessing=processes, **options
        ) as seq:
            np.testing.assert_array_equal(np.concatenate([x for x, _ in seq]), every)


def test_u126_the_target_of_class_mode_input_is_the_augmented_image(df: pd.DataFrame) -> None:
    options = {**OPTIONS, "class_mode": "input", "augment": [Augment(rotation=20), noisy]}
    x, y = DataFrameSequence(df, 20, workers=0, **options)[0]
    ((tx, ty),) = to_tf_dataset(df, 20, **options)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(ty, tx)
    np.testing.assert_allclose(ty, y, atol=0.02)
    assert np.abs(y - images(df, None)).max() > 1


@pytest.mark.parametrize("augment", [noisy, global_noise, IDG])
def test_u123_dataset_calls_with_the_same_draws(df: pd.DataFrame, augment: Any) -> None:
    said = [Augment(rotation=20), augment]
    options = {**OPTIONS, "rescale": 0.5}
    ds = to_tf_dataset(df, 8, augment=said, **options)
    assert ds.element_spec[0].shape.as_list() == [None, 16, 16, 3]
    seq = DataFrameSequence(df, 8, augment=said, workers=0, **options)
    for epoch in range(2):
        seq.set_epoch(epoch)
        for (x, _), (tx, _) in zip(seq, ds, strict=True):
            np.testing.assert_allclose(tx, x, atol=0.02)


def test_dataset_moves_masks_with_callables(masked: pd.DataFrame) -> None:
    options = {**OPTIONS, "mask_col": "mask", "class_mode": None, "augment": Turned()}
    x, mask = DataFrameSequence(masked, 6, workers=0, **options)[0]
    tx, tmask = next(iter(to_tf_dataset(masked, 6, **options)))
    np.testing.assert_allclose(tx, x, atol=0.02)
    np.testing.assert_array_equal(tmask, mask)


def test_epochs_differ(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 20, augment=noisy, workers=0, **OPTIONS)
    first = seq[0][0]
    seq.set_epoch(1)
    assert not np.array_equal(seq[0][0], first)


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        (wrong_shape, r"wrong_shape gave an image of shape \(15, 16, 3\), not \(16, 16, 3\)"),
        (failing, "failing failed on an image .* of float32: 'no such thing'"),
        (lambda image: image > 3, "gave an image of bool, not float32"),
        (lambda image: None, "gave an image of shape"),
    ],
)
def test_u123_bad_result_is_found_when_the_loader_is_built(
    df: pd.DataFrame, augment: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        DataFrameSequence(df, augment=augment, **OPTIONS)


def test_floats_for_bytes_are_an_error(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="darker gave an image of float64, not uint8"):
        DataFrameSequence(df, augment=darker, dtype="uint8", **OPTIONS)


def test_error_while_loading_names_row_and_path(df: pd.DataFrame) -> None:
    calls = 0

    def sometimes(image: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise KeyError("late")
        return image

    seq = DataFrameSequence(df, 20, augment=sometimes, workers=0, **OPTIONS)
    with pytest.raises(RuntimeError, match=r"Row 2: '.*': augment failed: 'late'"):
        seq[0]


@pytest.mark.parametrize("said", [3, "flip", Augment, [flipped, Augment()], [Augment(), Augment()]])
def test_what_is_no_augmentation_is_a_type_error(df: pd.DataFrame, said: Any) -> None:
    with pytest.raises(TypeError, match="augment"):
        DataFrameSequence(df, augment=said, **OPTIONS)


@pytest.mark.parametrize(
    ("function", "style"),
    [
        (flipped, "image"),
        (noisy, "image_rng"),
        (noisy_keyword, "image_rng_keyword"),
        (np.fliplr, "image"),
        (lambda image, k=3: image, "image"),
        (lambda *args, **kwargs: args[0], "image"),
        (Turned(), "keywords"),
        (IDG, "image_data_generator"),
    ],
)
def test_how_a_callable_is_called(function: Any, style: str) -> None:
    assert resolve(function).calls[0].style == style


def test_lambda_cannot_go_to_processes(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="use_multiprocessing=False"):
        DataFrameSequence(df, augment=lambda image: image, use_multiprocessing=True, **OPTIONS)


def test_keras_generator_cannot_go_to_processes(df: pd.DataFrame) -> None:
    from keras.src.legacy.preprocessing.image import ImageDataGenerator as Keras3

    idg = Keras3(horizontal_flip=True)
    with pytest.raises(ValueError, match="ImageDataGenerator needs keras, which worker"):
        DataFrameSequence(df, augment=idg, use_multiprocessing=True, **OPTIONS)
    assert images(df, idg).shape == (20, 16, 16, 3)

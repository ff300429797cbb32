"""The fast paths of the shim against Pillow and scipy."""

import io

import keras
import numpy as np
import pytest
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from keras_preprocessing import image as kp
from PIL import Image

from dfloader.legacy.affine import Affine, affine, warp
from dfloader.legacy.generator import draw, runs_user_code, transform
from dfloader.legacy.pixels import Look, _opencv_picks, load, resize_nearest

NEUTRAL = {"theta": 0, "tx": 0, "ty": 0, "shear": 0, "zx": 1, "zy": 1}


@pytest.fixture
def photo():
    rng = np.random.default_rng(0)
    small = Image.fromarray(rng.integers(0, 256, (9, 12, 3), np.uint8))
    return np.asarray(small.resize((70, 50), Image.Resampling.BICUBIC))


def original(path, look):
    image = keras.utils.load_img(
        path,
        color_mode=look.color_mode,
        target_size=look.target_size,
        interpolation=look.interpolation,
    )
    return keras.utils.img_to_array(image)


def test_c12_nearest_picks_pillows_pixels_at_every_size():
    for old in range(1, 60):
        ramp = np.arange(old, dtype=np.uint8)[None, :, None]
        for new in (1, 2, 3, 7, 16, 29, 30, 31, 64, 97, 224):
            expected = Image.fromarray(ramp[:, :, 0]).resize((new, 1), Image.Resampling.NEAREST)
            got = resize_nearest(ramp, (1, new))
            np.testing.assert_array_equal(got[:, :, 0], np.asarray(expected), f"{old} to {new}")


def test_nearest_also_works_where_opencv_would_pick_others():
    others = [
        (old, new)
        for old in range(2, 400)
        for new in (3, 7, 10, 14, 48, 96, 100)
        if not _opencv_picks(old, new)
    ]
    for old, new in others[:20]:
        ramp = np.arange(old, dtype=np.int32)[None]
        expected = Image.fromarray(ramp).resize((new, 1), Image.Resampling.NEAREST)
        got = resize_nearest(ramp[:, :, None], (1, new))
        np.testing.assert_array_equal(got[:, :, 0], np.asarray(expected))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic", "lanczos", "box"])
@pytest.mark.parametrize("color_mode", ["rgb", "rgba", "grayscale"])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("subsampling", [0, 2])
def test_c12_jpegs_are_read_as_pillow_reads_them(
    photo, tmp_path, interpolation, color_mode, mode, subsampling
):
    path = tmp_path / "a.jpg"
    Image.fromarray(photo).convert(mode).save(path, quality=80, subsampling=subsampling)
    for size in ((20, 33), (50, 70), (80, 90)):
        look = Look(size, color_mode, interpolation, "channels_last")
        np.testing.assert_array_equal(load(str(path), look), original(path, look))


@pytest.mark.parametrize("color_mode", ["rgb", "grayscale"])
@pytest.mark.parametrize("kind", ["u103_deep.png", "u104_float.tif", "u108_turned.jpg"])
def test_c12_files_that_pillow_gets_wrong_stay_as_they_were(photo, tmp_path, kind, color_mode):
    grey = photo[..., 0]
    options = {}
    if kind == "u103_deep.png":
        picture = Image.fromarray(grey.astype(np.uint16) * 257)
    elif kind == "u104_float.tif":
        picture = Image.fromarray(grey.astype(np.float32) / 255)
    else:
        picture, options["exif"] = Image.fromarray(photo), Image.Exif()
        options["exif"][0x0112] = 6
    picture.save(tmp_path / kind, **options)
    look = Look((50, 70), color_mode, "nearest", "channels_last")
    got = load(str(tmp_path / kind), look)
    np.testing.assert_array_equal(got, original(tmp_path / kind, look))
    if kind == "u104_float.tif":
        assert got.max() <= 1
    elif kind == "u103_deep.png":
        assert got.max() == (255 if color_mode == "rgb" else int(grey.max()) * 257)
    else:
        assert abs(got.mean() - photo.mean()) < 5 and got.shape[:2] == (50, 70)


def test_c12_channels_first_is_the_same_image_transposed(photo, tmp_path):
    path = tmp_path / "a.jpg"
    Image.fromarray(photo).save(path)
    last, first = (
        load(str(path), Look((9, 8), "rgb", "nearest", order))
        for order in ("channels_last", "channels_first")
    )
    np.testing.assert_array_equal(first, last.transpose(2, 0, 1))


def test_c12_a_broken_jpeg_fails_as_in_pillow(photo, tmp_path):
    path = tmp_path / "cut.jpg"
    buffer = io.BytesIO()
    Image.fromarray(photo).save(buffer, "JPEG")
    path.write_bytes(buffer.getvalue()[:-300])
    look = Look((9, 8), "rgb", "nearest", "channels_last")
    with pytest.raises(OSError, match="truncated") as expected:
        original(path, look)
    with pytest.raises(OSError, match="truncated") as got:
        load(str(path), look)
    assert str(got.value) == str(expected.value)


@pytest.mark.parametrize("module", [ImageDataGenerator, kp.ImageDataGenerator])
@pytest.mark.parametrize("fill_mode", ["nearest", "reflect", "constant"])
@pytest.mark.parametrize("size", [(50, 70), (61, 60), (1, 30)])
@pytest.mark.filterwarnings("ignore:Please import `affine_transform`:DeprecationWarning")
def test_the_transform_is_the_originals_to_a_hundredth_of_a_level(photo, module, fill_mode, size):
    x = np.asarray(Image.fromarray(photo).resize(size[::-1]), np.float32)
    generator = module(
        rotation_range=60,
        width_shift_range=0.2,
        height_shift_range=0.2,
        shear_range=20,
        zoom_range=(0.5, 1.6),
        horizontal_flip=True,
        vertical_flip=True,
        channel_shift_range=30,
        fill_mode=fill_mode,
        cval=40,
    )
    rng = np.random.RandomState(1)
    for _ in range(20):
        drawn = draw(generator, x.shape, rng)
        expected = generator.apply_transform(x, drawn)
        difference = np.abs(transform(generator, x.copy(), drawn) - expected)
        # On the line where `constant` begins a rounded coordinate falls to either side.
        assert (difference > 0.01).mean() <= (0.003 if fill_mode == "constant" else 0)


@pytest.mark.parametrize(
    "words",
    [
        {"fill_mode": "wrap"},
        {"interpolation_order": 0},
        {"interpolation_order": 3},
        {"brightness_range": (0.5, 1.5)},
        {"data_format": "channels_first"},
    ],
)
@pytest.mark.filterwarnings("ignore:Please import `affine_transform`:DeprecationWarning")
def test_what_opencv_cannot_match_is_left_to_the_original(photo, words):
    generator = ImageDataGenerator(rotation_range=30, horizontal_flip=True, **words)
    x = photo.astype(np.float32)
    if "data_format" in words:
        x = x.transpose(2, 0, 1)
    drawn = draw(generator, x.shape, np.random.RandomState(2))
    np.testing.assert_array_equal(
        transform(generator, x.copy(), drawn), generator.apply_transform(x.copy(), drawn)
    )


def test_a_replaced_method_is_called(photo):
    class Mine(ImageDataGenerator):
        def apply_transform(self, x, transform_parameters):
            return x + transform_parameters["theta"]

    generator = Mine(rotation_range=5)
    assert runs_user_code(generator)
    drawn = draw(generator, photo.shape, np.random.RandomState(0))
    np.testing.assert_array_equal(transform(generator, photo * 1.0, drawn), photo + drawn["theta"])


def test_draws_equal_the_originals_for_every_kind_of_range():
    for shift in (0.2, 1.5, 3, [1, 5], (0.1, 0.4), [0]):
        for zoom in (0, 0.3, [0.5, 2]):
            generator = ImageDataGenerator(
                width_shift_range=shift, height_shift_range=shift, zoom_range=zoom, shear_range=1
            )
            np.random.seed(4)
            expected = generator.get_random_transform((30, 40, 3))
            drawn = draw(generator, (30, 40, 3), np.random.RandomState(4))
            np.testing.assert_equal(drawn, expected)


def test_flips_are_part_of_the_matrix(photo):
    x = photo.astype(np.float32)
    identity = Affine(1, 0, 0, 0, 1, 0)
    flipped = warp(x, identity.flipped(50, 70, rows=True, columns=True), "nearest", 0)
    np.testing.assert_array_equal(flipped, x[::-1, ::-1])


def test_neutral_parameters_are_no_transform():
    assert affine(NEUTRAL, 10, 20, old=False) is None


def test_keras_preprocessing_has_other_axes_and_another_centre():
    turned = NEUTRAL | {"tx": 3}
    new, old = (affine(turned, 10, 20, old=which) for which in (False, True))
    assert (new.c, new.f) == (0, 3)
    assert (old.c, old.f) == (3, 0)
    new, old = (affine(NEUTRAL | {"zx": 2, "zy": 2}, 10, 10, old=w) for w in (False, True))
    assert (new.c, old.c) == (-4.5, -5.5)

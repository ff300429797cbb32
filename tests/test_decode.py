"""The right pixels from any file, or the right error."""

import io
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import imagecodecs
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dfloader.decode import channels, decode, decode_mask
from dfloader.errors import DecodeError
from dfloader.geometry import ORIENTATION_FLAGS, Placement
from dfloader.header import Header
from dfloader.levels import ink_to_rgb
from dfloader.probe import probe
from dfloader.render import render
from dfloader.spec import ImageSpec
from dfloader.view import see

AWKWARD = Path(__file__).parent.parent / "sample_data" / "awkward"
FILES = pd.read_csv(AWKWARD / "labels.csv")
SOUND = FILES["filename"][FILES["loads"] == "yes"].tolist()
BROKEN = {
    "truncated.jpg": "Premature end of JPEG file",
    "empty.jpg": "the file is empty",
    "web_page.jpg": "not an image: it begins with b'<!DOCTYPE html>",
}
COLOURS = [(220, 40, 40), (40, 180, 60), (40, 80, 200), (230, 200, 40)]
RAMP = (np.arange(2048) * 65535 // 2047).reshape(32, 64, 1)
ORIENTATION = 0x0112

Array = npt.NDArray[Any]


def quadrants(values: Any, height: int = 32, width: int = 64) -> Array:
    """Four flat quarters: top left, top right, bottom left, bottom right."""
    y, x = np.indices((height, width))
    return np.asarray(values)[2 * (y >= height // 2) + (x >= width // 2)]


def grey(colours: Array) -> Array:
    return np.rint(colours @ [0.299, 0.587, 0.114])[..., None]


def expected(name: str, mode: str) -> Array:
    """Give what `sample_data/awkward/README.md` says, in 0..255."""
    if name in ("grey16.png", "grey16.tif", "float32.tif"):
        base = RAMP / 257
    elif name == "grey.jpg":
        base = quadrants([32, 96, 160, 224])[..., None]
    elif name == "one_bit.png":
        base = quadrants([255, 0, 0, 255])[..., None]
    else:
        base = quadrants(COLOURS)
    alpha = quadrants([255, 128, 64, 0] if name == "rgba.png" else [255] * 4)[..., None]
    if mode == "grayscale":
        return base if base.shape[2] == 1 else grey(base)
    if mode == "unchanged":
        return np.concatenate([base, alpha], 2) if name == "rgba.png" else base
    rgb = base.repeat(3 // base.shape[2], 2)
    return rgb if mode == "rgb" else np.concatenate([rgb, alpha], 2)


def loaded(data: bytes, **said: Any) -> Array:
    """Decode and render as a batch does."""
    spec = ImageSpec(**{"target_size": None, **said})
    header = probe(data, max_pixels=spec.max_pixels)
    placement = placed(header, spec)
    size = spec.target_size or header.size(exif=spec.exif)
    out = np.empty((*size, channels(header, spec)), spec.dtype)
    render(decode(data, spec, header, scale=placement.scale), spec, out, placement=placement)
    return out


def placed(header: Header, spec: ImageSpec) -> Placement:
    height, width = header.size(exif=spec.exif)
    return see(height, width, spec, scaled=header.scalable).placement


def encoded(image: Array | Image.Image, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    picture.save(file, form, **options)
    return file.getvalue()


def turned(upright: Array, orientation: int, form: str) -> bytes:
    """Store a picture as a camera held otherwise does."""
    transpose, flip_rows, flip_columns = ORIENTATION_FLAGS[orientation]
    stored = upright[:: 1 - 2 * flip_rows, :: 1 - 2 * flip_columns]
    stored = stored.swapaxes(0, 1) if transpose else stored
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    options = {"quality": 95} if form == "JPEG" else {}
    return encoded(np.ascontiguousarray(stored), form, exif=exif, **options)


def npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def tiff(pixels: Array, **options: Any) -> bytes:
    file = io.BytesIO()
    tifffile.imwrite(file, pixels, **{"photometric": "minisblack", **options})
    return file.getvalue()


def photo(height: int = 120, width: int = 160) -> npt.NDArray[np.uint8]:
    small = np.random.default_rng(3).integers(0, 256, (9, 12, 3), np.uint8)
    resized = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
    return np.array(resized)


def test_every_awkward_file_is_covered() -> None:
    assert len(SOUND) == 27
    assert sorted(BROKEN) == sorted(FILES["filename"][FILES["loads"] == "no"])


@pytest.mark.parametrize("dtype", ["float32", "uint8", "uint16"])
@pytest.mark.parametrize("how", ["scaled", "full"])
@pytest.mark.parametrize("mode", ["rgb", "rgba", "grayscale", "unchanged"])
@pytest.mark.parametrize("name", [name for name in SOUND if name != "five_bands.tif"])
def test_u104_u106_u112_awkward_files_give_the_pixels_that_their_page_says(
    name: str, mode: str, how: str, dtype: str
) -> None:
    out = loaded((AWKWARD / name).read_bytes(), color_mode=mode, decode=how, dtype=dtype)
    wanted = expected(name, mode) * (257 if dtype == "uint16" else 1)
    levels = 2 if name.lower().endswith(".jpg") and name != "png_inside.jpg" else 0
    levels += {"float32": 1e-3, "uint8": 0.51, "uint16": 0.01}[dtype]
    levels += 1 if mode == "grayscale" and wanted.max() > 0 else 0
    assert out.shape == wanted.shape
    assert abs(out - wanted).max() <= levels * (257 if dtype == "uint16" else 1)


@pytest.mark.parametrize("how", ["scaled", "full"])
@pytest.mark.parametrize("name", [name for name in SOUND if name != "five_bands.tif"])
def test_awkward_files_are_the_same_picture_at_half_the_size(name: str, how: str) -> None:
    said: dict[str, Any] = {"interpolation": "area", "target_size": (16, 32), "decode": how}
    out = loaded((AWKWARD / name).read_bytes(), **said)
    whole = expected(name, "rgb").astype(np.float32)
    assert abs(out - whole.reshape(16, 2, 32, 2, 3).mean(axis=(1, 3))).max() <= 3


@pytest.mark.parametrize("name", ["grey16.png", "grey16.tif"])
def test_u103_16_bits_stay_apart_and_are_kept(name: str) -> None:
    data = (AWKWARD / name).read_bytes()
    assert len(np.unique(loaded(data))) == 2048
    assert np.array_equal(loaded(data, color_mode="grayscale", dtype="uint16"), RAMP)


def test_u117_five_bands_are_kept_and_named_where_they_do_not_fit() -> None:
    data = (AWKWARD / "five_bands.tif").read_bytes()
    bands = quadrants([16, 48, 80, 112])[..., None] + 20 * np.arange(5)
    assert np.array_equal(loaded(data, color_mode="unchanged"), bands)
    for mode in ("rgb", "rgba", "grayscale"):
        with pytest.raises(DecodeError, match=f"5 channels, and color_mode='{mode}'"):
            loaded(data, color_mode=mode)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_end_in_an_error_that_says_why(name: str) -> None:
    with pytest.raises(DecodeError, match=BROKEN[name]):
        loaded((AWKWARD / name).read_bytes())


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("how", ["scaled", "full"])
def test_u108_orientation_turns_the_known_corner_to_the_top_left(
    orientation: int, how: str, form: str
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    height, width = (256, 512) if orientation < 5 else (512, 256)
    # Where the upright picture's top left is stored (EXIF 2.3, 4.6.4).
    corner = {1: 0, 2: 1, 3: 3, 4: 2, 5: 0, 6: 2, 7: 3, 8: 1}[orientation]
    values = np.zeros((4, 3), np.uint8)
    values[corner] = 200
    stored = quadrants(values, height, width)
    options = {"quality": 95} if form == "JPEG" else {"lossless": True} if form == "WEBP" else {}
    data = encoded(stored.astype(np.uint8), form, exif=exif, **options)
    out = loaded(data, target_size=(32, 64), decode=how)
    upright = quadrants([[200] * 3, [0] * 3, [0] * 3, [0] * 3])
    assert probe(data, max_pixels=None).size() == (256, 512)
    assert abs(out - upright).mean() < 4
    assert abs(out[4, 4] - 200).max() <= 3
    as_stored = loaded(data, target_size=(64, 64), decode=how, exif=False)
    assert abs(as_stored - quadrants(values, 64, 64)).mean() < 4


@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF"])
@pytest.mark.parametrize("how", ["scaled", "full"])
@pytest.mark.parametrize("mode", ["rgb", "rgba", "grayscale", "unchanged"])
@settings(max_examples=8, deadline=None)
@given(draw=st.data())
def test_a_mark_in_a_file_lands_where_the_geometry_says(
    mode: str, how: str, form: str, draw: st.DataObject
) -> None:
    resize_mode = draw.draw(st.sampled_from(["stretch", "crop", "pad"]))
    height, width = (draw.draw(st.integers(100, 300)) for _ in range(2))
    rows, columns = (draw.draw(st.integers(12, 40)) for _ in range(2))
    orientation = draw.draw(st.integers(1, 8))
    said: dict[str, Any] = {"color_mode": mode, "decode": how, "resize_mode": resize_mode}
    spec = ImageSpec(target_size=(rows, columns), interpolation="area", **said)
    whole = see(height, width, replace(spec, decode="full"), scaled=False).placement
    window, target = whole.window, whole.target
    # A white square of some target pixels, around a point that the target shows.
    y = window.top + window.height * draw.draw(st.integers(20, 80)) // 100
    x = window.left + window.width * draw.draw(st.integers(20, 80)) // 100
    half = 3 * max(window.height // target.height, window.width // target.width) + 8
    upright = np.full((height, width, 3), 40, np.uint8)
    upright[max(0, y - half) : y + half, max(0, x - half) : x + half] = 220
    data = turned(upright, orientation, form)
    out = loaded(data, target_size=(rows, columns), interpolation="area", **said)
    row = target.top + (y - window.top) * target.height // window.height
    column = target.left + (x - window.left) * target.width // window.width
    assert abs(out[row, column, 0] - 220) <= 8
    if mode == "rgba":
        assert abs(out[row, column, 3] - 255) < 0.01
    shown = out[target.top :, target.left :][: target.height, : target.width, 0]
    marked = cv2.resize(
        upright[window.top :, window.left :][: window.height, : window.width, 0],
        (target.width, target.height),
        interpolation=cv2.INTER_AREA,
    )
    assert abs(shown - marked).mean() < 12


def test_jpeg_equals_opencv_and_pillow_bit_for_bit() -> None:
    for subsampling in (0, 1, 2):
        data = encoded(photo(121, 157), "JPEG", quality=87, subsampling=subsampling)
        ours = loaded(data, dtype="uint8")
        opencv = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
        assert np.array_equal(ours, opencv)
        assert np.array_equal(ours, np.asarray(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 5), (6, 6), (31, 33), (121, 157)])
def test_u113_jpeg_equals_tensorflow_bit_for_bit_at_every_scale(size: tuple[int, int]) -> None:
    tf = pytest.importorskip("tensorflow")
    for grey_ in (False, True):
        image = photo(*size)
        data = encoded(image[..., 0] if grey_ else image, "JPEG", quality=87)
        for target in [(1, 1), (3, 3), (8, 8), (16, 20), (60, 78), (121, 157)]:
            spec = ImageSpec(target_size=target)
            header = probe(data, max_pixels=None)
            k = placed(header, spec).scale
            theirs = tf.io.decode_jpeg(data, channels=3, ratio=k, dct_method="INTEGER_ACCURATE")
            assert np.array_equal(decode(data, spec, header, scale=k), theirs.numpy())


def test_colour_to_grey_is_within_a_level_of_pillow() -> None:
    image = photo()
    wanted = np.asarray(Image.fromarray(image).convert("L"))[..., None].astype(int)
    for form, options in {"PNG": {}, "BMP": {}, "TIFF": {}, "WEBP": {"lossless": True}}.items():
        out = loaded(encoded(image, form, **options), color_mode="grayscale", dtype="uint8")
        assert np.array_equal(out, wanted)
    out = loaded(encoded(image, "JPEG", quality=100), color_mode="grayscale", dtype="uint8")
    assert abs(out - wanted).max() <= 2


@pytest.mark.parametrize("mode", ["rgb", "rgba", "unchanged"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("encode", ["png", "tiff", "npy"])
def test_16_bit_channels_are_all_kept(encode: str, count: int, mode: str) -> None:
    image = np.random.default_rng(0).integers(0, 65536, (7, 9, count), np.uint16)
    data = {
        "png": lambda: imagecodecs.png_encode(image),
        "tiff": lambda: tiff(
            image.squeeze(), photometric="rgb" if count > 2 else None, planarconfig="contig"
        ),
        "npy": lambda: npy(image),
    }[encode]()
    out = loaded(data, color_mode=mode, dtype="uint16")
    colours = image[..., : 3 if count > 2 else 1]
    alpha = image[..., -1:] if count in (2, 4) else np.full((7, 9, 1), 65535, np.uint16)
    wanted = {
        "unchanged": image,
        "rgb": colours.repeat(3 // colours.shape[2], 2),
        "rgba": np.concatenate([colours.repeat(3 // colours.shape[2], 2), alpha], 2),
    }[mode]
    assert np.array_equal(out, wanted)


def test_transparency_of_a_png_without_alpha_is_its_alpha() -> None:
    image = quadrants(COLOURS).astype(np.uint8)
    data = encoded(image, "PNG", transparency=COLOURS[0])
    assert np.array_equal(loaded(data), image)
    alpha = loaded(data, color_mode="rgba", dtype="uint8")[..., 3]
    assert np.array_equal(alpha, quadrants([0, 255, 255, 255]))


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (np.array([[True, False]]), [255, 0]),
        (np.array([[0, 128, 255]], np.uint8), [0, 128, 255]),
        (np.array([[0, 65535]], ">u2"), [0, 255]),
        (np.array([[0, 2**32 - 1]], np.uint32), [0, 255]),
        (np.array([[-1000, 3000]], np.int16), [-1000, 3000]),
        (np.array([[0.0, 0.5, 1.0]]), [0, 127.5, 255]),
        (np.array([[0.0, 0.5, 1.5]]), [0, 0.5, 1.5]),
        (np.array([[-0.5, 0.5]], np.float16), [-0.5, 0.5]),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_arrays_are_scaled_by_their_range(array: Array, wanted: list[float]) -> None:
    out = loaded(npy(array), color_mode="grayscale")
    assert out[0, :, 0].tolist() == pytest.approx(wanted, abs=1e-4)


def test_arrays_keep_their_order_in_memory_to_themselves() -> None:
    image = np.asfortranarray(photo())
    assert np.array_equal(loaded(npy(image)), image)


def test_fractions_fill_16_bits() -> None:
    out = loaded(npy(np.array([[0.0, 0.5, 1.0]])), color_mode="grayscale", dtype="uint16")
    assert out[0, :, 0].tolist() == [0, 32768, 65535]


def test_u103_values_that_a_dtype_cannot_hold_are_an_error_not_saturated() -> None:
    data = npy(np.array([[-1000, 3000]], np.int16))
    with pytest.raises(DecodeError, match=r"int16 values from -1000 to 3000, which uint8 cannot"):
        loaded(data, dtype="uint8")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_an_error(value: float) -> None:
    with pytest.raises(DecodeError, match="NaN or infinity"):
        loaded(npy(np.array([[0.5, value]])))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3, 4, 5)), "not a picture"),
        (np.zeros(3), "not a picture"),
        (np.zeros((0, 3)), "not a picture"),
        (np.zeros((2, 2), complex), "not a picture"),
        (np.array([["a"]]), "not a picture"),
    ],
)
def test_arrays_that_are_no_pictures_are_an_error(array: Array, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        loaded(npy(array))


def test_tiffs_of_many_kinds() -> None:
    image = photo()
    planes = np.moveaxis(image, 2, 0)
    ink = np.dstack([255 - image, np.zeros(image.shape[:2], np.uint8)])
    black = image[..., 0] > 127
    lzw = {"photometric": "rgb", "compression": "lzw", "predictor": True}
    assert np.array_equal(loaded(tiff(image, photometric="rgb")), image)
    assert np.array_equal(loaded(tiff(image, **lzw)), image)
    assert np.array_equal(loaded(tiff(image, photometric="rgb", tile=(64, 64))), image)
    assert np.array_equal(loaded(tiff(planes, photometric="rgb", planarconfig="separate")), image)
    assert np.array_equal(loaded(encoded(Image.fromarray(ink, "CMYK"), "TIFF")), image)
    palette = Image.fromarray(image).quantize(32)
    assert np.array_equal(loaded(encoded(palette, "TIFF")), np.asarray(palette.convert("RGB")))
    one_bit = Image.fromarray(black)
    for compression in (None, "group4", "packbits"):
        out = loaded(encoded(one_bit, "TIFF", compression=compression), color_mode="grayscale")
        assert np.array_equal(out[..., 0], black * 255)
    white_is_zero = tiff(255 - image[..., 0], photometric="miniswhite")
    assert np.array_equal(loaded(white_is_zero, color_mode="grayscale")[..., 0], image[..., 0])


def test_u106_the_first_page_and_the_first_frame_are_the_picture() -> None:
    first, second = photo(), 255 - photo()
    for form, options in {"TIFF": {}, "PNG": {}, "WEBP": {"lossless": True}}.items():
        pages = {"save_all": True, "append_images": [Image.fromarray(second)]}
        assert np.array_equal(loaded(encoded(first, form, **pages, **options)), first)
    assert np.array_equal(loaded(tiff(np.stack([first, second]), photometric="rgb")), first)


@pytest.mark.parametrize("form", ["BMP", "PPM", "TGA", "PCX", "JPEG2000", "ICO", "WEBP", "AVIF"])
def test_other_formats(form: str) -> None:
    image = photo(64, 64)
    options = {"WEBP": {"lossless": True}, "AVIF": {"quality": 100, "subsampling": "4:4:4"}}.get(
        form, {}
    )
    out = loaded(encoded(image, form, **options))
    assert abs(out - image).max() <= (6 if form == "AVIF" else 0)


def test_16_bit_ppm_is_scaled() -> None:
    data = b"P5 4 1 65535\n" + np.array([0, 257, 514, 65535], ">u2").tobytes()
    assert loaded(data, color_mode="grayscale")[0, :, 0].tolist() == [0, 1, 2, 255]


def test_12_bit_jpeg_is_scaled() -> None:
    image = (np.arange(64 * 64).reshape(64, 64)).astype(np.uint16)
    data = imagecodecs.jpeg8_encode(image, level=100, bitspersample=12)
    assert probe(data, max_pixels=None).depth == 12
    out = loaded(data, color_mode="grayscale")
    assert abs(out[..., 0] - image * (255 / 4095)).max() < 1


def test_adobe_ink_and_plain_ink() -> None:
    ink = np.array([[[0, 128, 255, 0], [10, 20, 30, 255]]], np.uint8)
    assert ink_to_rgb(ink, inverted=False).tolist() == [[[255, 127, 0], [0, 0, 0]]]
    assert ink_to_rgb(255 - ink, inverted=True).tolist() == [[[255, 127, 0], [0, 0, 0]]]


def test_stray_bytes_in_a_jpeg_are_no_error_and_a_missing_end_is() -> None:
    whole = encoded(photo(), "JPEG")
    scan = whole.index(b"\xff\xda")
    stray = whole[:scan] + b"\x12\x34\x56" + whole[scan:]
    assert np.array_equal(loaded(stray), loaded(whole))
    assert np.array_equal(loaded(whole[:-2] + b"\x12\x34\x56" + whole[-2:]), loaded(whole))
    assert np.array_equal(loaded(whole + b"trailer"), loaded(whole))
    with pytest.raises(DecodeError, match="Premature end"):
        loaded(whole[:-2])
    with pytest.raises(DecodeError, match="truncated"):
        loaded(stray[:-200])


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000"])
def test_half_a_file_is_an_error(form: str) -> None:
    data = encoded(photo(), form)
    with pytest.raises(DecodeError):
        loaded(data[: len(data) // 2])


def test_more_pixels_than_allowed_are_an_error_before_any_is_decoded() -> None:
    spec = {"max_pixels": 120 * 160 - 1}
    for form in ("JPEG", "PNG", "TIFF", "BMP"):
        with pytest.raises(DecodeError, match=r"120 x 160 pixels .* max_pixels=19199"):
            loaded(encoded(photo(), form), **spec)
    assert loaded(encoded(photo(), "JPEG"), max_pixels=19200).shape == (120, 160, 3)
    huge = bytearray(encoded(photo(), "PNG"))
    huge[16:24] = (2**31 - 1).to_bytes(4, "big") * 2
    with pytest.raises(DecodeError, match="max_pixels"):
        loaded(bytes(huge))


def test_masks_give_stored_numbers() -> None:
    spec = ImageSpec()
    indices = quadrants([0, 1, 2, 255]).astype(np.uint8)
    palette = Image.fromarray(indices)
    palette.putpalette(list(range(255, -1, -1)) * 3)
    wanted = indices[..., None]
    for data in (
        encoded(indices, "PNG"),
        encoded(palette, "PNG"),
        encoded(indices[..., None].repeat(3, 2), "PNG"),
        encoded(indices.astype(np.uint16), "PNG"),
        npy(indices),
        npy(indices.astype(np.int64)),
        tiff(indices),
    ):
        mask = decode_mask(data, spec)
        assert (mask.dtype, mask.shape) == (np.uint8, (32, 64, 1))
        assert np.array_equal(mask, wanted)
    one_bit = encoded(Image.fromarray(indices > 0), "PNG")
    assert set(np.unique(decode_mask(one_bit, spec))) == {0, 1}


def test_masks_that_hold_no_class_numbers_are_an_error() -> None:
    with pytest.raises(DecodeError, match="3 channels that differ"):
        decode_mask(encoded(photo(), "PNG"), ImageSpec())
    with pytest.raises(DecodeError, match="values from 0 to 300"):
        decode_mask(npy(np.array([[0, 300]])), ImageSpec())
    with pytest.raises(DecodeError, match=r"values from 0\.5"):
        decode_mask(npy(np.array([[0.5, 3.0]])), ImageSpec())


@pytest.mark.parametrize("how", ["scaled", "full"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("interpolation", ["bilinear", "area"])
def test_warm_decoding_allocates_nothing(interpolation: str, dtype: str, how: str) -> None:
    data = encoded(photo(1500, 2000), "JPEG")
    out = np.empty((224, 224, 3), dtype)
    said: dict[str, Any] = {"interpolation": interpolation, "dtype": dtype, "decode": how}
    spec = ImageSpec(target_size=(224, 224), **said)

    def once() -> None:
        header = probe(data, max_pixels=None)
        placement = placed(header, spec)
        render(decode(data, spec, header, scale=placement.scale), spec, out, placement=placement)

    once()
    tracemalloc.start()
    once()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024


def test_threads_do_not_share_memory() -> None:
    pictures = [np.full((40, 50, 3), 20 * i, np.uint8) for i in range(8)]
    spec, barrier = ImageSpec(), threading.Barrier(8)
    good = []

    def run(image: npt.NDArray[np.uint8]) -> None:
        data = encoded(image, "PNG")
        for _ in range(20):
            barrier.wait()
            pixels = decode(data, spec)
            barrier.wait()
            good.append(np.array_equal(pixels, image))

    threads = [threading.Thread(target=run, args=(image,)) for image in pictures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(good) == 160
    assert all(good)

"""Files of every kind, sources and masks, skipped rows: the pipeline against the sequence."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

from dfloader import DataFrameSequence, DecodeError, tfbatches, to_tf_dataset

AWKWARD = Path(__file__).parent.parent / "sample_data" / "awkward"
# Those that TensorFlow does not decode, or not to the right pixels.
FOR_PYTHON = {
    *("grey16.png", "grey16.tif", "float32.tif", "palette.png", "one_bit.png", "cmyk.jpg"),
    *("animated.gif", "static.webp", "animated.webp", "plain.bmp", "five_bands.tif"),
}
LOCAL = {"class_mode": None, "shuffle": False, "seed": 1}


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """List the rows that Python renders for the graph."""
    rows: list[int] = []
    write = tfbatches.write_example

    def listed(table: Any, spec: Any, row: int, *rest: Any) -> None:
        rows.append(row)
        write(table, spec, row, *rest)

    monkeypatch.setattr(tfbatches, "write_example", listed)
    return rows


@pytest.fixture(scope="module")
def awkward() -> pd.DataFrame:
    listed = pd.read_csv(AWKWARD / "labels.csv")
    return listed[(listed["loads"] == "yes") & (listed["filename"] != "five_bands.tif")]


def pairs(frame: pd.DataFrame, batch_size: int, **spec: Any) -> Iterator[tuple[Any, Any]]:
    """Give each batch of the pipeline with the sequence's, as flat lists of arrays."""
    sequence = DataFrameSequence(frame, batch_size, workers=0, **spec)
    dataset = to_tf_dataset(frame, batch_size, **spec)
    for i, batch in enumerate(dataset):
        tf.nest.assert_same_structure(batch, sequence[i])
        yield [part.numpy() for part in tf.nest.flatten(batch)], tf.nest.flatten(sequence[i])


AWKWARD_SPECS: list[dict[str, Any]] = [
    {"target_size": None},
    {"target_size": None, "exif": False},
    {"target_size": None, "color_mode": "grayscale"},
    {"target_size": None, "color_mode": "rgba", "dtype": "uint8"},
    {"target_size": None, "color_mode": "unchanged", "dtype": "uint8"},
    {"target_size": None, "dtype": "uint16"},
    {"target_size": (16, 48), "resize_mode": "crop", "interpolation": "nearest"},
    {"target_size": (48, 48), "resize_mode": "pad", "interpolation": "nearest", "dtype": "uint8"},
]


@pytest.mark.parametrize("spec", AWKWARD_SPECS, ids=str)
def test_u103_u104_u106_awkward_files_are_equal_pixel_for_pixel(
    awkward: pd.DataFrame, spec: dict[str, Any]
) -> None:
    for got, wanted in pairs(awkward, 1, directory=AWKWARD, **LOCAL, **spec):
        np.testing.assert_array_equal(got[0], wanted[0], strict=True)


def test_u113_jpegs_are_pillows_bit_for_bit_in_both(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8)
    for name, options in {"a": {"quality": 75}, "b": {"quality": 95, "subsampling": 0}}.items():
        Image.fromarray(noise).save(tmp_path / f"{name}.jpg", **options)
    frame = pd.DataFrame({"filename": ["a.jpg", "b.jpg"]})
    pillow = np.stack([np.asarray(Image.open(tmp_path / name)) for name in frame["filename"]])
    spec: dict[str, Any] = {"directory": tmp_path, "target_size": None, "dtype": "uint8"}
    for got, wanted in pairs(frame, 2, **spec, **LOCAL):
        np.testing.assert_array_equal(wanted[0], pillow)
        np.testing.assert_array_equal(got[0], pillow)


def test_u112_only_what_tensorflow_cannot_decode_goes_to_python(
    awkward: pd.DataFrame, rendered: list[int]
) -> None:
    list(to_tf_dataset(awkward, 8, directory=AWKWARD, **LOCAL))
    names = {awkward["filename"].iloc[row] for row in rendered}
    assert names == FOR_PYTHON - {"five_bands.tif"}
    assert len(rendered) == len(names)


def test_u117_every_band_of_a_file_comes_through(rendered: list[int]) -> None:
    frame = pd.DataFrame({"filename": ["five_bands.tif"] * 3})
    spec = {"directory": AWKWARD, "color_mode": "unchanged", "target_size": (8, 8), **LOCAL}
    (((image,), (wanted,)),) = pairs(frame, 3, **spec)
    np.testing.assert_array_equal(image, wanted, strict=True)
    assert image.shape == (3, 8, 8, 5)


@pytest.mark.parametrize("mode", ["stretch", "crop", "pad"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_u108_turned_photographs_are_cropped_and_scaled_alike(
    tmp_path: Path, orientation: int, mode: str
) -> None:
    rng = np.random.default_rng(orientation)
    noise = Image.fromarray(rng.integers(0, 256, (50, 70, 3), np.uint8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    noise.resize((1400, 1000)).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    spec = {"directory": tmp_path, "target_size": (60, 41), "resize_mode": mode, **LOCAL}
    for got, wanted in pairs(pd.DataFrame({"filename": ["turned.jpg"]}), 1, **spec):
        np.testing.assert_allclose(got[0], wanted[0], rtol=0, atol=0.02)


def test_exif_behind_other_segments_is_found(tmp_path: Path, rendered: list[int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = Image.fromarray(np.arange(40 * 24 * 3, dtype=np.uint8).reshape(40, 24, 3))
    picture.save(tmp_path / "a.jpg", exif=exif, comment=b"before", icc_profile=b"p" * 300)
    data = (tmp_path / "a.jpg").read_bytes()
    at = data.index(b"\xff\xe1")
    end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    comment = b"\xff\xfe\x00\x06note"
    (tmp_path / "a.jpg").write_bytes(data[:at] + comment + data[at:end] + data[end:])
    spec = {"directory": tmp_path, "target_size": None, **LOCAL}
    for got, wanted in pairs(pd.DataFrame({"filename": ["a.jpg"]}), 1, **spec):
        assert wanted[0].shape == (1, 24, 40, 3)
        np.testing.assert_array_equal(got[0], wanted[0])
    assert rendered == []


# Sources


@pytest.mark.parametrize("kind", ["bytes", "arrays"])
def test_contents_in_the_frame_are_equal(df: pd.DataFrame, kind: str, rendered: list[int]) -> None:
    if kind == "bytes":
        df["filename"] = [Path(path).read_bytes() for path in df["filename"]]
    else:
        rng = np.random.default_rng(0)
        df["filename"] = [rng.integers(0, 256, (9, 7, 3), np.uint8) for _ in range(20)]
    for got, wanted in pairs(df, 8, target_size=(16, 24), seed=2):
        np.testing.assert_allclose(got[0], wanted[0], rtol=0, atol=0.02)
        np.testing.assert_array_equal(got[1], wanted[1])
    assert len(rendered) == (0 if kind == "bytes" else 20)


def test_u134_arrays_stay_out_of_the_graph() -> None:
    frame = pd.DataFrame({"image": [np.zeros((64, 64, 3), np.uint8)] * 500})
    dataset = to_tf_dataset(frame, 32, class_mode=None)
    assert len(dataset._as_serialized_graph().numpy()) < 300_000


def test_an_address_is_read_by_python(tmp_path: Path, rendered: list[int]) -> None:
    picture = Image.fromarray(np.full((8, 8, 3), 90, np.uint8))
    picture.save(tmp_path / "a.png")
    frame = pd.DataFrame({"filename": [f"file://{tmp_path}/a.png", str(tmp_path / "a.png")]})
    for got, wanted in pairs(frame, 2, target_size=(4, 4), **LOCAL):
        np.testing.assert_array_equal(got[0], wanted[0])
    assert rendered == [0]


# Masks


@pytest.fixture
def masked(df: pd.DataFrame, tmp_path: Path) -> pd.DataFrame:
    """Masks of class numbers: grey PNG of the picture's size, of half of it, and palettes."""
    rng = np.random.default_rng(3)
    paths = []
    for i, name in enumerate(df["filename"]):
        with Image.open(name) as picture:
            width, height = picture.size
        size = (height, width) if i % 3 else (-(-height // 2), -(-width // 2))
        mask = Image.fromarray(rng.integers(0, 5, size, np.uint8))
        if i == 7:
            mask = mask.convert("P")
        paths.append(str(tmp_path / f"{i}.png"))
        mask.save(paths[-1])
    return df.assign(mask=paths)


MASK_SPECS: list[dict[str, Any]] = [
    {},
    {"class_mode": None},
    {"class_mode": {"class": "sparse"}},
    {"resize_mode": "crop"},
    {"resize_mode": "pad"},
    {"decode": "full", "dtype": "uint8"},
    {"weight_col": "size"},
    {"target_size": (300, 400), "resize_mode": "crop"},
]


@pytest.mark.parametrize("spec", MASK_SPECS, ids=str)
def test_u121_masks_are_equal(masked: pd.DataFrame, spec: dict[str, Any]) -> None:
    spec = {"mask_col": "mask", "target_size": (24, 32), "seed": 4, **spec}
    for got, wanted in pairs(masked, 8, **spec):
        np.testing.assert_allclose(got[0].astype(float), wanted[0], rtol=0, atol=1)
        for one, other in zip(got[1:], wanted[1:], strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


def test_only_masks_of_indices_go_to_python(masked: pd.DataFrame, rendered: list[int]) -> None:
    list(to_tf_dataset(masked, 8, mask_col="mask", target_size=(24, 32)))
    assert rendered == [7]


def test_a_mask_of_another_aspect_names_its_row_and_path(
    masked: pd.DataFrame, tmp_path: Path
) -> None:
    Image.fromarray(np.zeros((90, 20), np.uint8)).save(tmp_path / "5.png")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"DecodeError: Row 5: .*5\.png"):
        list(to_tf_dataset(masked, 8, mask_col="mask", target_size=(24, 32)))


# Rows that are skipped


@pytest.fixture
def holed(df: pd.DataFrame, tmp_path: Path) -> pd.DataFrame:
    (tmp_path / "empty.jpg").write_bytes(b"")
    half = Path(df["filename"][1]).read_bytes()
    (tmp_path / "half.jpg").write_bytes(half[: len(half) // 2])
    bad = {2: tmp_path / "empty.jpg", 9: tmp_path / "half.jpg", 17: tmp_path / "gone.png"}
    for row, path in bad.items():
        df.loc[row, "filename"] = str(path)
    return df


def test_a_picture_of_more_pixels_than_allowed_is_an_error_in_both(tmp_path: Path) -> None:
    for name in ("a.png", "b.jpg"):
        Image.new("RGB", (40, 30)).save(tmp_path / name)
        frame = pd.DataFrame({"filename": [str(tmp_path / name)]})
        said = "30 x 40 pixels of 3 channels, more than max_pixels=1199 allows"
        with pytest.raises(DecodeError, match=said):
            _ = DataFrameSequence(frame, **LOCAL, max_pixels=1199)[0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            next(iter(to_tf_dataset(frame, **LOCAL, max_pixels=1199)))


def test_u110_u111_skipped_rows_are_black_with_weight_zero_and_listed(holed: pd.DataFrame) -> None:
    spec = {"target_size": (24, 32), "seed": 4, "on_error": "skip", "validate": False}
    for got, wanted in pairs(holed, 8, **spec):
        np.testing.assert_allclose(got[0], wanted[0], rtol=0, atol=0.02)
        np.testing.assert_array_equal(got[1], wanted[1])
        np.testing.assert_array_equal(got[2], wanted[2], strict=True)
        assert ((got[0] == 0).all(axis=(1, 2, 3)) == (got[2] == 0)).all()


def test_failures_are_those_of_the_sequence(
    holed: pd.DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    spec = {"target_size": (24, 32), "seed": 4, "on_error": "skip", "validate": False}
    dataset = to_tf_dataset(holed, 8, **spec)
    assert len(dataset.failures) == 0
    list(dataset)
    sequence = DataFrameSequence(holed, 8, workers=0, **spec)
    list(sequence)
    pd.testing.assert_frame_equal(dataset.failures, sequence.failures)
    assert dataset.failures["row"].tolist() == [2, 9, 17]
    assert "3 rows were left black with weight 0" in caplog.text

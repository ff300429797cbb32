"""`sample_data` is what its pages say, and `draw.py` draws it again."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data"
AWKWARD = SAMPLE / "awkward"
COLUMNS = ["filename", "class", "tags", "mask", "x", "y", "radius", "weight", "split", "group"]
CLASSES = ["circle", "square", "star", "triangle"]
TEXTURES = {"plain", "stripes", "checks", "dots"}
MAX_BYTES = 4_000_000
JPEG_LEVELS = 2  # how far a flat JPEG of quality 95 is from what was drawn
ENCODER_LEVELS = 24  # how far two encoders may differ on one pixel; on average far less
RED, GREEN, BLUE, YELLOW = (220, 40, 40), (40, 180, 60), (40, 80, 200), (230, 200, 40)
COLOURS = [RED, GREEN, BLUE, YELLOW]
RAMP = (np.arange(2048) * 65535 // 2047).reshape(32, 64)

ANIMATED = ["animated.gif", "animated.webp"]
MISNAMED = ["no_extension", "png_inside.jpg"]  # both hold a PNG
EXACT = [*ANIMATED, *MISNAMED, "palette.png", "plain.bmp", "static.webp"]
LOSSY = ["UPPER.JPG", "cmyk.jpg", "name with spaces.jpg", "progressive.jpg", "ünï_cöde.jpg"]
LOSSY += [f"orientation_{number}.jpg" for number in range(1, 9)]
# The upright picture's corners, clockwise from the top left, as a reader without EXIF sees them.
STORED_CORNERS = {
    1: [RED, GREEN, YELLOW, BLUE],
    2: [GREEN, RED, BLUE, YELLOW],
    3: [YELLOW, BLUE, RED, GREEN],
    4: [BLUE, YELLOW, GREEN, RED],
    5: [RED, BLUE, YELLOW, GREEN],
    6: [GREEN, YELLOW, BLUE, RED],
    7: [YELLOW, GREEN, RED, BLUE],
    8: [BLUE, RED, GREEN, YELLOW],
}


@pytest.fixture(scope="module")
def labels() -> pd.DataFrame:
    return pd.read_csv(SAMPLE / "labels.csv")


@pytest.fixture(scope="module")
def awkward() -> pd.DataFrame:
    return pd.read_csv(AWKWARD / "labels.csv")


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("redrawn")
    command = [sys.executable, "-W", "error", str(SAMPLE / "draw.py"), str(folder)]
    subprocess.run(command, check=True, timeout=300)
    return folder


def read(path: Path) -> NDArray[np.uint8]:
    """The first frame in RGB, upright, `(h, w, 3)`."""
    with Image.open(BytesIO(path.read_bytes())) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def stored(path: Path) -> tuple[str | None, str, NDArray[np.uint8]]:
    """Format, mode and pixels as Pillow finds them in the file."""
    with Image.open(BytesIO(path.read_bytes())) as image:
        return image.format, image.mode, np.asarray(image)


def quadrants(values: list[tuple[int, int, int]] | list[int]) -> NDArray[np.int64]:
    quarters = np.array(values).reshape(2, 2, -1)
    return quarters.repeat(16, axis=0).repeat(32, axis=1).squeeze()


def corners(pixels: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.array([pixels[0, 0], pixels[0, -1], pixels[-1, -1], pixels[-1, 0]], int)


def apart(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    return np.abs(np.asarray(first, int) - np.asarray(second, int))


def test_labels_have_the_documented_columns_and_no_gaps(labels: pd.DataFrame) -> None:
    assert list(labels.columns) == COLUMNS
    assert not labels.isna().any(axis=None)


def test_classes_are_balanced(labels: pd.DataFrame) -> None:
    assert labels["class"].value_counts().to_dict() == dict.fromkeys(CLASSES, 70)


def test_split_is_stratified(labels: pd.DataFrame) -> None:
    counts = labels.groupby(["split", "class"]).size().to_dict()
    assert counts == {(s, c): n for s, n in (("train", 52), ("val", 18)) for c in CLASSES}


def test_no_group_is_on_two_sides_of_the_split(labels: pd.DataFrame) -> None:
    assert labels.groupby("group")["split"].nunique().eq(1).all()
    assert labels.groupby("group").size().eq(8).all()


def test_tags_are_texture_colour_and_size(labels: pd.DataFrame) -> None:
    tags = labels["tags"].str.split("|", expand=True)
    assert tags[0].value_counts().to_dict() == dict.fromkeys(TEXTURES, 70)
    assert tags[1].nunique() == 8
    assert set(tags[2]) == {"large", "small"}


def test_weights_are_positive_and_differ(labels: pd.DataFrame) -> None:
    assert labels["weight"].between(0.5, 2.0).all()
    assert labels["weight"].nunique() > 50


def test_folders_hold_exactly_the_listed_files(labels: pd.DataFrame) -> None:
    found = {p.relative_to(SAMPLE).as_posix() for p in SAMPLE.glob("[im]*s/*")}
    assert found == set(labels["filename"]) | set(labels["mask"])


def test_pictures_are_rgb_jpeg_and_png_as_named(labels: pd.DataFrame) -> None:
    formats = {".jpg": "JPEG", ".png": "PNG"}
    for name in labels["filename"]:
        kind, mode, _ = stored(SAMPLE / name)
        assert (name, kind, mode) == (name, formats[Path(name).suffix], "RGB")
    assert labels["filename"].str.endswith(".png").sum() == 56


def test_picture_sizes_vary(labels: pd.DataFrame) -> None:
    sizes = np.array([read(SAMPLE / name).shape[:2] for name in labels["filename"]])
    assert sizes.min() == 48
    assert sizes.max() <= 144
    assert (sizes[:, 0] != sizes[:, 1]).sum() > 200


def test_masks_match_their_pictures(labels: pd.DataFrame) -> None:
    for name, mask_name in zip(labels["filename"], labels["mask"], strict=True):
        kind, mode, mask = stored(SAMPLE / mask_name)
        assert (kind, mode, mask.shape) == ("PNG", "L", read(SAMPLE / name).shape[:2])
        assert np.unique(mask).tolist() == [0, 1]


def test_circle_masks_agree_with_centre_and_radius(labels: pd.DataFrame) -> None:
    for row in labels[labels["class"] == "circle"].itertuples():
        mask = stored(SAMPLE / row.mask)[2]
        y, x = np.nonzero(mask)
        assert x.mean() + 0.5 == pytest.approx(row.x, abs=0.2)
        assert y.mean() + 0.5 == pytest.approx(row.y, abs=0.2)
        assert np.sqrt(mask.sum() / np.pi) == pytest.approx(row.radius, abs=0.2)


def test_sample_data_is_small() -> None:
    files = [p for p in SAMPLE.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert sum(p.stat().st_size for p in files) < MAX_BYTES


def test_awkward_labels_list_every_file(awkward: pd.DataFrame) -> None:
    assert list(awkward.columns) == ["filename", "kind", "loads"]
    found = {p.name for p in AWKWARD.iterdir()} - {"labels.csv", "README.md"}
    assert found == set(awkward["filename"])


def test_awkward_readme_names_every_file(awkward: pd.DataFrame) -> None:
    page = (AWKWARD / "README.md").read_text(encoding="utf-8")
    orientations = awkward["kind"] == "exif_orientation"
    missing = [name for name in awkward[~orientations]["filename"] if f"| `{name}` |" not in page]
    assert missing == []
    assert "`orientation_1.jpg` ... `orientation_8.jpg`" in page


def test_only_broken_files_fail_in_pillow(awkward: pd.DataFrame) -> None:
    sound = awkward["loads"].map({"yes": True, "no": False})
    for name in awkward[sound & (awkward["kind"] != "multiband_tiff")]["filename"]:
        assert stored(AWKWARD / name)[2].shape[:2] in {(32, 64), (64, 32)}
    assert awkward[~sound]["filename"].tolist() == ["truncated.jpg", "empty.jpg", "web_page.jpg"]


@pytest.mark.parametrize("name", EXACT)
def test_lossless_file_holds_the_quadrants(name: str) -> None:
    np.testing.assert_array_equal(read(AWKWARD / name), quadrants(COLOURS))


@pytest.mark.parametrize("name", LOSSY)
def test_jpeg_holds_the_quadrants(name: str) -> None:
    assert apart(read(AWKWARD / name), quadrants(COLOURS)).max() <= JPEG_LEVELS


@pytest.mark.parametrize("number", range(1, 9))
def test_orientation_is_stored_as_tag_and_turned_pixels(number: int) -> None:
    with Image.open(AWKWARD / f"orientation_{number}.jpg") as image:
        assert image.getexif()[0x0112] == number
        assert image.size == ((64, 32) if number < 5 else (32, 64))
        assert apart(corners(np.asarray(image)), STORED_CORNERS[number]).max() <= JPEG_LEVELS


def test_grey16_png_holds_the_ramp() -> None:
    _, mode, pixels = stored(AWKWARD / "grey16.png")
    assert mode == "I;16"
    np.testing.assert_array_equal(pixels, RAMP)


@pytest.mark.parametrize(
    ("name", "ramp"),
    [("grey16.tif", RAMP.astype(np.uint16)), ("float32.tif", (RAMP / 65535).astype(np.float32))],
)
def test_tiff_holds_the_ramp(name: str, ramp: NDArray[np.generic]) -> None:
    pixels = tifffile.imread(AWKWARD / name)
    assert pixels.dtype == ramp.dtype
    np.testing.assert_array_equal(pixels, ramp)


def test_five_bands_are_uint8_channels() -> None:
    pixels = tifffile.imread(AWKWARD / "five_bands.tif")
    assert pixels.dtype == np.uint8
    expected = quadrants([16, 48, 80, 112])[..., None] + 20 * np.arange(5)
    np.testing.assert_array_equal(pixels, expected)


def test_rgba_png_keeps_the_colour_under_its_alpha() -> None:
    _, mode, pixels = stored(AWKWARD / "rgba.png")
    assert mode == "RGBA"
    np.testing.assert_array_equal(pixels[..., :3], quadrants(COLOURS))
    np.testing.assert_array_equal(pixels[..., 3], quadrants([255, 128, 64, 0]))


def test_palette_png_stores_indices() -> None:
    _, mode, pixels = stored(AWKWARD / "palette.png")
    assert mode == "P"
    np.testing.assert_array_equal(pixels, quadrants([0, 1, 2, 3]))


def test_one_bit_png_is_black_and_white() -> None:
    assert stored(AWKWARD / "one_bit.png")[1] == "1"
    assert read(AWKWARD / "one_bit.png")[..., 0].tolist() == quadrants([255, 0, 0, 255]).tolist()


def test_cmyk_jpeg_has_four_inks() -> None:
    assert stored(AWKWARD / "cmyk.jpg")[:2] == ("JPEG", "CMYK")


def test_grey_jpeg_has_one_channel() -> None:
    kind, mode, pixels = stored(AWKWARD / "grey.jpg")
    assert (kind, mode) == ("JPEG", "L")
    assert apart(pixels, quadrants([32, 96, 160, 224])).max() <= JPEG_LEVELS


def test_progressive_jpeg_is_progressive() -> None:
    with Image.open(AWKWARD / "progressive.jpg") as image:
        assert image.info["progressive"] == 1


@pytest.mark.parametrize("name", ANIMATED)
def test_animation_ends_in_reversed_colours(name: str) -> None:
    with Image.open(AWKWARD / name) as image:
        assert image.n_frames == 2
        image.seek(1)
        last = np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(last, quadrants(COLOURS[::-1]))


@pytest.mark.parametrize("name", MISNAMED)
def test_png_hides_behind_its_name(name: str) -> None:
    assert stored(AWKWARD / name)[0] == "PNG"


def test_truncated_jpeg_has_a_whole_header_and_half_its_pixels() -> None:
    with Image.open(AWKWARD / "truncated.jpg") as image:
        assert image.size == (128, 96)
        with pytest.raises(OSError, match="truncated"):
            image.load()


@pytest.mark.parametrize("name", ["empty.jpg", "web_page.jpg"])
def test_file_without_a_picture_is_not_an_image(name: str) -> None:
    with pytest.raises(UnidentifiedImageError):
        stored(AWKWARD / name)


def test_redrawing_gives_the_same_tables(redrawn: Path) -> None:
    for name in ("labels.csv", "awkward/labels.csv"):
        assert (redrawn / name).read_bytes() == (SAMPLE / name).read_bytes()


def test_redrawing_gives_the_same_pictures_and_masks(redrawn: Path, labels: pd.DataFrame) -> None:
    for name in [*labels["filename"][:40], *labels["mask"][:40]]:
        levels = apart(read(redrawn / name), read(SAMPLE / name))
        assert levels.max() <= (ENCODER_LEVELS if name.endswith(".jpg") else 0), name
        assert levels.mean() < 1, name


def test_redrawing_gives_the_same_awkward_pictures(redrawn: Path) -> None:
    for name in EXACT + LOSSY:
        levels = apart(read(redrawn / "awkward" / name), read(AWKWARD / name))
        assert levels.max() <= (JPEG_LEVELS if name in LOSSY else 0), name
    for name in ("grey16.tif", "float32.tif", "five_bands.tif"):
        again = tifffile.imread(redrawn / "awkward" / name)
        np.testing.assert_array_equal(again, tifffile.imread(AWKWARD / name))

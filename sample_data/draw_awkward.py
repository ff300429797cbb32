"""Draws `awkward/`: one file of every sort that loaders get wrong, and its `labels.csv`.

`awkward/README.md`, written by hand, says what a loader must give for each.

Every colour picture is `quadrants()`, 64 wide and 32 high, so that one expected result serves
them all. JPEGs keep full colour resolution and the edges lie on block borders: what comes back is
within 2 levels. All other formats are exact.
"""

import csv
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

SIZE = (32, 64)  # height, width
COLOURS = ((220, 40, 40), (40, 180, 60), (40, 80, 200), (230, 200, 40))  # by quadrant, as read
GREYS = (32, 96, 160, 224)
ALPHAS = (255, 128, 64, 0)
BANDS = 5
BAND_STEP = 20  # band b of the multi-band TIFF is the grey quadrants / 2 + 20 b
ORIENTATION_TAG = 0x0112
# How to store the upright picture so that a reader that applies the orientation sees it upright:
# the inverse of the EXIF standard's transform.
STORED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
HTML = b"<!DOCTYPE html>\n<html><body><h1>404 Not Found</h1></body></html>\n"
JPEG_OPTIONS = {"format": "JPEG", "quality": 95, "subsampling": 0}

Bytes = NDArray[np.uint8]


def draw_awkward(folder: Path) -> None:
    """Draws the files and `labels.csv` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for filename, _, content in FILES:
        (folder / filename).write_bytes(content())
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["filename", "kind", "loads"])
        writer.writerows((name, kind, "no" if kind in BROKEN else "yes") for name, kind, _ in FILES)


def quadrants(values: tuple[int | tuple[int, ...], ...] = COLOURS) -> Bytes:
    """Four flat quarters: top left, top right, bottom left, bottom right."""
    quarters = np.array(values, np.uint8)
    y, x = np.indices(SIZE)
    return np.asarray(quarters[2 * (y >= SIZE[0] // 2) + (x >= SIZE[1] // 2)])


def ramp() -> NDArray[np.uint16]:
    """0..65535 in equal steps, row by row."""
    count = SIZE[0] * SIZE[1]
    return (np.arange(count) * 65535 // (count - 1)).astype(np.uint16).reshape(SIZE)


def encode(image: Image.Image, **options: object) -> bytes:
    """The image as a file's bytes."""
    buffer = BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def encode_tiff(pixels: NDArray[np.generic], **options: object) -> bytes:
    """The pixels as a TIFF's bytes, without the writer's name and notes."""
    buffer = BytesIO()
    tifffile.imwrite(
        buffer, pixels, photometric="minisblack", metadata=None, software=False, **options
    )
    return buffer.getvalue()


def upright(**options: object) -> bytes:
    """The quadrants in colour, as JPEG unless `options` say otherwise."""
    return encode(Image.fromarray(quadrants()), **(options or JPEG_OPTIONS))


def oriented(orientation: int) -> bytes:
    """A JPEG whose EXIF orientation turns it upright."""
    image, exif = Image.fromarray(quadrants()), Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    if orientation in STORED:
        image = image.transpose(STORED[orientation])
    return encode(image, exif=exif, **JPEG_OPTIONS)


def palette(order: tuple[int, ...] = (0, 1, 2, 3)) -> Image.Image:
    """The quadrants as indices into a palette of four colours."""
    image = Image.fromarray(quadrants(order))
    image.putpalette([level for colour in COLOURS for level in colour])
    return image


def rgba() -> bytes:
    """The quadrants, each less opaque than the one before."""
    pixels = np.dstack([quadrants(), quadrants(ALPHAS)])
    return encode(Image.fromarray(pixels), format="PNG")


def one_bit() -> bytes:
    """White, black, black, white."""
    return encode(Image.fromarray(quadrants((255, 0, 0, 255))).convert("1"), format="PNG")


def cmyk() -> bytes:
    """The quadrants as ink without black, which every conversion turns into the same RGB."""
    ink = np.dstack([255 - quadrants(), np.zeros(SIZE, np.uint8)])
    return encode(Image.fromarray(ink, mode="CMYK"), **JPEG_OPTIONS)


def animated_gif() -> bytes:
    """The quadrants, then the quadrants in reverse order."""
    options = {"save_all": True, "append_images": [palette((3, 2, 1, 0))], "duration": 200}
    return encode(palette(), format="GIF", **options)


def animated_webp() -> bytes:
    """As the GIF, in true colour and without loss."""
    second = Image.fromarray(quadrants(COLOURS[::-1]))
    options = {"save_all": True, "append_images": [second], "duration": 200, "lossless": True}
    return upright(format="WEBP", **options)


def bands() -> bytes:
    """Five channels, as from a satellite."""
    step = np.arange(BANDS, dtype=np.uint8) * BAND_STEP
    return encode_tiff(quadrants(GREYS)[..., None] // 2 + step, planarconfig="contig")


def truncated() -> bytes:
    """The first half of a JPEG: header and size are whole, the pixels are not."""
    pixels = np.random.default_rng(0).integers(0, 256, (96, 128, 3)).astype(np.uint8)
    whole = encode(Image.fromarray(pixels), **JPEG_OPTIONS)
    return whole[: len(whole) // 2]


def grey16_png() -> bytes:
    """The 16-bit ramp."""
    return encode(Image.fromarray(ramp()), format="PNG")


def float_tiff() -> bytes:
    """The ramp as float32 in 0..1."""
    return encode_tiff((ramp() / 65535).astype(np.float32))


def grey_jpeg() -> bytes:
    """Four greys in one channel."""
    return encode(Image.fromarray(quadrants(GREYS)), **JPEG_OPTIONS)


FILES: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
    ("grey16.png", "grey16_png", grey16_png),
    ("grey16.tif", "grey16_tiff", lambda: encode_tiff(ramp())),
    ("float32.tif", "float_tiff", float_tiff),
    ("rgba.png", "rgba_png", rgba),
    ("palette.png", "palette_png", lambda: encode(palette(), format="PNG")),
    ("one_bit.png", "one_bit_png", one_bit),
    ("cmyk.jpg", "cmyk_jpeg", cmyk),
    ("grey.jpg", "grey_jpeg", grey_jpeg),
    ("progressive.jpg", "progressive_jpeg", lambda: upright(progressive=True, **JPEG_OPTIONS)),
    *((f"orientation_{n}.jpg", "exif_orientation", partial(oriented, n)) for n in range(1, 9)),
    ("animated.gif", "animated_gif", animated_gif),
    ("static.webp", "static_webp", lambda: upright(format="WEBP", lossless=True)),
    ("animated.webp", "animated_webp", animated_webp),
    ("plain.bmp", "bmp", lambda: upright(format="BMP")),
    ("five_bands.tif", "multiband_tiff", bands),
    ("ünï_cöde.jpg", "non_ascii_name", upright),
    ("name with spaces.jpg", "spaces_in_name", upright),
    ("UPPER.JPG", "upper_case_extension", upright),
    ("no_extension", "no_extension", lambda: upright(format="PNG")),
    ("png_inside.jpg", "png_named_jpg", lambda: upright(format="PNG")),
    ("truncated.jpg", "truncated_jpeg", truncated),
    ("empty.jpg", "empty_file", bytes),
    ("web_page.jpg", "html_named_jpg", lambda: HTML),
)
BROKEN = ("truncated_jpeg", "empty_file", "html_named_jpg")

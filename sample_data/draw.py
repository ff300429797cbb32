"""Draws `sample_data`: 280 textured shapes, their masks, `labels.csv` and the awkward files.

Run `python sample_data/draw.py` to redraw everything in place, or name another folder. The same
seed gives the same pixels; the bytes of a JPEG may differ from one encoder version to the next.

Contract (if the code differs, the code is wrong):
1. A series is `len(CLASSES) * COPIES` pictures in one palette, as many of each class; a series is
   one value of `group` and lies on one side of the split.
2. `x`, `y` (centre) and `radius` (of the circle around the shape) are in pixels of the stored
   picture, from its top left corner: the first pixel reaches from 0 to 1.
3. The shape lies wholly inside its picture. A mask is 1 where at least half the pixel is shape.
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from draw_awkward import draw_awkward
from numpy.typing import NDArray
from PIL import Image
from skimage.draw import polygon2mask

SEED = 20
CLASSES = ("circle", "square", "star", "triangle")
TEXTURES = ("plain", "stripes", "checks", "dots")
COLOURS = {
    "red": (200, 40, 40),
    "orange": (225, 110, 20),
    "yellow": (215, 175, 10),
    "green": (45, 135, 60),
    "teal": (20, 125, 130),
    "blue": (50, 90, 200),
    "purple": (125, 55, 165),
    "brown": (120, 75, 45),
}
SERIES = 35
COPIES = 2  # of each class in a series
VALIDATION_SERIES = 9  # 72 of 280 pictures: about a quarter
SIDES = (48, 144)  # pixels
ASPECT = (3 / 4, 4 / 3)  # width / height
RADIUS = (0.37, 0.47)  # of the shorter side
LARGE = 0.42  # of the shorter side, and up: tagged "large"
OFF_CENTRE = 0.04  # of a side: a small network learns places slowly from 200 pictures
TILT = 8.0  # degrees either way: a square tilted by 45 would look like another class
NOISE = (2.0, 7.0)  # standard deviation, levels of 255
PNG_EVERY = 5  # noise makes a PNG five times as large as a JPEG, so PNGs are fewer
JPEG_QUALITY = 88
SUPERSAMPLING = 4  # samples a pixel and direction, for smooth edges

Floats = NDArray[np.float64]
Texture = Callable[[Floats, Floats], NDArray[np.bool_]]


@dataclass(frozen=True)
class Row:
    """One line of `labels.csv`, except that `class_` is `class` there."""

    filename: str
    class_: str
    tags: str
    mask: str
    x: float
    y: float
    radius: float
    weight: float
    split: str
    group: str


@dataclass(frozen=True)
class Picture:
    """A row and what else its pixels need. Colours are RGB, 0..255; `tilt` is in radians."""

    row: Row
    size: tuple[int, int]
    texture: str
    shape_colour: Floats
    ground_colour: Floats
    tilt: float
    noise: float
    number: int


def draw(folder: Path) -> None:
    """Draws everything into `folder`."""
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    pictures = plan()
    for picture in pictures:
        pixels, mask = render(picture)
        save(pixels, folder / picture.row.filename)
        save(mask, folder / picture.row.mask)
    write_labels([picture.row for picture in pictures], folder / "labels.csv")
    draw_awkward(folder / "awkward")


def plan() -> list[Picture]:
    """Describes all pictures without drawing one; the series are mixed in the numbering."""
    rng = np.random.default_rng(SEED)
    validation = set(rng.permutation(SERIES)[:VALIDATION_SERIES].tolist())
    palettes = [draw_palette(series, rng) for series in range(SERIES)]
    members = [(s, c, k) for s in range(SERIES) for c in range(len(CLASSES)) for k in range(COPIES)]
    order = rng.permutation(len(members)).tolist()
    return [
        describe(number, members[member], palettes, validation, rng)
        for number, member in enumerate(order)
    ]


def draw_palette(series: int, rng: np.random.Generator) -> tuple[str, Floats, Floats]:
    """A colour's name, the shape's colour, and a pale ground that is lighter than any shape."""
    name = list(COLOURS)[series % len(COLOURS)]
    return name, np.array(COLOURS[name]) + rng.uniform(-12, 12, 3), rng.uniform(200, 250, 3)


def describe(
    number: int,
    member: tuple[int, int, int],
    palettes: list[tuple[str, Floats, Floats]],
    validation: set[int],
    rng: np.random.Generator,
) -> Picture:
    """Draws the size, place and weight of one picture; a member is (series, class, copy)."""
    series, kind, copy = member
    colour, shape_colour, ground_colour = palettes[series]
    texture = TEXTURES[(series + kind + copy) % len(TEXTURES)]
    height = int(rng.integers(SIDES[0], SIDES[1] + 1))
    width = int(np.clip(round(height * rng.uniform(*ASPECT)), *SIDES))
    share = rng.uniform(*RADIUS)
    radius = round(share * min(height, width), 2)
    row = Row(
        filename=f"images/{number:03d}.{'png' if number % PNG_EVERY == 0 else 'jpg'}",
        class_=CLASSES[kind],
        tags="|".join((texture, colour, "large" if share >= LARGE else "small")),
        mask=f"masks/{number:03d}.png",
        x=place(width, radius, rng),
        y=place(height, radius, rng),
        radius=radius,
        weight=round(rng.uniform(0.5, 2.0), 2),
        split="val" if series in validation else "train",
        group=f"series_{series:02d}",
    )
    tilt, noise = np.radians(rng.uniform(-TILT, TILT)), rng.uniform(*NOISE)
    return Picture(row, (height, width), texture, shape_colour, ground_colour, tilt, noise, number)


def place(side: int, radius: float, rng: np.random.Generator) -> float:
    """A centre near the middle of a side, the shape inside."""
    room = min(side / 2 - radius - 1, OFF_CENTRE * side)
    return round(side / 2 + rng.uniform(-room, room), 2)


def render(picture: Picture) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The picture `(h, w, 3)` and its mask `(h, w)`, 1 on the shape and 0 elsewhere."""
    coverage = cover(picture)
    shaded = 0.8 * picture.shape_colour + 0.2 * picture.ground_colour
    paint = np.where(pattern(picture)[..., None], shaded, picture.shape_colour)
    pixels = picture.ground_colour + coverage[..., None] * (paint - picture.ground_colour)
    rng = np.random.default_rng((SEED, picture.number))
    pixels += rng.normal(0.0, picture.noise, picture.size)[..., None]
    return pixels.round().clip(0, 255).astype(np.uint8), (coverage >= 0.5).astype(np.uint8)


def cover(picture: Picture) -> Floats:
    """The share of each pixel that the shape covers, 0..1, `(h, w)`."""
    height, width = picture.size
    corners = outline(picture.row.class_, picture.tilt) * picture.row.radius
    corners += (picture.row.y, picture.row.x)
    fine = (height * SUPERSAMPLING, width * SUPERSAMPLING)
    # Half a sample back: scikit-image counts from the middle of the first sample.
    samples = polygon2mask(fine, corners * SUPERSAMPLING - 0.5)
    blocks = samples.reshape(height, SUPERSAMPLING, width, SUPERSAMPLING)
    return np.asarray(blocks.mean(axis=(1, 3)))


def outline(class_: str, tilt: float) -> Floats:
    """The shape's corners as (y, x), clockwise in a circle of radius 1."""
    corners = {"circle": 72, "square": 4, "star": 10, "triangle": 3}[class_]
    start = np.pi / 4 if class_ == "square" else 0.0
    angles = tilt + start + np.arange(corners) * 2 * np.pi / corners
    reach = np.where(np.arange(corners) % 2, 0.42 if class_ == "star" else 1.0, 1.0)
    return np.stack([-np.cos(angles) * reach, np.sin(angles) * reach], axis=1)


def pattern(picture: Picture) -> NDArray[np.bool_]:
    """Where the texture is shaded, `(h, w)`; it turns with the shape."""
    y, x = np.indices(picture.size) + 0.5
    y, x = y - picture.row.y, x - picture.row.x
    cosine, sine = np.cos(picture.tilt), np.sin(picture.tilt)
    period = picture.row.radius / 2
    across, along = (cosine * x + sine * y) / period, (cosine * y - sine * x) / period
    return PATTERNS[picture.texture](across, along)


PATTERNS: dict[str, Texture] = {
    "plain": lambda across, along: np.zeros(across.shape, bool),
    "stripes": lambda across, along: across % 1 < 0.5,
    "checks": lambda across, along: (across % 1 < 0.5) ^ (along % 1 < 0.5),
    "dots": lambda across, along: np.hypot(across % 1 - 0.5, along % 1 - 0.5) < 0.3,
}


def save(pixels: NDArray[np.uint8], path: Path) -> None:
    """Writes a JPEG or a PNG, as the name says."""
    options: dict[str, Any] = (
        {"optimize": True} if path.suffix == ".png" else {"quality": JPEG_QUALITY}
    )
    Image.fromarray(pixels).save(path, **options)


def write_labels(rows: list[Row], path: Path) -> None:
    """Writes `labels.csv`."""
    table = [{key.rstrip("_"): value for key, value in asdict(row).items()} for row in rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Redraw the sample data.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    draw(parser.parse_args().folder)

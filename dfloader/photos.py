"""Real photographs to try a loader on, cut from the colour pictures inside scikit-image's wheel.

Needs no network. A picture is divided into cells; every fourth is for validation, and a crop never
leaves its cell, so that no pixel is both trained on and validated on.
May import NumPy, pandas, imageio and scikit-image.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import numpy as np
import numpy.typing as npt
import pandas as pd
from skimage import data

Pixels = npt.NDArray[np.uint8]

# Not the astronaut: her face, her suit and the flag have nothing in common but the picture.
PICTURES: dict[str, Callable[[], Any]] = {
    "cat": data.chelsea,
    "coffee": data.coffee,
    "galaxies": data.hubble_deep_field,
    "motorcycle": lambda: data.stereo_motorcycle()[0],
    "retina": data.retina,
    "rocket": data.rocket,
    "tissue": data.immunohistochemistry,
}
CELL = 140  # pixels: the smallest picture, 300 x 451, still has six cells
SMALLEST = 64  # pixels: the sides of a crop are drawn from here up to the whole cell
QUALITY = 90
FLATTEST = 12.0  # levels of standard deviation: a cell with less is plain sky, which has no class
DRAWS = 4  # a crop is the most detailed of this many
VALIDATE_EVERY = 4  # cells, and crops


@dataclass(frozen=True)
class Cell:
    """One region of a picture, and the side of the split it is on."""

    pixels: Pixels
    split: str


def write_photos(folder: Path, per_class: int = 90, seed: int = 0) -> pd.DataFrame:
    """Write JPEG crops of varied size into a folder, labelled by the picture they come from.

    Args:
        folder: where the files go; made if it is not there.
        per_class: crops of each picture, a quarter of them for validation.
        seed: the same seed draws the same crops.

    Returns:
        A frame with the columns filename (relative to the folder), class and split (train, val).

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frame = write_photos(Path(folder), per_class=4)
        >>> frame["class"].nunique(), len(frame)
        (7, 28)
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        _write_crop(folder, name, number, cell)
        for position, name in enumerate(PICTURES)
        for number, cell in enumerate(
            _crops(name, per_class, np.random.default_rng([seed, position]))
        )
    ]
    return pd.DataFrame(rows, columns=["filename", "class", "split"])


def cells(picture: Pixels) -> list[Cell]:
    """Divide a picture (h, w, 3) into cells of at least `CELL` pixels a side, disjoint."""
    rows, columns = (_bounds(length) for length in picture.shape[:2])
    return [
        Cell(picture[top:bottom, left:right], _split(row, column))
        for row, (top, bottom) in enumerate(rows)
        for column, (left, right) in enumerate(columns)
    ]


def _write_crop(folder: Path, name: str, number: int, crop: Cell) -> tuple[str, str, str]:
    filename = f"{name}_{number:03d}.jpg"
    iio.imwrite(folder / filename, crop.pixels, quality=QUALITY)
    return filename, name, crop.split


def _crops(name: str, count: int, rng: np.random.Generator) -> Iterator[Cell]:
    detailed = [
        cell for cell in cells(np.asarray(PICTURES[name]())) if cell.pixels.std() > FLATTEST
    ]
    for number in range(count):
        split = "train" if number % VALIDATE_EVERY else "val"
        side = [cell for cell in detailed if cell.split == split]
        drawn = [_crop(side[rng.integers(len(side))], rng) for _ in range(DRAWS)]
        yield max(drawn, key=lambda crop: float(crop.pixels.std()))


def _crop(cell: Cell, rng: np.random.Generator) -> Cell:
    sides = cell.pixels.shape[:2]
    height, width = (int(rng.integers(SMALLEST, side, endpoint=True)) for side in sides)
    top = int(rng.integers(0, sides[0] - height, endpoint=True))
    left = int(rng.integers(0, sides[1] - width, endpoint=True))
    return Cell(cell.pixels[top : top + height, left : left + width], cell.split)


def _bounds(length: int) -> list[tuple[int, int]]:
    edges = np.linspace(0, length, length // CELL + 1).astype(int).tolist()
    return list(pairwise(edges))


def _split(row: int, column: int) -> str:
    # Two columns further in every row: the validation cells are spread over the whole picture.
    return "val" if (column + 2 * row) % VALIDATE_EVERY == 1 else "train"

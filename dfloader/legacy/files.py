"""Which paths are image files, by one listing a folder instead of one look-up a row.

Contract: a path is one if ``path.lower().endswith(EXTENSIONS) and os.path.isfile(path)``.
A listing only ever says yes; every no is confirmed by ``isfile`` (a file system may ignore case).
"""

import os
from collections.abc import Iterator

import numpy as np

from dfloader.legacy.names import Mask, Names, Positions

EXTENSIONS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")  # without a dot, as the original
LONGEST_EXTENSION = 4
FEWEST_TO_LIST = 16  # a listing costs about as much as this many look-ups


def image_files(directory: str, names: Names) -> Mask:
    """Say for each name, joined to ``directory``, whether it is an image file."""
    images = _named_as_images(names)
    found = images & _listed(directory, names)
    for row in np.flatnonzero(images & ~found).tolist():
        found[row] = os.path.isfile(os.path.join(directory, names[row]))  # noqa: PTH113 - a Path is ten times slower
    return found


def _named_as_images(names: Names) -> Mask:
    """Look at each different end once."""
    numbers, ends = names.ends(LONGEST_EXTENSION)
    return np.array([end.lower().endswith(EXTENSIONS) for end in ends], np.bool_)[numbers]


def _listed(directory: str, names: Names) -> Mask:
    """Say which names the listings of their folders show."""
    numbers, folders, bases = names.by_folder()
    found = np.zeros(len(names), np.bool_)
    for number, rows in _rows_of_each(numbers):
        if len(rows) >= FEWEST_TO_LIST:
            folder = os.path.join(directory, folders[number]) or os.curdir
            found[rows] = bases.take(rows).listed_in(folder)
    return found


def _rows_of_each(numbers: Positions) -> Iterator[tuple[int, Positions]]:
    """Give the positions of 0, of 1, and so on."""
    order, counts = np.argsort(numbers, kind="stable"), np.bincount(numbers)
    yield from enumerate(np.split(order, np.cumsum(counts)[:-1]))

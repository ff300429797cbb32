"""Which paths are image files, by one listing a folder instead of one look-up a row.

Contract: a path is one if ``path.lower().endswith(EXTENSIONS) and os.path.isfile(path)``.
A listing only ever says yes; every no is confirmed by ``isfile`` (a file system may ignore case).
"""

import os
from collections.abc import Sequence

import numpy as np

from dfloader.legacy.names import ListedNames, Mask, Names

EXTENSIONS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")  # without a dot, as the original
LONGEST_EXTENSION = 4


def image_files(directory: str, names: Names) -> Mask:
    """Say for each name, joined to ``directory``, whether it is an image file."""
    found = _named_as_images(names)
    if not names.any_with(os.sep):
        return found & _files_in(os.path.join(directory, ""), names)
    paths = [os.path.join(directory, name) for name in names.tolist()]
    for folder, rows in _by_folder(paths).items():
        found[rows] &= _files_in(folder, ListedNames([paths[row][len(folder) :] for row in rows]))
    return found


def _named_as_images(names: Names) -> Mask:
    """Look at each different end once."""
    numbers, ends = names.ends(LONGEST_EXTENSION)
    return np.array([end.lower().endswith(EXTENSIONS) for end in ends], np.bool_)[numbers]


def _by_folder(paths: Sequence[str]) -> dict[str, list[int]]:
    """Group the rows by the part of the path up to its last separator, that included."""
    folders: dict[str, list[int]] = {}
    for row, path in enumerate(paths):
        folder, separator, _ = path.rpartition(os.sep)
        folders.setdefault(folder + separator, []).append(row)
    return folders


def _files_in(folder: str, names: Names) -> Mask:
    found = names.listed_in(folder or os.curdir)
    missing = np.flatnonzero(~found)
    if len(missing) and os.path.isdir(folder or os.curdir):  # noqa: PTH112
        for row in missing.tolist():
            found[row] = os.path.isfile(folder + names[row])  # noqa: PTH113 - a Path is ten times slower
    return found

"""Which paths are image files, by one listing a folder instead of one look-up a row.

Contract: a path is one if ``path.lower().endswith(EXTENSIONS) and os.path.isfile(path)``.
A listing only ever says yes; every no is confirmed by ``isfile`` (a file system may ignore case).
"""

import os
from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

EXTENSIONS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")  # without a dot, as the original
LONGEST_EXTENSION = 4
FEWEST_TO_LIST = 16  # a listing costs about as much as this many look-ups
ENTRIES_PER_ROW = 20  # how far to read a folder that holds much more than the frame names

Mask = npt.NDArray[np.bool_]


def image_files(directory: str, names: Sequence[str]) -> Mask:
    """Say for each name, joined to ``directory``, whether it is an image file."""
    found = _named_as_images(names)
    if os.sep in "".join(names):
        folders = _by_folder([os.path.join(directory, name) for name in names])
        for folder, rows in folders.items():
            found[rows] &= _files_in(folder, [names[row].rpartition(os.sep)[2] for row in rows])
        return found
    return found & _files_in(os.path.join(directory, ""), names)


def _named_as_images(names: Sequence[str]) -> Mask:
    """Compare the ends of the names, each different end once."""
    if names and _end_alike(names):
        return np.full(len(names), names[0].lower().endswith(EXTENSIONS))
    ends = [name[-LONGEST_EXTENSION:] for name in names]
    known = {end: end.lower().endswith(EXTENSIONS) for end in set(ends)}
    return np.fromiter(map(known.__getitem__, ends), np.bool_, len(ends))


def _end_alike(names: Sequence[str]) -> bool:
    """Say if all have the end of the first, in one search of the whole text: 10 times as fast."""
    end = names[0][-LONGEST_EXTENSION:] + "\0"  # which no path has in it
    return ("\0".join(names) + "\0").count(end) == len(names)


def _by_folder(paths: Sequence[str]) -> dict[str, list[int]]:
    """Group the rows by the part of the path up to its last separator, that included."""
    folders: dict[str, list[int]] = {}
    for row, path in enumerate(paths):
        folder, separator, _ = path.rpartition(os.sep)
        folders.setdefault(folder + separator, []).append(row)
    return folders


def _files_in(folder: str, names: Sequence[str]) -> Mask:
    listed = _listing(folder, len(names))
    if listed is None:
        return np.zeros(len(names), np.bool_)
    if listed.issuperset(names):  # a third of the time of asking for each
        return np.ones(len(names), np.bool_)
    found = np.fromiter(map(listed.__contains__, names), np.bool_, len(names))
    for row in np.flatnonzero(~found).tolist():
        found[row] = os.path.isfile(folder + names[row])  # noqa: PTH113 - a Path is ten times slower
    return found


def _listing(folder: str, rows: int) -> set[str] | None:
    """List the files of a folder; None: there is no such folder."""
    if rows < FEWEST_TO_LIST:
        return set()
    try:
        with os.scandir(folder or os.curdir) as entries:
            some = islice(entries, max(1000, rows * ENTRIES_PER_ROW))
            return {entry.name for entry in some if entry.is_file()}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # a folder may be closed to listing and still open to those who know names
        return set()

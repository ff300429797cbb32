"""Which files of a column exist: one directory listing a folder. Imports source and NumPy."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from dfloader.source import Source, is_address

# A listing costs about as much as asking for this many files (measured on ext4 and overlayfs).
_FEW = 16
# Listings wait for the disk or the network, so more threads than cores pay.
_THREADS = 16

# What names without one most often lack.
_SUFFIXES = (".jpg", ".jpeg", ".png", ".JPG", ".tif", ".webp")

Rows = npt.NDArray[np.int64]


def missing(source: Source, rows: Rows) -> Rows:
    """Give those of `rows` whose path is local and no file."""
    folders: dict[bytes, list[tuple[bytes, int]]] = {}
    for row in rows.tolist():
        path = source[row]
        if not is_address(path):
            folder, name = os.path.split(path)
            folders.setdefault(folder, []).append((name, row))
    with ThreadPoolExecutor(_THREADS, "dfloader-files") as pool:
        found = pool.map(_missing_in, folders, folders.values())
        return np.array(sorted(row for part in found for row in part), np.int64)


def advice(path: str) -> str:
    """Say what may be wrong with a path that is no file, and what to do."""
    folder = os.path.dirname(path) or "."  # noqa: PTH120
    if not os.path.isdir(folder):  # noqa: PTH112
        return f"There is no folder {folder!r}: say where relative paths start with directory=."
    if os.path.isdir(path):  # noqa: PTH112
        return "The first is a folder: the column must name files."
    for suffix in _SUFFIXES:
        if os.path.isfile(path + suffix):  # noqa: PTH113
            return (
                f"With {suffix!r} at its end the first exists: add it, as df[column] + {suffix!r}."
            )
    return "Say where relative paths start with directory=, or take those rows out."


def _missing_in(folder: bytes, entries: list[tuple[bytes, int]]) -> list[int]:
    if len(entries) <= _FEW:
        there = _asked(folder, (name for name, _ in entries))
    else:
        there = _listed(folder, {name for name, _ in entries})
    return [row for name, row in entries if name not in there]


def _asked(folder: bytes, names: Iterable[bytes]) -> set[bytes]:
    return {name for name in names if os.path.isfile(os.path.join(folder, name))}  # noqa: PTH113


def _listed(folder: bytes, wanted: set[bytes]) -> set[bytes]:
    """List the folder; ask again for what it does not show.

    File systems that ignore case, or the form of an accent, list another spelling.
    """
    try:
        with os.scandir(folder or b".") as listing:
            there = {entry.name for entry in listing if entry.name in wanted and entry.is_file()}
    except (FileNotFoundError, NotADirectoryError):
        return set()
    return there | _asked(folder, wanted - there)

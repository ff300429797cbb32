"""A column of file names, asked about as a whole.

Where pandas keeps its strings in Arrow they stay there: to make a Python string of each of 100,000
names, and to find each in a set, takes as long as to list the folder they are in.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, AnyStr, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

ENTRIES_PER_NAME = 20  # how far to read a folder that holds much more than the names
LISTED_AT_ONCE = 16_384  # names, in a table that the cache of a core holds

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]


class Names(Protocol):
    """What the file check asks of names."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> str: ...

    def take(self, rows: Positions) -> "Names":
        """Keep these rows, whose positions rise."""

    def tolist(self) -> list[str]:
        """Give a Python string a row."""

    def ends(self, length: int) -> tuple[Positions, list[str]]:
        """Give the number of each name's last characters, and the texts numbered."""

    def by_folder(self) -> "tuple[Positions, list[str], Names]":
        """Give the number of each name's folder, the folders, and the names without them.

        A folder ends in the separator; a name without one is in the folder "".
        """

    def listed_in(self, folder: str) -> Mask:
        """Say which names a listing shows as files; none where there is no listing."""


def names_of(column: "pd.Series[Any]") -> Names:
    """Take the names of a column that holds strings only."""
    dtype = column.dtype
    if isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow"):
        import pyarrow

        text = pyarrow.array(column.array)
        return ArrowNames(text.combine_chunks() if hasattr(text, "chunks") else text)
    return ListedNames(column.tolist())


class ListedNames:
    """Names as Python strings."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, row: int) -> str:
        return self._names[row]

    def take(self, rows: Positions) -> Names:
        if len(rows) == len(self):
            return self
        return ListedNames([self._names[row] for row in rows.tolist()])

    def tolist(self) -> list[str]:
        return list(self._names)

    def ends(self, length: int) -> tuple[Positions, list[str]]:
        first = self._names[0][-length:]
        if len(first) == length and self._all_end_in(first):
            return np.zeros(len(self), np.intp), [first]
        ends = [name[-length:] for name in self._names]
        numbers = {end: number for number, end in enumerate(dict.fromkeys(ends))}
        return np.fromiter(map(numbers.__getitem__, ends), np.intp, len(ends)), list(numbers)

    def by_folder(self) -> tuple[Positions, list[str], Names]:
        if os.sep not in "".join(self._names):
            return np.zeros(len(self), np.intp), [""], self
        parts = [name.rpartition(os.sep) for name in self._names]
        folders = [folder + separator for folder, separator, _ in parts]
        numbers = {folder: number for number, folder in enumerate(dict.fromkeys(folders))}
        number_of = np.fromiter(map(numbers.__getitem__, folders), np.intp, len(folders))
        return number_of, list(numbers), ListedNames([base for _, _, base in parts])

    def listed_in(self, folder: str) -> Mask:
        listed = set(chain.from_iterable(_files_in(folder, len(self))))
        if listed.issuperset(self._names):  # a third of the time of asking for each
            return np.ones(len(self), np.bool_)
        return np.fromiter(map(listed.__contains__, self._names), np.bool_, len(self))

    def _all_end_in(self, end: str) -> bool:
        """Answer in one search of the whole text; no path has the separator in it."""
        return ("\0".join(self._names) + "\0").count(end + "\0") == len(self)


class ArrowNames:
    """Names in an Arrow array of strings."""

    def __init__(self, text: Any) -> None:
        self._text = text

    def __len__(self) -> int:
        return len(self._text)

    def __getitem__(self, row: int) -> str:
        return str(self._text[row])

    def take(self, rows: Positions) -> Names:
        if len(rows) == len(self):
            return self
        return ArrowNames(self._text.take(rows))

    def tolist(self) -> list[str]:
        names: list[str] = self._text.to_numpy(zero_copy_only=False).tolist()
        return names

    def ends(self, length: int) -> tuple[Positions, list[str]]:
        from pyarrow import compute

        first = str(self._text[0])[-length:]
        if len(first) == length and compute.all(compute.ends_with(self._text, first)).as_py():
            return np.zeros(len(self), np.intp), [first]
        ends = compute.utf8_slice_codeunits(self._text, -length, None)
        coded = ends.dictionary_encode()
        return coded.indices.to_numpy(), coded.dictionary.to_pylist()

    def by_folder(self) -> tuple[Positions, list[str], Names]:
        import pyarrow
        from pyarrow import compute

        if not compute.any(compute.match_substring(self._text, os.sep)).as_py():
            return np.zeros(len(self), np.intp), [""], self
        nothing, separator = (pyarrow.scalar(text, self._text.type) for text in ("", os.sep))
        rooted = compute.binary_join_element_wise(nothing, self._text, separator)  # two parts each
        parts = compute.split_pattern(rooted, os.sep, max_splits=1, reverse=True).flatten()
        coded = parts[::2].dictionary_encode()
        folders = [part[1:] + os.sep if part else "" for part in coded.dictionary.to_pylist()]
        return coded.indices.to_numpy(), folders, ArrowNames(parts[1::2])

    def listed_in(self, folder: str) -> Mask:
        import pyarrow
        from pyarrow import compute

        kind = pyarrow.large_binary()  # file systems do not promise UTF-8
        pool = pyarrow.system_memory_pool()  # Arrow's own begins with huge pages: 4 times as long
        names = compute.cast(self._text, kind, memory_pool=pool)

        def among(files: Any) -> Mask:
            found = compute.is_in(names, value_set=files, memory_pool=pool)
            return np.array(found.to_numpy(zero_copy_only=False), np.bool_)

        listed = _files_in(os.fsencode(folder), len(self))
        parts = (pyarrow.array(files, kind, memory_pool=pool) for files in listed)
        found = np.zeros(len(self), np.bool_)
        # Neither a search nor the system's part of a listing needs the interpreter.
        with ThreadPoolExecutor(1, "dfloader-names") as searcher:
            for part in searcher.map(among, parts):
                found |= part
        return found


def _files_in(folder: AnyStr, names: int) -> Iterator[list[AnyStr]]:
    """List the files of a folder for so many names, part by part."""
    try:
        with os.scandir(folder) as entries:
            some = islice(entries, max(1000, names * ENTRIES_PER_NAME))
            for first in some:
                part = chain([first], islice(some, LISTED_AT_ONCE - 1))
                yield [entry.name for entry in part if entry.is_file()]
    except OSError:  # a folder may be closed to listing and still open to those who know names
        return

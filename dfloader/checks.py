"""`check`: which rows of a frame have no usable image, as a frame."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.columns import X_NAMES, cells, choose, to_pandas
from dfloader.decode import decode as decode_image
from dfloader.errors import DecodeError
from dfloader.files import missing
from dfloader.frame import read_source
from dfloader.magic import HEAD_BYTES, is_image, read_head
from dfloader.probe import probe
from dfloader.source import Source, is_address
from dfloader.spec import ImageSpec

Problem = str | None

_THREADS = 4  # opening files is half waiting, half Python: measured, more do not help
_CHUNK_ROWS = 1000
_USABLE = (str, os.PathLike, bytes, bytearray, memoryview, np.ndarray)
_ANY_IMAGE = ImageSpec(color_mode="unchanged", target_size=None)


def check(
    df: Any,
    *,
    directory: str | os.PathLike[str] | None = None,
    x_col: str | None = None,
    decode: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    """Find the rows whose image is missing or broken.

    Args:
        df: the frame.
        directory: folder that relative paths start from.
        x_col: column of images; None: found as by a loader.
        decode: decode every image in full, which finds truncated and corrupt ones too, and reads
            addresses (https://, s3://), which are not looked at otherwise.
        progress: show a progress bar.

    Returns:
        One line per bad row: `row` (position), `path` (None where the frame holds the image
        itself) and `problem`; none if all is well.

    Raises:
        DataFrameError: there is no such column, or it holds neither paths nor images.

    Examples:
        >>> df = pd.DataFrame({"filename": ["cat/no_such_file.jpg"]})
        >>> check(df)
           row                  path         problem
        0    0  cat/no_such_file.jpg  does not exist
    """
    frame = to_pandas(df)
    column = choose(frame, x_col, "x_col", X_NAMES)
    problems = _unusable(frame, column)
    rows = np.setdiff1d(np.arange(len(frame)), list(problems))
    paths: dict[int, str | None] = {}
    if len(rows):
        source = read_source(frame.iloc[rows], column, directory)
        found = _problems(source, decode=decode, progress=progress)
        problems |= {int(rows[i]): problem for i, problem in found.items()}
        paths = {int(rows[i]): source.path(i) for i in found}
    bad = sorted(problems)
    return pd.DataFrame(
        {
            "row": np.array(bad, np.int64),
            "path": pd.Series([paths.get(row) for row in bad], dtype=object),
            "problem": pd.Series([problems[row] for row in bad], dtype=object),
        }
    )


def _unusable(df: pd.DataFrame, column: str) -> dict[int, str]:
    """Find the cells that are neither a path nor an image."""
    absent = df[column].isna().to_numpy(dtype=bool)
    problems = dict.fromkeys(np.flatnonzero(absent).tolist(), "missing value")
    for row, value in enumerate(cells(df, column)):
        if row in problems:
            continue
        if not isinstance(value, _USABLE):
            problems[row] = f"{value!r} is a {type(value).__name__}, not a path"
        elif isinstance(value, (str, bytes)) and not value:
            problems[row] = "empty"
    return problems


def _problems(source: Source, *, decode: bool, progress: bool) -> dict[int, str]:
    problems: dict[int, str] = {}
    rows = np.arange(len(source))
    if source.kind == "path":
        gone = missing(source, rows)
        problems = {int(row): _absence(source[row]) for row in gone}
        rows = np.setdiff1d(rows, gone, assume_unique=True)
    look = _decoded if decode else _head
    with _bar(len(rows), progress) as advance, ThreadPoolExecutor(_THREADS) as pool:
        chunks = [rows[i : i + _CHUNK_ROWS] for i in range(0, len(rows), _CHUNK_ROWS)]
        for found in pool.map(lambda chunk: _each(look, source, chunk), chunks):
            problems |= found
            advance(_CHUNK_ROWS)
    return problems


def _absence(path: bytes) -> str:
    return "is a folder" if os.path.isdir(path) else "does not exist"  # noqa: PTH112


def _each(
    look: Callable[[Source, int], Problem], source: Source, rows: npt.NDArray[np.int64]
) -> dict[int, str]:
    found = ((row, look(source, row)) for row in rows.tolist())
    return {row: problem for row, problem in found if problem is not None}


def _head(source: Source, row: int) -> Problem:
    content = source[row]
    if source.kind == "path":
        if is_address(content):
            return None
        try:
            content = read_head(content)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
    if not content:
        return "empty"
    if is_image(content):
        return _probed(source, row) if len(content) < HEAD_BYTES else None
    # A few formats, like TGA, begin with nothing in particular: the decoder is asked.
    return _probed(source, row) and f"not an image: it begins with {content[:16]!r}"


def _probed(source: Source, row: int) -> Problem:
    return _tried(source, row, lambda content: probe(content, max_pixels=None))


def _decoded(source: Source, row: int) -> Problem:
    return _tried(source, row, lambda content: decode_image(content, _ANY_IMAGE))


def _tried(source: Source, row: int, function: Callable[[bytes], object]) -> Problem:
    try:
        content = source.read(row)
        if not content:
            return "empty"
        function(content)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except DecodeError as error:
        return str(error)
    return None


@contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    if not wanted:
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task("Checking", total=total)
        yield lambda done: bar.advance(task, done)

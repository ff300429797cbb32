"""Frame -> Table: where a frame is read and checked; the columns' own readers are beside it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader import remote
from dfloader.columns import (
    SHOWN_ROWS,
    X_NAMES,
    bad_rows,
    cells,
    check_no_missing,
    choose,
    name_rows,
    numbers,
    present,
    to_pandas,
)
from dfloader.errors import DataFrameError
from dfloader.files import advice, missing
from dfloader.packed import pack
from dfloader.source import Source, as_npy, is_address, is_picture
from dfloader.spec import FrameSpec
from dfloader.table import Table
from dfloader.targets import read_targets
from dfloader.weights import read_chances, read_weights

_ENCODED = (bytes, bytearray, memoryview)


def resolve(df: Any, spec: FrameSpec) -> Table:
    """Read the frame once.

    Args:
        df: a pandas frame, or one that converts itself (polars, pyarrow). It is never changed.
            A table comes back with the chances that `spec.sampler` asks for.
        spec: what its columns mean.

    Raises:
        DataFrameError: a column is missing or ambiguous, a value cannot be used, a file is missing.
    """
    if isinstance(df, Table):
        return _with_chances(df, spec)
    df = to_pandas(df)
    x_col = choose(df, spec.x_col, "x_col", X_NAMES)
    images = _with_loader(read_source(df, x_col, spec.directory), spec)
    masks = None
    if spec.mask_col is not None:
        masks = read_source(df, present(df, spec.mask_col, "mask_col"), spec.directory)
    target, kept = read_targets(df, spec)
    table = Table(
        images,
        target,
        y_is_x=spec.class_mode == "input",
        masks=masks,
        weights=read_weights(df, spec, target, kept),
        extra=_extra(df, spec.extra_cols),
        kept=None if kept is None else np.flatnonzero(kept),
        chances=read_chances(df, spec, target, kept),
    )
    if spec.validate and spec.on_error == "raise":
        for source in (images, masks):
            if source is not None:
                _check_files(df, source, table.kept)
    return table


def _with_chances(table: Table, spec: FrameSpec) -> Table:
    if spec.sampler not in (None, "balanced"):
        raise DataFrameError(
            f"sampler={spec.sampler!r}: records do not hold columns of chances.",
            column=spec.sampler,
            hint="Say sampler='balanced', or load from the frame.",
        )
    kept = None if table.kept is None else np.isin(np.arange(len(table)), table.kept)
    return replace(table, chances=read_chances(None, spec, table.target, kept))


def read_source(df: pd.DataFrame, column: str, directory: Any) -> Source:
    """Read a column of images: paths, encoded bytes, or arrays.

    Raises:
        DataFrameError: a cell is missing or none of these, or they are mixed.
    """
    check_no_missing(df, column, "Drop those rows.")
    values = cells(df, column)
    if isinstance(values[0], _ENCODED):
        return Source("encoded", pack(_contents(df, column, values)), column)
    if isinstance(values[0], np.ndarray):
        return Source("encoded", pack(_arrays(df, column, values)), column)
    return Source("path", pack(_paths(df, column, values, directory)), column)


def _with_loader(images: Source, spec: FrameSpec) -> Source:
    if spec.loader is not None and images.kind != "path":
        raise DataFrameError(
            f"Column {images.column!r} holds the images themselves, and loader= takes paths.",
            column=images.column,
            hint="Drop loader=.",
        )
    return replace(images, loader=spec.loader)


def _paths(df: pd.DataFrame, column: str, values: npt.NDArray[Any], directory: Any) -> list[bytes]:
    bad = [i for i, value in enumerate(values) if not _is_path(value)]
    if bad:
        kind = type(values[bad[0]]).__name__
        what = f"must hold paths; {{n}} cells do not, as {kind}"
        hint = "Make them str with the file's extension, or take those rows out."
        raise bad_rows(df, column, bad, what, hint)
    base = os.fsencode(directory) if directory is not None else b""
    paths = [_joined(base, os.fsencode(value)) for value in values]
    _check_protocols(df, column, paths)
    return paths


def _check_protocols(df: pd.DataFrame, column: str, paths: list[bytes]) -> None:
    first: dict[str, int] = {}
    for row, path in enumerate(paths):
        if is_address(path):
            for protocol in remote.protocols(os.fsdecode(path)):
                first.setdefault(protocol, row)
    for protocol, row in first.items():
        try:
            remote.check_protocol(protocol)
        except ValueError as error:
            what = f"holds addresses of an unknown kind, {protocol}://"
            raise bad_rows(df, column, [row], what, "Correct the address.") from error


def _is_path(value: Any) -> bool:
    if isinstance(value, str):
        return value != "" and "\0" not in value
    return isinstance(value, os.PathLike)


def _joined(base: bytes, path: bytes) -> bytes:
    return path if is_address(path) else os.path.join(base, path)


def _contents(df: pd.DataFrame, column: str, values: npt.NDArray[Any]) -> list[bytes]:
    bad = [i for i, v in enumerate(values) if not isinstance(v, _ENCODED) or not len(v)]
    if bad:
        what = "starts with encoded bytes; {n} cells hold none"
        raise bad_rows(df, column, bad, what, "Put the files' content into every cell.")
    return [bytes(value) for value in values]


def _arrays(df: pd.DataFrame, column: str, values: npt.NDArray[Any]) -> list[bytes]:
    bad = [i for i, v in enumerate(values) if not is_picture(v)]
    if bad:
        what = "starts with arrays; {n} cells are not arrays of numbers (h, w) or (h, w, c)"
        raise bad_rows(df, column, bad, what, "Make them so in every cell.")
    return [as_npy(value) for value in values]


def _extra(
    df: pd.DataFrame, groups: Mapping[str, str | Sequence[str]] | None
) -> dict[str, npt.NDArray[np.float32]] | None:
    if not groups:
        return None
    return {name: _group(df, name, columns) for name, columns in groups.items()}


def _group(df: pd.DataFrame, name: str, columns: str | Sequence[str]) -> npt.NDArray[np.float32]:
    listed = [columns] if isinstance(columns, str) else list(columns)
    if not listed:
        raise DataFrameError(f"extra_cols[{name!r}] names no column.", hint="Name one or more.")
    keyword = f"extra_cols[{name!r}]"
    parts = [numbers(df, present(df, column, keyword), keyword) for column in listed]
    flat = [part.reshape(len(df), -1) for part in parts]
    return np.concatenate(flat, axis=1).astype(np.float32)


def _check_files(df: pd.DataFrame, source: Source, kept: Any) -> None:
    if source.kind != "path":
        return
    rows = np.arange(len(df)) if kept is None else kept
    bad = missing(source, rows)
    if not len(bad):
        return
    paths = ", ".join(repr(source.path(row)) for row in bad[:SHOWN_ROWS].tolist())
    raise DataFrameError(
        f"Column {source.column!r}: {len(bad)} of {len(rows)} files do not exist "
        f"({name_rows(df, bad.tolist())}): {paths}.",
        column=source.column,
        rows=bad[:SHOWN_ROWS].tolist(),
        path=source.path(int(bad[0])),
        hint=advice(source.path(int(bad[0])) or ""),
    )

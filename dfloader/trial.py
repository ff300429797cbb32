"""Callables tried on one image, when a loader is built. Imports example, transforms and table."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.errors import DecodeError
from dfloader.example import example_shape, write_example
from dfloader.spec import ImageSpec
from dfloader.table import Table
from dfloader.transforms import Call, tried

_TRIES = 3  # rows whose files are asked for an image
_NOISE_SIZE = (64, 64)


def tried_on_a_row(calls: tuple[Call, ...], table: Table, spec: ImageSpec) -> tuple[Call, ...]:
    """Try callables on the first image that can be read, or else on noise.

    Raises:
        ValueError: a callable fails, or its result does not fit.
    """
    if not calls:
        return ()
    spec = replace(spec, rescale=None)
    for row in range(min(_TRIES, len(table))):
        try:
            image, mask = _example(table, spec, row)
        except DecodeError:
            continue
        return tried(calls, image, mask)
    return tried(calls, *_noise(table, spec))


def _example(
    table: Table, spec: ImageSpec, row: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8] | None]:
    shape = example_shape(table, spec, row)
    out: dict[str, npt.NDArray[Any]] = {"image": np.empty(shape, spec.dtype)}
    if table.masks is not None:
        out["mask"] = np.empty((*shape[:2], 1), np.uint8)
    write_example(table, spec, row, out)
    return out["image"], out.get("mask")


def _noise(table: Table, spec: ImageSpec) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8] | None]:
    size = spec.target_size or _NOISE_SIZE
    noise = np.random.Generator(np.random.Philox(0)).integers(0, 256, (*size, spec.channels or 3))
    return noise.astype(spec.dtype), None if table.masks is None else np.zeros((*size, 1), np.uint8)

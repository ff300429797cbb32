"""A row -> its pixels: read, decode, render. Imports what does these, source, spec and table.

Errors name row and path, of the mask's file where it is the mask's fault.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.augment import Augment
from dfloader.augmented import render_drawn, render_mask_drawn
from dfloader.decode import channels, decode, decode_mask
from dfloader.draws import NOTHING, Draws
from dfloader.errors import DecodeError
from dfloader.geometry import Placement
from dfloader.header import Header
from dfloader.probe import probe
from dfloader.source import Source
from dfloader.spec import ArraySpec, ImageSpec
from dfloader.table import Table
from dfloader.transforms import Call, apply
from dfloader.view import View, see

Array = npt.NDArray[Any]


class Change(NamedTuple):
    """What a row goes through besides rendering.

    Attributes:
        augment: what may change; None: nothing.
        drawn: the row's draw.
        calls: the user's callables.
        rng: gives the row's generator, which they share.
    """

    augment: Augment | None = None
    drawn: Draws = NOTHING
    calls: Sequence[Call] = ()
    rng: Callable[[], np.random.Generator] | None = None


NO_CHANGE = Change()


def write_example(
    table: Table,
    spec: ImageSpec,
    row: int,
    out: Mapping[str, Array],
    change: Change = NO_CHANGE,
) -> None:
    """Render a row into its slots of a batch.

    Args:
        table: where images and masks are.
        spec: what becomes of a file.
        row: of the frame.
        out: "image" (h, w, c), and "mask" (h, w, 1) where there are masks; all of it is written.
        change: what the row goes through.

    Raises:
        DecodeError: a file cannot be read or decoded, or does not fit the batch.
    """
    with _located(table.images, row):
        view = _write_image(table.images.read(row), spec, change, out["image"])
    if table.masks is not None:
        with _located(table.masks, row):
            mask = _fitting_mask(table.masks.read(row), spec, view.placement)
            render_mask_drawn(mask, view, change.augment, change.drawn, out["mask"])
    _end(table, spec, row, out, change)


def write_decoded(
    table: Table,
    spec: ImageSpec,
    row: int,
    pixels: Mapping[str, npt.NDArray[np.uint8]],
    out: Mapping[str, Array],
    change: Change,
) -> None:
    """Do what `write_example` does, of an "image" and "mask" that have the target's size."""
    height, width = pixels["image"].shape[:2]
    augment, drawn = change.augment, change.drawn
    view = see(height, width, spec, scaled=False, augment=augment, drawn=drawn)
    render_drawn(pixels["image"], view, spec, augment, drawn, out["image"])
    if "mask" in out:
        render_mask_drawn(pixels["mask"], view, augment, drawn, out["mask"])
    _end(table, spec, row, out, change)


def parts_of(table: Table, image: ArraySpec) -> dict[str, ArraySpec]:
    """Say what is rendered of a row whose image is `image`: that, and its mask if it has one."""
    if table.masks is None:
        return {"image": image}
    return {"image": image, "mask": ArraySpec((*image.shape[:2], 1), "uint8")}


def example_shape(table: Table, spec: ImageSpec, row: int) -> tuple[int, int, int]:
    """Read from a row's file what `spec` leaves open: (height, width, channels) of the example.

    Raises:
        DecodeError: the file cannot be read.
    """
    header = header_of(table, spec, row)
    with _located(table.images, row):
        return (*(spec.target_size or header.size(exif=spec.exif)), channels(header, spec))


def header_of(table: Table, spec: ImageSpec, row: int) -> Header:
    """Read what a row's file says of its picture.

    Raises:
        DecodeError: the file cannot be read.
    """
    with _located(table.images, row):
        return probe(table.images.read(row), max_pixels=spec.max_pixels)


def _write_image(data: bytes, spec: ImageSpec, change: Change, out: Array) -> View:
    header = probe(data, max_pixels=spec.max_pixels)
    height, width = header.size(exif=spec.exif)
    augment, drawn = change.augment, change.drawn
    view = see(height, width, spec, scaled=header.scalable, augment=augment, drawn=drawn)
    _check_fits((height, width, channels(header, spec)), spec, out.shape)
    image = decode(data, spec, header, scale=view.placement.scale)
    render_drawn(image, view, spec, augment, drawn, out)
    return view


def _end(table: Table, spec: ImageSpec, row: int, out: Mapping[str, Array], change: Change) -> None:
    if change.calls:
        _call(table, row, out, change)
    if spec.rescale is not None:
        np.multiply(out["image"], spec.rescale, out=out["image"])


def _call(table: Table, row: int, out: Mapping[str, Array], change: Change) -> None:
    """Let the user's callables change what lies in the slots."""
    assert change.rng is not None
    try:
        image, mask = apply(change.calls, out["image"], out.get("mask"), change.rng())
    except Exception as error:
        path = table.images.path(row)
        raise RuntimeError(
            f"Row {row}: {path!r}: augment failed: {error or type(error).__name__}"
        ) from error
    np.copyto(out["image"], image)
    if mask is not None:
        np.copyto(out["mask"], mask)


def _fitting_mask(data: bytes, spec: ImageSpec, placement: Placement) -> npt.NDArray[np.uint8]:
    mask = decode_mask(data, spec)
    across, down = mask.shape[1] * placement.height, mask.shape[0] * placement.width
    # A mask of another size is taken to show the same, so its aspect is the picture's to a pixel.
    if abs(across - down) > max(*mask.shape, placement.height, placement.width):
        raise DecodeError(
            f"the mask is {mask.shape[0]} x {mask.shape[1]} (height x width), which is not the "
            f"aspect of its picture, {placement.height} x {placement.width} upright; if masks were "
            "drawn on pictures as stored, say exif=False"
        )
    return mask


def _check_fits(found: tuple[int, int, int], spec: ImageSpec, wanted: tuple[int, ...]) -> None:
    """Compare what the file has with what the first of the batch had."""
    if spec.target_size is None and found[:2] != wanted[:2]:
        raise DecodeError(
            f"it is {found[0]} x {found[1]} pixels (height x width), the batch {wanted[0]} x "
            f"{wanted[1]}, and target_size=None needs one size",
            hint="Say target_size=(height, width).",
        )
    if found[2] != wanted[2] and found[2] <= 4:
        raise DecodeError(
            f"it has {found[2]} channels, the batch {wanted[2]}, and color_mode='unchanged' needs "
            "one number of channels",
            hint="Say color_mode='rgb'.",
        )


@contextmanager
def _located(source: Source, row: int) -> Iterator[None]:
    """Add row and path to what goes wrong."""
    try:
        yield
    except (OSError, DecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        path = source.path(row)
        name = f"column {source.column!r}" if path is None else repr(path)
        raise DecodeError(
            f"Row {row}: {name}: {reason}.",
            column=source.column,
            rows=[row],
            path=path,
            reason=reason,
        ) from error

"""What one row costs, stage by stage. Imports batch, costs and below.

1. The functions that load are timed one by one: reading, `probe` and `see`, `decode`,
   `render_drawn`, each callable. Nothing is added to them.
2. Decoding and rendering only compute, so their CPU seconds count; twice, and the less disturbed
   time counts. Of reading and of callables the seconds by the clock beyond those of the CPU are
   waiting, but not those in which other programs had the core, where the system tells.
3. The first reading of a file is kept apart from the second, since the system may remember it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt

from dfloader.augmented import render_drawn, render_mask_drawn
from dfloader.batch import Loader
from dfloader.costs import NOTHING, Cost, Pixels
from dfloader.decode import decode, decode_mask
from dfloader.example import NO_CHANGE, Change, write_decoded
from dfloader.overlap import queued_seconds
from dfloader.probe import probe
from dfloader.rows import Rows, source_rows
from dfloader.spec import ImageSpec
from dfloader.transforms import apply
from dfloader.view import see

Files = dict[str, bytes]  # "image", and "mask" where there are masks
Slots = dict[str, npt.NDArray[Any]]

EPOCH = 0
_TIMES = 2


@dataclass
class Watch:
    """Adds up what parts of the work take, by name."""

    costs: dict[str, Cost] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        queued, wall, compute = queued_seconds(), time.perf_counter(), time.process_time()
        yield
        compute, wall = time.process_time() - compute, time.perf_counter() - wall
        wait = max(0.0, wall - compute - (queued_seconds() - queued))
        self.costs[name] = self.costs.get(name, NOTHING) + Cost(compute, wait)


@dataclass(frozen=True)
class RowCosts:
    """What one row costs, as the fields of `Stages` say it; `change`: to draw what it is to be."""

    nbytes: int
    read: Cost
    reread: Cost
    pixels: Pixels
    scaled: Pixels | None
    kept: Cost | None
    calls: tuple[Cost, ...]
    change: Cost


def row_costs(loader: Loader, number: Rows) -> RowCosts:
    """Time what becomes of one row, `number` of the first epoch.

    Raises:
        OSError: its file cannot be read.
        DecodeError: nor decoded.
    """
    row, spec = int(source_rows(number)[0]), loader.image
    watch = Watch()
    with watch("change"):
        change = loader.change(EPOCH, int(number[0]))
    with watch("read"):
        files = _read(loader, row)
    with watch("reread"):
        _read(loader, row)
    out = {name: values[0] for name, values in touched(loader, number).items()}
    scaled = None
    if spec.decode == "full":
        scaled, scale = _pixels(files, replace(spec, decode="scaled"), change, out)
        scaled = scaled if scale > 1 else None
    kept = _kept(loader, row, files, change, out) if _can_be_kept(spec) else None
    pixels, _ = _pixels(files, spec, change, out)
    render_files(files, replace(spec, rescale=None), change, out)
    calls = _called(change, out)
    nbytes = sum(map(len, files.values()))
    costs = watch.costs
    return RowCosts(
        nbytes, costs["read"], costs["reread"], pixels, scaled, kept, calls, costs["change"]
    )


def _read(loader: Loader, row: int) -> Files:
    sources = {"image": loader.table.images, "mask": loader.table.masks}
    return {name: source.read(row) for name, source in sources.items() if source is not None}


def touched(loader: Loader, rows: Rows) -> Slots:
    """Give memory for rows that has been written to, as that of batches has: (len(rows), ...).

    The first touch of fresh memory would count as rendering.
    """
    pixels = loader.empty(rows)
    for values in pixels.values():
        values.fill(0)
    return pixels


def render_files(
    files: Files, spec: ImageSpec, change: Change, out: Slots
) -> tuple[dict[str, Cost], int]:
    """Do what `write_example` does of files that are read, without callables, and time it.

    Returns:
        The costs of "header", "decode" and "render", and the scale 1/k that was decoded at.
    """
    watch, data = Watch(), files["image"]
    augment, drawn = change.augment, change.drawn
    with watch("header"):
        header = probe(data, max_pixels=spec.max_pixels)
        height, width = header.size(exif=spec.exif)
        view = see(height, width, spec, scaled=header.scalable, augment=augment, drawn=drawn)
    with watch("decode"):
        image = decode(data, spec, header, scale=view.placement.scale)
    with watch("render"):
        render_drawn(image, view, spec, augment, drawn, out["image"])
        if spec.rescale is not None:
            np.multiply(out["image"], spec.rescale, out=out["image"])
    if "mask" in files:
        with watch("decode"):
            mask = decode_mask(files["mask"], spec)
        with watch("render"):
            render_mask_drawn(mask, view, augment, drawn, out["mask"])
    return watch.costs, view.placement.scale


def _pixels(files: Files, spec: ImageSpec, change: Change, out: Slots) -> tuple[Pixels, int]:
    render = partial(_least_render, files, spec, out=out)
    (header, decoding, drawn), scale = render(change)
    plain = drawn if change.augment is None else min(drawn, render(NO_CHANGE)[0][2])
    decoded = Cost(header + decoding, alone=header)
    return Pixels(decoded, Cost(plain), Cost(drawn - plain)), scale


def _least_render(
    files: Files, spec: ImageSpec, change: Change, out: Slots
) -> tuple[tuple[float, float, float], int]:
    """Give the least CPU seconds of header, decode and render; and the scale."""
    found = [render_files(files, spec, change, out) for _ in range(_TIMES)]
    header, decoding, drawn = (
        min(costs[name].compute for costs, _ in found) for name in ("header", "decode", "render")
    )
    return (header, decoding, drawn), found[0][1]


def _kept(loader: Loader, row: int, files: Files, change: Change, out: Slots) -> Cost:
    """Time what becomes of a row that a cache holds: it is checked, and rendered from there."""
    small = {name: np.empty(values.shape, np.uint8) for name, values in out.items()}
    render_files(files, replace(loader.image, dtype="uint8", rescale=None), NO_CHANGE, small)
    change = change._replace(calls=())
    watches = [Watch() for _ in range(_TIMES)]
    for watch in watches:
        with watch("kept"):
            for values in small.values():
                google_crc32c.value(values)
            write_decoded(loader.table, loader.image, row, small, out, change)
    return Cost(min(watch.costs["kept"].compute for watch in watches))


def _can_be_kept(spec: ImageSpec) -> bool:
    return None not in spec.signature().shape and spec.dtype != "uint16"


def _called(change: Change, out: Slots) -> tuple[Cost, ...]:
    """Time each callable, on what the one before it gave."""
    watches = [Watch() for _ in change.calls]
    image, mask = out["image"], out.get("mask")
    for call, watch in zip(change.calls, watches, strict=True):
        assert change.rng is not None
        with watch("call"):
            image, mask = apply([call], image, mask, change.rng())
    return tuple(watch.costs["call"] for watch in watches)

"""Pictures of batches, to look at what a loader gives. Imports batch, labels, NumPy and Pillow."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from dfloader.batch import Batch, Loader
from dfloader.labels import LabelEncoder
from dfloader.spec import ImageSpec

Picture = npt.NDArray[np.uint8]

COLUMNS = 8
_TILE = 128  # pixels: the shorter side of a picture that is enlarged to be seen
_TEXT = 12
_GAP = 4
_PAPER, _INK = (255, 255, 255), (40, 40, 40)
_MASK_PART = 0.5  # of a pixel's colour, where a mask has a class
_MASK_COLOURS = np.array(
    [
        (68, 119, 170),
        (238, 102, 119),
        (34, 136, 51),
        (204, 187, 68),
        (102, 204, 238),
        (170, 51, 119),
    ]
)
_MOST_LABELS = 3  # in a caption


def preview(loader: Loader, batch: Batch, *, epoch: int, images: int, draws: int) -> Image.Image:
    """Draw the first images of a batch, and under them its first row as several epochs give it.

    Args:
        loader: of the batch.
        batch: as the loader, or a sequence with layers after it, gave it for batch 0 of `epoch`.
        epoch: of the batch.
        images: of the batch, at most.
        draws: how often the first row; 0: not at all.
    """
    x, y = (batch[0], batch[1]) if isinstance(batch, tuple) else (batch, None)
    x = x["image"] if isinstance(x, dict) else x
    masks = _masks(loader, y)
    count = min(images, len(x))
    tiles = [_shown(x[i], loader.image, None if masks is None else masks[i]) for i in range(count)]
    captions = [caption(_of_row(y, i), loader.table.encoder) for i in range(count)]
    parts = [_grid(tiles, captions)]
    if draws:
        row = loader.plan.rows(epoch, 0)[:1]
        epochs = range(epoch, epoch + draws)
        tiles = [_drawn(loader, e, row) for e in epochs]
        parts.append(_grid(tiles, [f"epoch {e}" for e in epochs]))
    return _below_each_other(parts)


def caption(y: Any, encoder: Any) -> str:
    """Say a row's target in a line.

    Args:
        y: of one row: a number, a vector over classes, or a dict of such; None: nothing.
        encoder: the classes, or a dict of them.
    """
    if isinstance(y, dict):
        encoders = encoder if isinstance(encoder, dict) else dict.fromkeys(y, encoder)
        lines = [caption(part, encoders.get(name)) for name, part in y.items() if name != "mask"]
        return " | ".join(line for line in lines if line)
    if y is None or np.ndim(y) > 1:
        return ""
    if not isinstance(encoder, LabelEncoder):
        return ", ".join(f"{value:.4g}" for value in np.atleast_1d(y)[:_MOST_LABELS])
    if np.ndim(y) == 0:
        return str(encoder.class_names[int(y)])
    return _class_shares(y, encoder)


def _class_shares(y: npt.NDArray[Any], encoder: LabelEncoder) -> str:
    best = [int(i) for i in np.argsort(-y, kind="stable")[:_MOST_LABELS] if y[i] > 0]
    names = [str(encoder.class_names[i]) for i in best]
    if all(y[i] == 1 for i in best):
        return ", ".join(names)
    return ", ".join(f"{name} {y[i]:.2f}" for name, i in zip(names, best, strict=True))


def _of_row(y: Any, i: int) -> Any:
    if isinstance(y, dict):
        return {name: part[i] for name, part in y.items()}
    return None if y is None else y[i]


def _masks(loader: Loader, y: Any) -> Any:
    if loader.table.masks is None:
        return None
    return y["mask"] if isinstance(y, dict) else y


def _drawn(loader: Loader, epoch: int, row: npt.NDArray[np.int64]) -> Picture:
    pixels = loader.empty(row)
    loader.fill(epoch, row, pixels)
    mask = pixels["mask"][0] if "mask" in pixels else None
    return _shown(pixels["image"][0], loader.image, mask)


def _shown(image: npt.NDArray[Any], spec: ImageSpec, mask: Any) -> Picture:
    """Make RGB bytes of an example, with its mask over it."""
    levels = image.astype(np.float64) / (spec.rescale or 1.0)
    levels = levels / 257 if spec.dtype == "uint16" else levels
    rgb = levels[:, :, :3] if image.shape[2] >= 3 else np.repeat(levels[:, :, :1], 3, axis=2)
    if mask is not None:
        inside = mask > 0
        over = _MASK_COLOURS[(mask[:, :, 0].astype(int) - 1) % len(_MASK_COLOURS)]
        rgb = np.where(inside, (1 - _MASK_PART) * rgb + _MASK_PART * over, rgb)
    shown = np.clip(np.rint(rgb), 0, 255).astype(np.uint8)
    times = -(-_TILE // min(shown.shape[:2]))
    return shown.repeat(times, axis=0).repeat(times, axis=1)


def _grid(tiles: Sequence[Picture], captions: Sequence[str]) -> Image.Image:
    """Put pictures beside each other, captions under them."""
    height = max(len(tile) for tile in tiles) + _TEXT + 2 * _GAP
    width = max(tile.shape[1] for tile in tiles) + _GAP
    columns = min(COLUMNS, len(tiles))
    rows = -(-len(tiles) // columns)
    sheet = Image.new("RGB", (columns * width + _GAP, rows * height + _GAP), _PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(_TEXT)
    for i, (tile, text) in enumerate(zip(tiles, captions, strict=True)):
        left, top = _GAP + i % columns * width, _GAP + i // columns * height
        sheet.paste(Image.fromarray(tile), (left, top))
        fitting = _fitting(text, lambda part: draw.textlength(part, font), width - _GAP)
        draw.text((left, top + tile.shape[0] + 1), fitting, _INK, font)
    return sheet


def _fitting(text: str, length: Callable[[str], float], width: int) -> str:
    while text and length(text) > width:
        text = text[:-2] + "…" if len(text) > 2 else ""
    return text


def _below_each_other(parts: Sequence[Image.Image]) -> Image.Image:
    width, height = max(part.width for part in parts), sum(part.height for part in parts)
    sheet = Image.new("RGB", (width, height), _PAPER)
    top = 0
    for part in parts:
        sheet.paste(part, (0, top))
        top += part.height
    return sheet

"""Rows and an `Augment` -> what each row goes through, as arrays. Imports augment, philox, spec.

1. A row's draw is a pure function of (key, row): not of the other rows, nor of how many there are.
2. Each quantity has a lane of its own, so that one option does not change what another draws.
3. A matrix takes a point of the target to the point of the picture, resized without a change, that
   is seen there. Points are (x, y) in target pixels, counted from the centre; the last column is in
   fractions of the target's width and height. So a matrix depends on no size, and a rotation is
   rigid in the pixels of the target.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.augment import FACTORS, Augment
from dfloader.philox import WORDS, uniforms
from dfloader.spec import ArraySpec

DRAW_STREAM = 3
CALL_STREAM = 4

# A colour row: 3x3 for the channels, then what to add.
LINEAR, GAIN, PIVOT, SHIFT, COLOUR_SIZE = slice(0, 9), 9, 10, 11, 12
MIX_SIZE = 5

# One number of [0, 1) each, a block of four on a line; the last two are drawn for batches only.
_LANES = (
    *("rotation", "shear", "zoom_x", "zoom_y"),
    *("shift_x", "shift_y", "flip_x", "flip_y"),
    *("crop_area", "crop_ratio", "crop_x", "crop_y"),
    *("brightness", "contrast", "saturation", "hue"),
    *("channel_shift", "erase", "erase_area", "erase_ratio"),
    *("erase_x", "erase_y", "", ""),
    *("mix_kind", "mix_power", "mix_angle", "mix_side"),
    *("mix_x", "mix_y", "mix_order", ""),
)
_BLOCKS = len(_LANES) // WORDS
_MIX_BLOCKS = 2
_ERASE_AREA = (0.02, 0.33)  # Zhong et al., "Random erasing data augmentation", 2017
_ERASE_RATIO = (0.3, 1 / 0.3)

# Luma of ITU-R 601 and the two colour axes of YIQ, whose rows sum to zero: grey has no colour.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])
LUMA = _YIQ[0]
_GREY = np.ones((3, 1)) * LUMA
_TURN = np.linalg.inv(_YIQ) @ np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]]) @ _YIQ

Floats = npt.NDArray[np.float64]


class Draws(NamedTuple):
    """What rows go through: arrays with a leading axis, or the `ArraySpec` of each; None: nothing.

    Attributes:
        crop: float64 (4,); part of the area, width / height in pixels of the picture, and where the
            crop lies between left and right, top and bottom, 0 to 1.
        matrix: float64 (2, 3), see above.
        colour: float64 (12,); see `LINEAR`, `GAIN`, `PIVOT`, `SHIFT`.
        erase: float64 (4,); top, left, bottom, right as fractions of the target.
        mix: float64 (5,); 1 for cutmix or 0 for mixup, the part of the row itself that stays, for
            cutmix where the box lies between left and right, top and bottom, 0 to 1; and the rank
            that decides the partner.
    """

    crop: Any = None
    matrix: Any = None
    colour: Any = None
    erase: Any = None
    mix: Any = None

    def row(self, i: int) -> "Draws":
        """Give the draw of row `i` alone."""
        return Draws(*(None if part is None else part[i] for part in self))


NOTHING = Draws()


def signature(augment: Augment) -> Draws:
    """Say which draws an `Augment` has, and their shapes without the rows."""
    return Draws(
        crop=ArraySpec((4,), "float64") if augment.crop_scale else None,
        matrix=ArraySpec((2, 3), "float64") if augment.warps or augment.flips else None,
        colour=ArraySpec((COLOUR_SIZE,), "float64") if augment.colours else None,
        erase=ArraySpec((4,), "float64") if augment.erase else None,
        mix=ArraySpec((MIX_SIZE,), "float64") if augment.mixes else None,
    )


def draw(augment: Augment, seed: int, epoch: int, rows: npt.NDArray[np.int64]) -> Draws:
    """Draw for each of `rows`."""
    key = (seed if augment.seed is None else augment.seed, epoch)
    blocks = _BLOCKS if augment.mixes else _BLOCKS - _MIX_BLOCKS
    numbers = uniforms(key, rows, blocks, DRAW_STREAM)
    lanes = dict(zip(_LANES, numbers.T, strict=False))
    wanted = signature(augment)
    drawn = {
        name: _DRAW[name](augment, lanes)
        for name, part in wanted._asdict().items()
        if part is not None
    }
    return Draws(**drawn)


def _crop(augment: Augment, lanes: dict[str, Floats]) -> Floats:
    assert augment.crop_scale is not None
    area = _between(lanes["crop_area"], augment.crop_scale)
    ratio = _log_between(lanes["crop_ratio"], augment.crop_ratio)
    return np.stack([area, ratio, lanes["crop_x"], lanes["crop_y"]], axis=1)


def _matrix(augment: Augment, lanes: dict[str, Floats]) -> Floats:
    """Compose target -> picture: first what is done to the picture last."""
    turn = np.deg2rad(_around(lanes["rotation"], augment.rotation))
    shear = np.deg2rad(_around(lanes["shear"], augment.shear))
    cos, sin = np.cos(turn), np.sin(turn)
    x = _between(lanes["zoom_x"], augment.zoom) * _sign(lanes["flip_x"], augment.flip_horizontal)
    y = _between(lanes["zoom_y"], augment.zoom) * _sign(lanes["flip_y"], augment.flip_vertical)
    rotation = _matrices([[cos, sin], [-sin, cos]])
    sheared = _matrices([[np.cos(shear) * x, 0 * y], [-np.sin(shear) * x, y]])
    height, width = augment.shift
    shift = np.stack([_around(lanes["shift_x"], width), _around(lanes["shift_y"], height)], axis=1)
    return np.concatenate([rotation @ sheared, shift[:, :, None]], axis=2)


def _colour(augment: Augment, lanes: dict[str, Floats]) -> Floats:
    """Build x -> brightness * (contrast * (chroma x) + (1 - contrast) * mean grey) + shift."""
    factor = {name: _between(lanes[name], augment.factors(name)) for name in FACTORS}
    hue = 2 * np.pi * _around(lanes["hue"], augment.hue)
    shift = _around(lanes["channel_shift"], augment.channel_shift)
    gain = factor["brightness"] * factor["contrast"]
    pivot = factor["brightness"] * (1 - factor["contrast"])
    cos, sin = (factor["saturation"] * part for part in (np.cos(hue), np.sin(hue)))
    chroma = _GREY + cos[:, None, None] * (np.eye(3) - _GREY) + sin[:, None, None] * _TURN
    linear = (gain[:, None, None] * chroma).reshape(-1, 9)
    return np.concatenate([linear, np.stack([gain, pivot, shift], axis=1)], axis=1)


def _erase(augment: Augment, lanes: dict[str, Floats]) -> Floats:
    area = _between(lanes["erase_area"], _ERASE_AREA) * (lanes["erase"] < augment.erase)
    ratio = _log_between(lanes["erase_ratio"], _ERASE_RATIO)
    width = np.minimum(np.maximum(np.sqrt(area * ratio), area), 1.0)
    height = np.divide(area, width, out=np.zeros_like(area), where=width > 0)
    left, top = lanes["erase_x"] * (1 - width), lanes["erase_y"] * (1 - height)
    return np.stack([top, left, top + height, left + width], axis=1)


def _mix(augment: Augment, lanes: dict[str, Floats]) -> Floats:
    """Draw the part that stays from Beta(alpha, alpha), by Devroye's formula for symmetric betas.

    L. Devroye, "Random variate generation in one line of code", 1996: exact, from a fixed number of
    uniforms, as rejection is not.
    """
    cut = (lanes["mix_kind"] < 0.5) if augment.mixup and augment.cutmix else bool(augment.cutmix)
    kind = np.broadcast_to(cut, lanes["mix_kind"].shape).astype(np.float64)
    alpha = np.where(kind == 1, augment.cutmix, augment.mixup)
    with np.errstate(over="ignore", divide="ignore"):
        spread = (1 - lanes["mix_power"]) ** (-1 / alpha) - 1
        width = 1 / np.sqrt(1 + 1 / (spread * np.cos(2 * np.pi * lanes["mix_angle"]) ** 2))
    part = 0.5 + 0.5 * width * _sign(lanes["mix_side"], True)
    rest = (lanes[name] for name in ("mix_x", "mix_y", "mix_order"))
    return np.stack([kind, part, *rest], axis=1)


_DRAW = {"crop": _crop, "matrix": _matrix, "colour": _colour, "erase": _erase, "mix": _mix}


def _between(lane: Floats, limits: tuple[float, float]) -> Floats:
    low, high = limits
    return low + lane * (high - low)


def _around(lane: Floats, limit: float) -> Floats:
    return (2 * lane - 1) * limit


def _log_between(lane: Floats, limits: tuple[float, float]) -> Floats:
    return np.exp(_between(lane, (float(np.log(limits[0])), float(np.log(limits[1])))))


def _sign(lane: Floats, wanted: bool) -> Floats:
    return np.where(lane < 0.5, -1.0, 1.0) if wanted else np.ones_like(lane)


def _matrices(rows: list[list[Floats]]) -> Floats:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

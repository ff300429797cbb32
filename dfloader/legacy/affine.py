"""The original's affine transform with OpenCV instead of scipy.

Contract:
1. Within 0.01 levels of ``scipy.ndimage.affine_transform(order=1)``, channel by channel, away from
   the border, and with scipy's rules there: ``constant`` does not blend with ``cval``.
2. `applies` says for what; the caller uses the original for the rest. (scipy's ``wrap`` repeats
   with a period one pixel short, which OpenCV does not.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.float32]
_BORDERS = {
    "nearest": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT,
    "constant": cv2.BORDER_REPLICATE,  # then `_fill`
}
_MOST_CHANNELS = 4
_LONGEST_SIDE = 2**15 - 1  # cv2.remap takes no larger one


@dataclass(frozen=True)
class Affine:
    """Where output pixel (i, j) comes from: row a*i + b*j + c, column d*i + e*j + f."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    def flipped(self, height: int, width: int, rows: bool, columns: bool) -> "Affine":
        """Reverse the rows or columns of the output."""
        a, b, c, d, e, f = self.a, self.b, self.c, self.d, self.e, self.f
        if rows:
            c, f, a, d = c + a * (height - 1), f + d * (height - 1), -a, -d
        if columns:
            c, f, b, e = c + b * (width - 1), f + e * (width - 1), -b, -e
        return Affine(a, b, c, d, e, f)


def applies(x: npt.NDArray[Any], fill_mode: str, order: int) -> bool:
    """Whether `warp` does what the original does to ``x`` (height, width, channels)."""
    return (
        x.dtype == np.float32
        and order == 1
        and fill_mode in _BORDERS
        and x.shape[2] <= _MOST_CHANNELS
        and max(x.shape) < _LONGEST_SIDE
    )


def affine(parameters: Mapping[str, Any], height: int, width: int, *, old: bool) -> Affine | None:
    """Build the transform of the original's parameters; None: nothing to do.

    It is rotation x shift x shear x zoom about a centre whose first coordinate is half the height.

    Args:
        old: as keras-preprocessing, whose first coordinate means rows and whose centre is a pixel
            beyond the middle. In Keras and tf_keras the first coordinate then means columns.
    """
    theta, shear = radians(parameters["theta"]), radians(parameters["shear"])
    tx, ty, zx, zy = (parameters[name] for name in ("tx", "ty", "zx", "zy"))
    if theta == tx == ty == shear == 0 and zx == zy == 1:
        return None
    a, b = cos(theta) * zx, (-cos(theta) * sin(shear) - sin(theta) * cos(shear)) * zy
    d, e = sin(theta) * zx, (cos(theta) * cos(shear) - sin(theta) * sin(shear)) * zy
    beyond = 0.5 if old else -0.5
    x, y = height / 2 + beyond, width / 2 + beyond
    c = x - a * x - b * y + cos(theta) * tx - sin(theta) * ty
    f = y - d * x - e * y + sin(theta) * tx + cos(theta) * ty
    return Affine(a, b, c, d, e, f) if old else Affine(e, d, f, b, a, c)


def warp(x: Pixels, transform: Affine, fill_mode: str, cval: float) -> Pixels:
    """Transform an image (height, width, channels) float32; the result has the same shape."""
    height, width, channels = x.shape
    rows, columns = np.arange(height)[:, None], np.arange(width)
    source_rows = transform.a * rows + (transform.b * columns + transform.c)
    source_columns = transform.d * rows + (transform.e * columns + transform.f)
    warped: Any = cv2.remap(
        x,
        source_columns.astype(np.float32),
        source_rows.astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=_BORDERS[fill_mode],
    )
    if fill_mode == "constant":
        warped[_outside(source_rows, height) | _outside(source_columns, width)] = cval
    image: Pixels = warped.reshape(height, width, channels)
    return image


def _outside(coordinates: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.bool_]:
    return (coordinates < 0) | (coordinates > size - 1)

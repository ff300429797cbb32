"""Rows -> where a point of each picture lies in its image: boxes and key points can follow.

Imports batch and what it builds on. The arithmetic is that of `view`, read the other way: a view
says where target pixels look, a point asks which target pixel looks at it.
"""

import numpy as np
import numpy.typing as npt

from dfloader.augmented import flips
from dfloader.batch import Loader
from dfloader.draws import NOTHING, Draws
from dfloader.errors import DecodeError
from dfloader.example import header_of
from dfloader.geometry import Placement
from dfloader.header import Header
from dfloader.rows import Rows, source_rows
from dfloader.view import View, see

Matrix = npt.NDArray[np.float64]  # (2, 3): its first two columns times (x, y), and the third added


def matrices_of(loader: Loader, epoch: int, rows: Rows) -> Matrix:
    """Give the matrix of each row, as it is in `epoch`, float64 (n, 2, 3).

    Padding has the matrix of the row that it repeats. With ``on_error="skip"`` a row whose file
    says no size has NaN throughout.

    Args:
        loader: of the rows.
        epoch: whose draws.
        rows: numbers of the plan.

    Raises:
        DecodeError: a file cannot be read, or its header cannot; names row and path.
    """
    draws = loader.draws(epoch, rows)
    own = enumerate(source_rows(rows).tolist())
    return np.array([_matrix(loader, row, draws.row(i)) for i, row in own]).reshape(-1, 2, 3)


def _matrix(loader: Loader, row: int, drawn: Draws) -> Matrix:
    try:
        header = header_of(loader.table, loader.image, row)
    except DecodeError:
        if loader.image.on_error == "raise":
            raise
        return np.full((2, 3), np.nan)
    return _composed(loader, header, drawn)


def _composed(loader: Loader, header: Header, drawn: Draws) -> Matrix:
    spec, augment = loader.image, loader.augment
    size = header.size(exif=spec.exif)
    if loader.cache is None:
        view = see(*size, spec, scaled=header.scalable, augment=augment, drawn=drawn)
        return _on(
            _to_target(view, drawn, spec.target_size or size), _to_decoded(header, view, spec.exif)
        )
    # The row is changed after it was kept, so it is seen twice.
    kept = see(*size, spec, scaled=header.scalable)
    assert spec.target_size is not None
    view = see(*spec.target_size, spec, scaled=False, augment=augment, drawn=drawn)
    first = _on(_to_target(kept, NOTHING, spec.target_size), _to_decoded(header, kept, spec.exif))
    return _on(_to_target(view, drawn, spec.target_size), first)


def _to_decoded(header: Header, view: View, exif: bool) -> Matrix:
    """Give the way from the picture at full size to the picture decoded at 1/k.

    Where k does not divide a side, the decoded one has a part of a pixel too much: at the end as it
    is stored, which is the start where EXIF turns it round.
    """
    height, width = header.size(exif=exif)
    placed, k = view.placement, view.placement.scale
    _, flip_rows, flip_columns = header.flags(exif=exif)
    return np.array(
        [
            [1 / k, 0, flip_columns * (placed.width - width / k)],
            [0, 1 / k, flip_rows * (placed.height - height / k)],
        ]
    )


def _to_target(view: View, drawn: Draws, size: tuple[int, int]) -> Matrix:
    """Give the way from the decoded picture to the target of `size` (height, width)."""
    if view.x is None or view.y is None:
        return _on(_mirrored(drawn, size), _placed(view.placement))
    window, (x, y) = view.placement.window, (view.x, view.y)
    # The middle of target pixel (i, j), which looks at a i + b j + c, is at (i + 1/2, j + 1/2).
    linear = np.array([[x.a, x.b], [y.a, y.b]])
    start = np.array([window.left + x.c, window.top + y.c]) - linear @ (0.5, 0.5)
    back = np.linalg.inv(linear)
    return np.column_stack([back, -back @ start])


def _placed(placed: Placement) -> Matrix:
    window, target = placed.window, placed.target
    x, y = target.width / window.width, target.height / window.height
    return np.array([[x, 0, target.left - x * window.left], [0, y, target.top - y * window.top]])


def _mirrored(drawn: Draws, size: tuple[int, int]) -> Matrix:
    down, across = flips(drawn)
    height, width = size
    return np.array(
        [
            [-1.0 if across else 1.0, 0, width if across else 0],
            [0, -1.0 if down else 1.0, height if down else 0],
        ]
    )


def _on(second: Matrix, first: Matrix) -> Matrix:
    """Compose: first `first`, then `second`."""
    composed: Matrix = second @ np.vstack([first, (0, 0, 1)])
    return composed

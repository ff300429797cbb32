"""mixup and cutmix: rows of a batch with others of it. Imports augment, table, view and NumPy.

1. The partner of a row is another of its batch, by a permutation: rows in the order of their drawn
   ranks. A row may be its own partner.
2. What stays of a row is its share; labels and weights are mixed by it. For cutmix it is the part
   of the picture that the box leaves, counted in whole pixels.
3. mixup (Zhang et al., 2018) blends pictures; cutmix (Yun et al., 2019) pastes a box, of which no
   part lies outside.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.augment import Augment
from dfloader.table import Columns
from dfloader.view import ARRAYS, Numbers, corners


def check_mixes(augment: Augment, y: Any, *, masks: bool) -> None:
    """Check that what an `Augment` mixes can be mixed.

    Args:
        augment: as it was said.
        y: `ArraySpec` of the target, or a dict of them, or None.
        masks: there are masks.

    Raises:
        ValueError: it cannot.
    """
    name = "mixup" if augment.mixup else "cutmix"
    if augment.mixup and masks:
        raise ValueError(
            f"mixup={augment.mixup!r}: masks hold classes, which cannot be blended. Use cutmix."
        )
    outputs = y if isinstance(y, dict) else {} if y is None else {"y": y}
    whole = [output for output, spec in outputs.items() if not spec.dtype.startswith("float")]
    if augment.mixes and whole:
        raise ValueError(
            f"{name} mixes labels, and {', '.join(whole)} holds whole numbers. "
            "Say class_mode='categorical', or give floats."
        )


class Mixing(NamedTuple):
    """How the rows of a batch are mixed; arrays or tensors.

    Attributes:
        partner: int64 (n,), positions in the batch.
        share: float64 (n,), what stays of a row.
        box: top, left, bottom, right of what is pasted, int64 (n,) each; empty for mixup.
        cut: bool (n,), whether it is cutmix.
    """

    partner: Any
    share: Any
    box: tuple[Any, Any, Any, Any]
    cut: Any


def mixing(drawn: Any, partner: Any, height: Any, width: Any, numbers: Numbers) -> Mixing:
    """Say how a batch is mixed.

    Args:
        drawn: `Draws.mix` of its rows.
        partner: the positions in the order of the drawn ranks.
        height: of the pictures.
        width: likewise.
        numbers: of the engine.
    """
    kind, part, x, y = (drawn[:, i] for i in range(4))
    side = (1 - part) ** 0.5 * kind
    top, left = y * (1 - side), x * (1 - side)
    box = corners((top, left, top + side, left + side), height, width, numbers)
    pasted = numbers.real((box[2] - box[0]) * (box[3] - box[1]))
    whole = numbers.real(height) * numbers.real(width)
    return Mixing(partner, kind * (1 - pasted / whole) + (1 - kind) * part, box, kind == 1)


def mixing_of(drawn: npt.NDArray[np.float64], height: int, width: int) -> Mixing:
    """Say how a batch is mixed, in NumPy."""
    return mixing(drawn, np.argsort(drawn[:, 4], kind="stable"), height, width, ARRAYS)


def mix_images(images: npt.NDArray[Any], mixed: Mixing) -> None:
    """Mix pictures (n, h, w, c) in place; integers are rounded once."""
    others = images[mixed.partner]
    for i, (share, cut, *box) in enumerate(zip(mixed.share, mixed.cut, *mixed.box, strict=True)):
        if cut:
            top, left, bottom, right = box
            images[i, top:bottom, left:right] = others[i, top:bottom, left:right]
        else:
            values = blended(images[i].astype(np.float32), others[i], np.float32(share))
            images[i] = values if images.dtype == np.float32 else np.rint(values)


def mix_masks(masks: npt.NDArray[np.uint8], mixed: Mixing) -> None:
    """Paste the boxes of masks (n, h, w, 1) in place; mixup is not for masks."""
    others = masks[mixed.partner]
    for i, (top, left, bottom, right) in enumerate(zip(*mixed.box, strict=True)):
        masks[i, top:bottom, left:right] = others[i, top:bottom, left:right]


def mix_columns(columns: Columns, mixed: Mixing) -> Columns:
    """Mix y and weights: nested dicts of float arrays (n, ...)."""
    share = mixed.share.astype(np.float32)
    return columns._replace(
        y=_each(columns.y, share, mixed.partner), w=_each(columns.w, share, mixed.partner)
    )


def blended(values: Any, others: Any, share: Any) -> Any:
    """Give share * values + (1 - share) * others; `share` has the leading axes of `values`."""
    share = share[(..., *[None] * (len(values.shape) - len(share.shape)))]
    return values * share + others * (1 - share)


def _each(tree: Any, share: npt.NDArray[np.float32], partner: npt.NDArray[np.int64]) -> Any:
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {name: _each(part, share, partner) for name, part in tree.items()}
    return blended(tree, tree[partner], share)

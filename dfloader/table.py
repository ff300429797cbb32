"""The frame resolved once into plain NumPy. Imports spec, source, labels and NumPy; never pandas.

A worker process holds this and nothing of the frame.

1. Row i of a table is the frame's i-th row, whatever was dropped: `Table.kept` says which rows take
   part, and only the plan reads it.
2. Rows are asked for by the numbers of a plan (see rows).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.labels import LabelEncoder
from dfloader.rows import Rows, source_rows
from dfloader.source import Source
from dfloader.spec import ArraySpec, ClassMode

Weights = npt.NDArray[np.float32] | Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Target:
    """One encoded target.

    Attributes:
        mode: how `data` becomes y.
        data: class numbers int32 for the class modes, -1 in rows that are not kept; numbers
            (n, ...) for ``raw``.
        encoder: the classes; None for ``raw``.
        offsets: int64 (n + 1,) for ``multilabel``, whose row i has the classes
            ``data[offsets[i]:offsets[i + 1]]``; else None.
    """

    mode: ClassMode
    data: npt.NDArray[Any]
    encoder: LabelEncoder | None
    offsets: npt.NDArray[np.int64] | None = None

    def take(self, rows: Rows) -> npt.NDArray[Any]:
        """Give y of `rows`, as `signature` says."""
        if self.offsets is not None:
            return self._multi_hot(self.offsets[rows], self.offsets[rows + 1])
        values: npt.NDArray[Any] = self.data[rows]
        if self.mode == "categorical":
            values = values[:, None] == np.arange(self.classes)
        return values.astype(self.signature().dtype)

    def signature(self) -> ArraySpec:
        if self.mode in ("categorical", "multilabel"):
            return ArraySpec((self.classes,), "float32")
        dtypes = {"sparse": "int32", "binary": "float32", "raw": self.data.dtype.name}
        return ArraySpec(self.data.shape[1:], dtypes[self.mode])

    @property
    def classes(self) -> int:
        return len(self.encoder or ())

    def _multi_hot(self, starts: Rows, stops: Rows) -> npt.NDArray[np.float32]:
        out = np.zeros((len(starts), self.classes), np.float32)
        for line, start, stop in zip(out, starts.tolist(), stops.tolist(), strict=True):
            line[self.data[start:stop]] = 1
        return out


class Columns(NamedTuple):
    """What a batch takes from the frame besides pixels: arrays, or the `ArraySpec` of each.

    Attributes:
        y: the target; a dict with one for each output; None: there is none.
        w: sample weights float32 (n,); a dict with one for each output; None: all 1.
        extra: further inputs by name, float32 (n, k); None: x is the image alone.
    """

    y: Any = None
    w: Any = None
    extra: Any = None

    def weighed(self, factor: Any) -> "Columns":
        """Multiply the weights by `factor` (n,); nothing to do where there are none."""
        if isinstance(self.w, Mapping):
            return self._replace(w={name: part * factor for name, part in self.w.items()})
        return self if self.w is None else self._replace(w=self.w * factor)


@dataclass(frozen=True)
class Table:
    """The columns of a frame that a loader needs.

    Attributes:
        images: each row's image.
        target: y; a dict of them for several outputs; None for ``class_mode=None`` or "input".
        y_is_x: y is x itself (``class_mode="input"``).
        masks: each row's mask, or None.
        weights: float32 (n,), or a dict of them for each output; None: all 1.
        extra: further inputs by name, float32 (n, k).
        kept: int64 positions of the rows that take part; None: all.
        chances: float64, for each kept row how likely a draw takes it; None: each row once.
    """

    images: Source
    target: Target | Mapping[str, Target] | None = None
    y_is_x: bool = False
    masks: Source | None = None
    weights: Weights | None = None
    extra: Mapping[str, npt.NDArray[np.float32]] | None = None
    kept: Rows | None = None
    chances: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.images)

    @property
    def has_y(self) -> bool:
        return self.target is not None or self.y_is_x or self.masks is not None

    @property
    def encoder(self) -> LabelEncoder | dict[str, LabelEncoder] | None:
        """The classes; a dict for those outputs that have any, where outputs are several."""
        if isinstance(self.target, Mapping):
            return {name: t.encoder for name, t in self.target.items() if t.encoder is not None}
        return None if self.target is None else self.target.encoder

    @property
    def class_mode(self) -> Any:
        """How y is made; a dict where outputs are several."""
        if self.y_is_x:
            return "input"
        return _each(self.target, lambda target: target.mode)

    def take(self, rows: Rows) -> Columns:
        """Give the columns of `rows`, as `signature` says; padding has weight 0."""
        own = source_rows(rows)
        taken = Columns(
            _each(self.target, lambda target: target.take(own)),
            _each(self.weights, lambda weights: weights[own]),
            _each(self.extra, lambda values: values[own]),
        )
        return taken.weighed((rows >= 0).astype(np.float32)) if (rows < 0).any() else taken

    def signature(self) -> Columns:
        return Columns(
            _each(self.target, Target.signature),
            _each(self.weights, lambda _: ArraySpec((), "float32")),
            _each(self.extra, lambda values: ArraySpec(values.shape[1:], "float32")),
        )

    def weighed(self) -> "Table":
        """Give the same table with weights, all 1 where there were none."""
        if self.weights is not None or not self.has_y:
            return self
        return replace(self, weights=np.ones(len(self), np.float32))


def _each(tree: Any, function: Any) -> Any:
    """Apply `function` to None's nothing, to one value, or to each of a dict."""
    if isinstance(tree, Mapping):
        return {name: function(part) for name, part in tree.items()}
    return None if tree is None else function(tree)

"""Weight columns, class weights and sampling chances."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.columns import bad_rows, by_output, present, scalars
from dfloader.errors import DataFrameError
from dfloader.labels import plain
from dfloader.spec import FrameSpec
from dfloader.table import Target, Weights

Kept = npt.NDArray[np.bool_] | None


def read_weights(df: pd.DataFrame, spec: FrameSpec, target: Any, kept: Kept) -> Weights | None:
    """Multiply the weight column and the class weights; None where neither is said.

    Raises:
        DataFrameError: a weight is missing, negative or no number; a class is unknown.
    """
    if spec.weight_col is None and spec.class_weight is None:
        return None
    outputs = _outputs(spec, target)
    if not outputs:
        raise DataFrameError(
            "class_mode=None has no y, and weights weigh y.",
            hint="Leave weight_col and class_weight out.",
        )
    if isinstance(target, Mapping) and isinstance(spec.class_weight, Mapping):
        by_class = by_output(spec.class_weight, tuple(outputs), "class_weight")
    else:
        by_class = dict.fromkeys(outputs, spec.class_weight)
    columns = by_output(spec.weight_col, tuple(outputs), "weight_col")
    weights: dict[str, npt.NDArray[np.float32]] = {
        name: _from_column(df, columns[name], "weight_col")
        * _of_classes(name, each, by_class[name], kept)
        for name, each in outputs.items()
    }
    return weights if len(weights) > 1 else weights.popitem()[1]


def read_chances(
    df: Any, spec: FrameSpec, target: Any, kept: Kept
) -> npt.NDArray[np.float64] | None:
    """Give how likely each kept row is drawn: from a column, or all classes alike.

    Raises:
        DataFrameError: there is no such column, its values cannot be used, or there are no classes.
    """
    if spec.sampler is None:
        return None
    if spec.sampler == "balanced":
        values = _balanced_chances(target, kept)
    else:
        values = _non_negative(df, present(df, spec.sampler, "sampler"), "sampler")
        values = values if kept is None else values[kept]
    if not values.any():
        raise DataFrameError(
            f"sampler={spec.sampler!r}: all chances are 0.",
            column=spec.sampler,
            hint="Give some rows a number above 0.",
        )
    return values


def _outputs(spec: FrameSpec, target: Any) -> dict[str, Target | None]:
    """Name the outputs as `assemble` does, each with the target whose classes it has."""
    if isinstance(target, Mapping):
        named: dict[str, Target | None] = dict(target)
    else:
        named = {} if spec.class_mode is None else {"label": target}
    return named if spec.mask_col is None else {**named, "mask": None}


def _from_column(df: pd.DataFrame, column: Any, keyword: str) -> npt.NDArray[np.float32]:
    if column is None:
        return np.ones(len(df), np.float32)
    return _non_negative(df, present(df, column, keyword), keyword).astype(np.float32)


def _non_negative(df: pd.DataFrame, column: Any, keyword: str) -> npt.NDArray[np.float64]:
    values = scalars(df, column, keyword)
    bad = np.flatnonzero((values < 0) | ~np.isfinite(values))
    if len(bad):
        what = "has {n} values that are negative or infinite"
        raise bad_rows(df, column, bad, what, f"{keyword} takes 0 or more.")
    return values.astype(np.float64)


def _of_classes(name: str, target: Target | None, given: Any, kept: Kept) -> Any:
    """Give each row's class weight, float32 (n,); 1 where none is said or there are no classes."""
    if given is None or (name == "mask" and target is None):
        return np.float32(1)
    if target is None or target.encoder is None or target.offsets is not None:
        raise DataFrameError(
            f"class_weight={given!r} needs one class a row, and output {name!r} has none.",
            hint="Use weight_col, or a dict {output: class_weight} for several outputs.",
        )
    return _by_class(target, given, kept)[target.data]


def _by_class(target: Target, given: Any, kept: Kept) -> npt.NDArray[np.float32]:
    assert target.encoder is not None
    if isinstance(given, str) and given == "balanced":
        counts = _counts(target, kept)
        there = np.count_nonzero(counts)
        balanced = counts.sum() / (there * np.maximum(counts, 1))
        return balanced.astype(np.float32)  # type: ignore[no-any-return]
    if not isinstance(given, Mapping):
        raise DataFrameError(
            f"class_weight={given!r} is not 'balanced' or a dict {{class: weight}}."
        )
    known = target.encoder.class_indices
    out = np.ones(len(known), np.float32)
    for label, weight in given.items():
        if plain(label) not in known:
            raise DataFrameError(
                f"class_weight names {label!r}, which is no class. Classes: {list(known)[:10]}.",
                hint="Its keys are class names, not their numbers.",
            )
        if not isinstance(weight, (int, float, np.number)) or not 0 <= weight < float("inf"):
            raise DataFrameError(f"class_weight: {weight!r} of class {label!r} is not 0 or more.")
        out[known[plain(label)]] = weight
    return out


def _balanced_chances(target: Any, kept: Kept) -> npt.NDArray[np.float64]:
    if not isinstance(target, Target) or target.encoder is None or target.offsets is not None:
        raise DataFrameError(
            "sampler='balanced' needs one class a row.",
            hint="Name a column of chances instead: sampler='column'.",
        )
    values = target.data if kept is None else target.data[kept]
    chances: npt.NDArray[np.float64] = 1.0 / _counts(target, kept)[values]
    return chances


def _counts(target: Target, kept: Kept) -> npt.NDArray[np.int64]:
    values = target.data if kept is None else target.data[kept]
    return np.bincount(values, minlength=target.classes)

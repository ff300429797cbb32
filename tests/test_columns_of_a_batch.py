"""The seam between frame and batch: what `take`, `signature` and `assemble` hand over."""

import numpy as np
import pandas as pd
import pytest

from dfloader.batch import assemble, prepare
from dfloader.frame import resolve
from dfloader.spec import parse
from dfloader.table import Columns, Table


def table_of(df: pd.DataFrame, **spec: object) -> Table:
    said = parse(4, {"validate": False, **spec}, fresh_seed=1)
    return prepare(resolve(df, said.frame), said).table


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "filename": [f"{i}.png" for i in range(6)],
            "class": list("abcabc"),
            "w": [0.5, 1, 2, 0, 1, 1],
            "age": range(6),
        }
    )


SPECS = [
    {},
    {"class_mode": "sparse", "weight_col": "w"},
    {"class_mode": "raw", "y_col": ["age", "w"]},
    {"class_mode": "multilabel"},
    {"class_mode": {"class": "categorical", "age": "raw"}, "class_weight": {"class": "balanced"}},
    {"class_mode": None, "extra_cols": {"meta": ["age", "w"]}},
]


@pytest.mark.parametrize("spec", SPECS)
def test_signature_says_the_shapes_and_dtypes_that_take_gives(
    frame: pd.DataFrame, spec: dict[str, object]
) -> None:
    table = table_of(frame, **spec)
    rows = np.array([4, 0, ~2])

    def described(values: object) -> object:
        if isinstance(values, dict):
            return {name: described(part) for name, part in values.items()}
        return None if values is None else (values.shape[1:], values.dtype.name)  # type: ignore[attr-defined]

    def declared(spec: object) -> object:
        if isinstance(spec, dict):
            return {name: declared(part) for name, part in spec.items()}
        return None if spec is None else tuple(spec)  # type: ignore[arg-type]

    taken, said = table.take(rows), table.signature()
    assert [described(part) for part in taken] == [declared(part) for part in said]


def test_padding_has_its_rows_values_and_weight_zero(frame: pd.DataFrame) -> None:
    columns = table_of(frame, class_mode="sparse", weight_col="w").take(np.array([2, ~2]))
    assert columns.y.tolist() == [2, 2]
    assert columns.w.tolist() == [2, 0]


def test_weights_get_the_axes_that_a_loss_leaves_of_y() -> None:
    image, w = np.zeros((2, 4, 4, 3)), np.ones(2, np.float32)
    (_, _, weights) = assemble(image, Columns(w=w), y_is_x=True)
    assert weights.shape == (2, 1, 1)
    (_, _, weights) = assemble(image, Columns(np.zeros((2, 5)), w))
    assert weights.shape == (2,)


def test_mask_joins_labels_by_name() -> None:
    image, mask, w = np.zeros((2, 4, 4, 3)), np.zeros((2, 4, 4, 1), np.uint8), np.ones(2)
    assert assemble(image, Columns(), mask=mask)[1] is mask
    _, y = assemble(image, Columns(np.zeros(2)), mask=mask)
    assert list(y) == ["label", "mask"]
    _, y, weights = assemble(image, Columns({"a": np.zeros(2)}, w), mask=mask)
    assert list(y) == ["a", "mask"]
    assert {name: part.shape for name, part in weights.items()} == {"a": (2,), "mask": (2, 1, 1)}


def test_extra_columns_make_x_a_dict(frame: pd.DataFrame) -> None:
    columns = table_of(frame, extra_cols={"meta": ["age", "w"]}).take(np.array([2, 0]))
    x, _ = assemble(np.zeros((2, 4, 4, 3)), columns)
    assert list(x) == ["image", "meta"]
    assert x["meta"].tolist() == [[2, 2], [0, 0.5]]

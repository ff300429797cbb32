"""Weight columns, class weights, sampling chances."""

import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameError
from dfloader.frame import resolve
from dfloader.spec import FrameSpec
from dfloader.table import Table


def table_of(df: pd.DataFrame, **spec: object) -> Table:
    return resolve(df, FrameSpec(validate=False, **spec))  # type: ignore[arg-type]


def weights_of(df: pd.DataFrame, **spec: object) -> object:
    table = table_of(df, **spec)
    w = table.take(np.arange(len(table))).w
    if isinstance(w, dict):
        return {name: part.tolist() for name, part in w.items()}
    return None if w is None else w.tolist()


@pytest.fixture
def df() -> pd.DataFrame:
    """Nine of class n and one of class y."""
    return pd.DataFrame(
        {
            "filename": [f"{i}.png" for i in range(10)],
            "class": ["n"] * 9 + ["y"],
            "size": range(10),
            "w": [0, 0.5] + [1] * 7 + [2],
        }
    )


def test_weight_column_is_float32_as_it_stands(df: pd.DataFrame) -> None:
    table = table_of(df, weight_col="w")
    w = table.take(np.array([0, 1, 9])).w
    assert (w.tolist(), w.dtype) == ([0, 0.5, 2], np.float32)
    assert weights_of(df) is None


def test_u041_balanced_class_weights_give_each_class_the_same_sum(df: pd.DataFrame) -> None:
    assert weights_of(df, class_weight="balanced") == pytest.approx([10 / 18] * 9 + [5])


def test_u047_class_weights_multiply_the_weight_column(df: pd.DataFrame) -> None:
    weights = weights_of(df, weight_col="w", class_weight={"y": 3, "n": 2})
    assert weights == [0, 1] + [2] * 7 + [6]


def test_classes_without_a_weight_weigh_one(df: pd.DataFrame) -> None:
    assert weights_of(df, class_weight={"y": 3}) == [1] * 9 + [3]


def test_balanced_weights_do_not_count_dropped_rows_and_absent_classes(df: pd.DataFrame) -> None:
    df.loc[0, "class"] = "other"
    spec = {"classes": ["n", "y", "z"], "unknown": "drop", "class_weight": "balanced"}
    assert weights_of(df, **spec)[1:] == pytest.approx([9 / 16] * 8 + [4.5])  # type: ignore[index]


def test_u044_u048_each_output_has_its_own_weights(df: pd.DataFrame) -> None:
    weights = weights_of(
        df,
        class_mode={"class": "sparse", "size": "raw"},
        weight_col={"size": "w"},
        class_weight={"class": {"y": 3}},
    )
    assert weights == {"class": [1.0] * 9 + [3], "size": df["w"].tolist()}


def test_one_weight_column_is_that_of_every_output(df: pd.DataFrame) -> None:
    weights = weights_of(df, class_mode={"class": "sparse", "size": "raw"}, weight_col="w")
    assert weights == {"class": df["w"].tolist(), "size": df["w"].tolist()}


def test_class_weights_beside_a_mask_weigh_the_label_only(df: pd.DataFrame) -> None:
    df["m"] = df["filename"]
    weights = weights_of(df, mask_col="m", class_weight={"y": 3})
    assert weights == {"label": [1.0] * 9 + [3], "mask": [1.0] * 10}
    assert weights_of(df, class_mode=None, mask_col="m", weight_col="w") == df["w"].tolist()


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([1, -1], r"Column 'w' has 1 values that are negative or infinite \(row 1\)"),
        ([1, np.inf], "negative or infinite"),
        ([1, np.nan], r"Column 'w' has a missing value \(row 1\)"),
        (["1", "2"], "weight_col takes numbers"),
        ([[1], [2]], "weight_col takes one number a row"),
    ],
)
def test_weights_that_cannot_be_used_name_column_and_row(values: list[object], match: str) -> None:
    df = pd.DataFrame({"filename": ["a", "b"], "class": ["x", "y"], "w": values})
    with pytest.raises(DataFrameError, match=match) as caught:
        table_of(df, weight_col="w")
    assert caught.value.column == "w"


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ({"class_weight": {0: 1, 1: 2}}, "names 0, which is no class.*keys are class names"),
        ({"class_weight": "auto"}, "class_weight='auto' is not 'balanced' or a dict"),
        ({"class_weight": {"n": -1}}, "-1 of class 'n' is not 0 or more"),
        ({"class_weight": {"n": "2"}}, "'2' of class 'n' is not 0 or more"),
        ({"class_weight": {"n": float("nan")}}, "nan of class 'n' is not 0 or more"),
        ({"class_weight": "balanced", "class_mode": "raw", "y_col": "size"}, "one class a row"),
        ({"class_weight": "balanced", "class_mode": "multilabel"}, "one class a row"),
        ({"class_weight": "balanced", "class_mode": "input"}, "one class a row"),
        ({"weight_col": "w", "class_mode": None}, "class_mode=None has no y"),
        ({"weight_col": {"nope": "w"}}, "weight_col names 'nope', which is no output"),
    ],
)
def test_weights_that_mean_nothing_are_refused(
    df: pd.DataFrame, spec: dict[str, object], match: str
) -> None:
    with pytest.raises(DataFrameError, match=match):
        table_of(df, **spec)


def test_u039_repeated_rows_stay_repeated(df: pd.DataFrame) -> None:
    oversampled = pd.concat([df, df[df["class"] == "y"].loc[lambda d: d.index.repeat(5)]])
    table = table_of(oversampled, class_mode="sparse")
    assert len(table) == 15
    assert table.take(np.arange(15)).y.tolist() == [0] * 9 + [1] * 6


def test_balanced_chances_are_the_same_sum_for_each_class(df: pd.DataFrame) -> None:
    chances = table_of(df, sampler="balanced").chances
    assert chances is not None
    assert chances[:9].sum() == pytest.approx(chances[9:].sum())


def test_chances_of_a_column_leave_dropped_rows_out(df: pd.DataFrame) -> None:
    table = table_of(df, sampler="w", classes=["y"], unknown="drop", class_mode="sparse")
    assert table.chances is not None
    assert table.chances.tolist() == [2]


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ({"sampler": "balanced", "class_mode": "raw", "y_col": "size"}, "one class a row"),
        ({"sampler": "balanced", "class_mode": None}, "one class a row"),
        ({"sampler": "zero"}, "all chances are 0"),
        ({"sampler": "negative"}, "negative or infinite"),
    ],
)
def test_samplers_that_cannot_draw_are_refused(
    df: pd.DataFrame, spec: dict[str, object], match: str
) -> None:
    with pytest.raises(DataFrameError, match=match):
        table_of(df.assign(zero=0, negative=-1), **spec)

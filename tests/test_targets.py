"""Label columns to y: every class mode and every kind of column."""

import logging

import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameError, LabelEncoder
from dfloader.frame import resolve
from dfloader.spec import FrameSpec
from dfloader.table import Table


def table_of(labels: object, name: str = "class", **spec: object) -> Table:
    column = labels if isinstance(labels, pd.Series) else pd.Series(labels)
    names = [f"{i}.png" for i in range(len(column))]
    return of_frame(
        pd.DataFrame(
            {
                "filename": names,
                name: column.to_numpy(copy=True) if column.dtype == object else column,
            }
        ),
        **spec,
    )


def of_frame(df: pd.DataFrame, **spec: object) -> Table:
    return resolve(df, FrameSpec(validate=False, **spec))  # type: ignore[arg-type]


def y_of(table: Table) -> object:
    return table.take(np.arange(len(table))).y


def frame(**columns: object) -> pd.DataFrame:
    n = len(next(iter(columns.values())))  # type: ignore[arg-type]
    return pd.DataFrame({"filename": [f"{i}.png" for i in range(n)], **columns})


# One label a row


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series([0, 1, 0]), (0, 1)),
        (pd.Series([False, True, False]), (False, True)),
        (pd.Series(["no", "yes", "no"]), ("no", "yes")),
        (pd.Series(["no", "yes", "no"], dtype=object), ("no", "yes")),
        (pd.Series(["no", "yes", "no"], dtype="string"), ("no", "yes")),
        (pd.Series(["no", "yes", "no"], dtype="category"), ("no", "yes")),
        (pd.Series([0, 1, 0], dtype="Int64"), (0, 1)),
        (pd.Series([False, True, False], dtype="boolean"), (False, True)),
        (pd.Series([0, 1, 0], dtype="int64[pyarrow]"), (0, 1)),
        (pd.Series(["no", "yes", "no"], dtype="string[pyarrow]"), ("no", "yes")),
    ],
)
def test_u001_labels_of_any_type_are_classes(labels: pd.Series, classes: tuple[object]) -> None:
    table = table_of(labels, class_mode="binary")
    assert y_of(table).tolist() == [0.0, 1.0, 0.0]
    assert y_of(table).dtype == np.float32
    assert table.encoder.class_names == classes
    assert list(map(type, table.encoder.class_names)) == list(map(type, classes))


def test_u002_sparse_is_int32_and_categorical_one_hot_float32() -> None:
    sparse = y_of(table_of(["b", "a", "c"], class_mode="sparse"))
    assert (sparse.tolist(), sparse.dtype) == ([1, 0, 2], np.int32)
    one_hot = y_of(table_of(["b", "a", "c"]))
    assert one_hot.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert one_hot.dtype == np.float32


def test_u004_a_missing_label_is_no_class() -> None:
    with pytest.raises(DataFrameError, match=r"has a missing value.*row 1") as caught:
        table_of([0, np.nan, 3], class_mode="sparse")
    assert (caught.value.column, caught.value.rows) == ("class", (1,))


def test_u005_user_class_order_wins() -> None:
    table = table_of(["a", "b", "a"], classes=["b", "a"], class_mode="binary")
    assert table.encoder.class_indices == {"b": 0, "a": 1}
    assert y_of(table).tolist() == [1, 0, 1]


def test_u006_a_label_outside_classes_is_an_error_with_counts() -> None:
    with pytest.raises(DataFrameError, match=r"'a' \(3 rows\), 'd' \(1 rows\)") as caught:
        table_of(list("aabcad"), classes=["b", "c"])
    assert caught.value.rows == (0, 1, 4, 5)


def test_u006_unknown_drop_takes_the_rows_out_and_says_how_many(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "dfloader"):
        table = table_of(list("aabcad"), classes=["b", "c"], unknown="drop")
    assert table.kept.tolist() == [2, 3]
    assert "4 of 6 rows dropped" in caplog.text
    assert "'a': 3" in caplog.text
    assert y_of(table)[table.kept].tolist() == [[1, 0], [0, 1]]


def test_u006_unknown_drop_that_leaves_no_row_is_an_error() -> None:
    with pytest.raises(DataFrameError, match="No row has a label that is in classes"):
        table_of([1, 2], classes=["1", "2"], unknown="drop")


def test_u007_a_fitted_encoder_gives_both_frames_the_same_numbers() -> None:
    train = table_of(["cat", "dog", "emu"], class_mode="sparse")
    validation = table_of(["emu", "dog"], class_mode="sparse", classes=train.encoder)
    assert y_of(validation).tolist() == [2, 1]
    assert validation.encoder == train.encoder


def test_u008_classes_do_not_depend_on_which_files_exist(tmp_path: object) -> None:
    df = frame(**{"class": ["a", "b", "c"]})
    assert of_frame(df, directory=tmp_path).encoder.class_indices == {"a": 0, "b": 1, "c": 2}


def test_u009_number_labels_are_in_numeric_order() -> None:
    assert table_of([10, 9, 2]).encoder.class_names == (2, 9, 10)
    assert table_of(["10", "9", "2"]).encoder.class_names == ("10", "2", "9")


def test_a_categorical_keeps_its_order_and_its_unobserved_categories() -> None:
    labels = pd.Series(pd.Categorical(["s", "l", "s"], categories=["s", "m", "l"]))
    table = table_of(labels, class_mode="sparse")
    assert table.encoder.class_names == ("s", "m", "l")
    assert y_of(table).tolist() == [0, 2, 0]


def test_binary_needs_exactly_two_classes() -> None:
    with pytest.raises(DataFrameError, match="exactly two classes; column 'class' has 3"):
        table_of(["a", "b", "c"], class_mode="binary")
    with pytest.raises(DataFrameError, match="exactly two classes; column 'class' has 1"):
        table_of(["a", "a"], class_mode="binary")
    assert y_of(table_of(["a", "a"], classes=["a", "b"], class_mode="binary")).tolist() == [0, 0]


def test_a_class_with_one_row_is_a_class() -> None:
    assert table_of(["a", "a", "b"]).encoder.class_names == ("a", "b")


def test_lists_in_a_column_of_classes_name_the_mode_for_them() -> None:
    with pytest.raises(DataFrameError, match=r"1 cells that are lists \(row 1\).*multilabel"):
        table_of(["a", ["a", "b"]])


def test_cells_that_cannot_be_labels_name_their_rows() -> None:
    with pytest.raises(DataFrameError, match=r"2 cells that are lists \(rows 0, 2\)"):
        table_of(pd.Series([{"a": 1}, "b", np.zeros(2)], dtype=object))


def test_arrow_lists_are_labels_of_a_row() -> None:
    import pyarrow as pa

    labels = pd.Series([["a"], ["a", "b"]], dtype=pd.ArrowDtype(pa.list_(pa.string())))
    assert y_of(table_of(labels, class_mode="multilabel")).tolist() == [[1, 0], [1, 1]]
    with pytest.raises(DataFrameError, match=r"2 cells that are lists \(rows 0, 1\)"):
        table_of(labels)


def test_labels_without_an_order_need_one() -> None:
    with pytest.raises(
        DataFrameError, match="Column 'class': Labels of type complex have no order"
    ):
        table_of(pd.Series([1j, 2j], dtype=object))
    assert y_of(table_of([1j, 2j], classes=[2j, 1j], class_mode="sparse")).tolist() == [1, 0]


def test_labels_of_several_kinds_name_the_column() -> None:
    with pytest.raises(DataFrameError, match="Column 'class': Labels are of several kinds"):
        table_of(pd.Series(["a", 1], dtype=object))


def test_u012_a_separator_inside_a_class_name_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "dfloader"):
        table_of(["a,b", "a", "b"])
    assert "'a,b' is taken as one class" in caplog.text
    assert "label_sep=','" in caplog.text


# Several labels a row


@pytest.mark.parametrize(
    "cells",
    [
        ["dog", ["dog", "cat"], ("cat",), set()],
        [np.array(["dog"]), frozenset({"cat", "dog"}), ["cat", "cat"], []],
    ],
)
def test_u011_multilabel_cells_of_any_kind(cells: list[object]) -> None:
    table = table_of(pd.Series(cells, dtype=object), class_mode="multilabel")
    assert table.encoder == LabelEncoder(("cat", "dog"), multi=True)
    assert y_of(table).tolist() == [[0, 1], [1, 1], [1, 0], [0, 0]]
    assert y_of(table).dtype == np.float32


def test_u010_multi_hot_columns_are_the_class_names() -> None:
    table = table_of([["see", "desert"], ["desert", "see"]], class_mode="multilabel")
    assert table.encoder.inverse_transform(y_of(table)) == [("desert", "see")] * 2


def test_u012_label_sep_splits_text() -> None:
    table = table_of(["a, b", "a", "b,", ""], class_mode="multilabel", label_sep=",")
    assert table.encoder.class_names == ("a", "b")
    assert y_of(table).tolist() == [[1, 1], [1, 0], [0, 1], [0, 0]]


def test_u003_zero_one_columns_are_multilabel() -> None:
    df = frame(N=[0, 1, 1], D=[True, False, True], G=[0.0, 0.0, 1.0])
    table = of_frame(df, y_col=["N", "D", "G"], class_mode="multilabel")
    assert table.encoder.class_names == ("N", "D", "G")
    assert y_of(table).tolist() == [[0, 1, 0], [1, 0, 0], [1, 1, 1]]


def test_u003_classes_order_the_zero_one_columns() -> None:
    df = frame(N=[0, 1], D=[1, 0])
    spec = {"y_col": ["N", "D"], "class_mode": "multilabel"}
    assert y_of(of_frame(df, classes=["D", "N"], **spec)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(DataFrameError, match="differ"):
        of_frame(df, classes=["D", "X"], **spec)


def test_u003_several_columns_in_another_mode_say_which_mode() -> None:
    with pytest.raises(DataFrameError, match="For 0/1 columns say class_mode='multilabel'"):
        of_frame(frame(N=[0, 1], D=[1, 0]), y_col=["N", "D"])


def test_lists_in_zero_one_columns_are_refused() -> None:
    df = frame(N=[[0], [1]], D=[1, 0])
    with pytest.raises(DataFrameError, match="Column 'N' has lists"):
        of_frame(df, y_col=["N", "D"], class_mode="multilabel")


def test_columns_that_are_not_zero_or_one_are_refused() -> None:
    with pytest.raises(DataFrameError, match=r"Column 'D' must be 0 or 1; 1 rows are not \(row 1"):
        of_frame(frame(N=[0, 1], D=[1, 2]), y_col=["N", "D"], class_mode="multilabel")


def test_unknown_labels_in_cells_are_an_error_or_leave_their_cell(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cells = [["a", "x"], ["x"], ["b", "a"]]
    with pytest.raises(DataFrameError, match=r"'x' \(2 rows\)") as caught:
        table_of(cells, class_mode="multilabel", classes=["b", "a"])
    assert caught.value.rows == (0, 1)
    with caplog.at_level(logging.WARNING, "dfloader"):
        table = table_of(cells, class_mode="multilabel", classes=["b", "a"], unknown="drop")
    assert y_of(table).tolist() == [[0, 1], [0, 0], [1, 1]]
    assert table.kept is None
    assert "2 labels dropped" in caplog.text


@pytest.mark.parametrize("cell", [["b", None], ["b", np.nan], [["b"], "a"], [pd.NA], [{}]])
def test_what_is_no_label_inside_a_cell_names_its_row(cell: list[object]) -> None:
    with pytest.raises(DataFrameError, match=r"inside 1 cells \(row 1\)"):
        table_of([["a"], cell], class_mode="multilabel")


# Numbers


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pd.Series([1, 2]), np.int64),
        (pd.Series([True, False]), np.int64),
        (pd.Series([1.5, 2]), np.float32),
        (pd.Series([1, 2], dtype="Int64"), np.int64),
        (pd.Series([1.5, 2], dtype="Float64"), np.float32),
        (pd.Series([1, 2], dtype="category"), np.int64),
        (pd.Series([1, 2], dtype="int64[pyarrow]"), np.int64),
        (pd.Series([1.5, 2], dtype="double[pyarrow]"), np.float32),
        (pd.Series([1, 2], dtype=object), np.int64),
    ],
)
def test_u020_raw_is_a_plain_array(values: pd.Series, dtype: type) -> None:
    y = y_of(table_of(values, "target", class_mode="raw"))
    assert type(y) is np.ndarray
    assert (y.dtype, y.shape) == (dtype, (2,))
    assert y.tolist() == [float(v) for v in values]


def test_u014_raw_stacks_lists() -> None:
    y = y_of(table_of([[1.0, 0.0]] * 6, "target", class_mode="raw"))
    assert (y.shape, y.dtype) == ((6, 2), np.float32)
    arrays = pd.Series([np.eye(2), np.eye(2)], dtype=object)
    assert y_of(table_of(arrays, "target", class_mode="raw")).shape == (2, 2, 2)


def test_u014_ragged_lists_name_the_rows() -> None:
    with pytest.raises(DataFrameError, match=r"1 cells that are not of shape \(2,\) \(row 2\)"):
        table_of([[1, 0], [1, 1], [1]], "target", class_mode="raw")
    with pytest.raises(DataFrameError, match="row 1"):
        table_of([[1, 0], [1, [1, 2]]], "target", class_mode="raw")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1.0, np.nan]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1.0, None], dtype="double[pyarrow]"),
        pd.Series([1.0, None], dtype=object),
        pd.Series([[1.0], [np.nan]], dtype=object),
    ],
)
def test_u020_u021_raw_refuses_missing_numbers(values: pd.Series) -> None:
    with pytest.raises(DataFrameError, match="row 1") as caught:
        table_of(values, "target", class_mode="raw")
    assert caught.value.column == "target"


@pytest.mark.parametrize("mode", ["categorical", "sparse", "binary", "multilabel"])
@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT])
def test_u021_missing_labels_name_their_rows(mode: str, missing: object) -> None:
    labels = pd.Series(["n", missing, "y", missing], dtype=object)
    with pytest.raises(DataFrameError, match=r"2 missing values.*rows 1, 3.*class_mode=None"):
        table_of(labels, class_mode=mode)


@pytest.mark.parametrize(
    "values",
    [["1", "2"], pd.Series(pd.to_datetime(["2020-01-01"] * 2)), pd.Series([1j, 2j])],
)
def test_raw_refuses_what_is_no_number(values: object) -> None:
    with pytest.raises(DataFrameError, match=r"Column 'target' is .* takes numbers"):
        table_of(values, "target", class_mode="raw")


def test_raw_refuses_numbers_beyond_int64() -> None:
    with pytest.raises(DataFrameError, match="beyond int64"):
        table_of(pd.Series([1, 2**63], dtype="uint64"), "target", class_mode="raw")


def test_u022_raw_columns_of_two_types_are_float32_side_by_side() -> None:
    y = y_of(of_frame(frame(age=[1, 2], size=[0.5, 1.5]), y_col=["age", "size"], class_mode="raw"))
    assert (y.dtype, y.tolist()) == (np.float32, [[1, 0.5], [2, 1.5]])


def test_u022_text_beside_numbers_names_the_column() -> None:
    with pytest.raises(DataFrameError, match="Column 'city' is"):
        of_frame(frame(age=[1, 2], city=["a", "b"]), y_col=["age", "city"], class_mode="raw")


# Several outputs


def test_u015_each_output_has_its_own_mode_and_classes() -> None:
    df = frame(color=["red", "blue"], ok=["n", "y"], size=[1.5, 2.5])
    modes = {"color": "categorical", "ok": "binary", "size": "raw"}
    table = of_frame(df, class_mode=modes, classes={"color": ["red", "blue"]})
    y = y_of(table)
    assert list(y) == ["color", "ok", "size"]
    assert y["color"].tolist() == [[1, 0], [0, 1]]
    assert y["ok"].tolist() == [0, 1]
    assert y["size"].tolist() == [1.5, 2.5]
    assert {name: each.class_names for name, each in table.encoder.items()} == {
        "color": ("red", "blue"),
        "ok": ("n", "y"),
    }


def test_u016_u022_each_head_has_its_own_array_and_dtype() -> None:
    df = frame(age=[1, 2], size=[0.5, 1.5])
    y = y_of(of_frame(df, class_mode={"age": "raw", "size": "raw"}))
    assert {name: (part.shape, part.dtype.name) for name, part in y.items()} == {
        "age": ((2,), "int64"),
        "size": ((2,), "float32"),
    }


def test_dropping_counts_a_row_that_is_unknown_to_any_output() -> None:
    df = frame(a=["x", "y", "x"], b=["p", "p", "q"])
    table = of_frame(
        df,
        class_mode={"a": "sparse", "b": "sparse"},
        classes={"a": ["x"], "b": ["p"]},
        unknown="drop",
    )
    assert table.kept.tolist() == [0]


def test_outputs_and_y_col_must_agree() -> None:
    df = frame(a=[1, 2], b=[1, 2])
    assert list(y_of(of_frame(df, y_col=["b", "a"], class_mode={"a": "raw", "b": "raw"}))) == [
        "a",
        "b",
    ]
    with pytest.raises(DataFrameError, match="name different columns"):
        of_frame(df, y_col="a", class_mode={"a": "raw", "b": "raw"})


def test_classes_of_an_output_that_is_not_there_are_refused() -> None:
    with pytest.raises(DataFrameError, match="classes names 'c', which is no output"):
        of_frame(frame(a=[1, 2]), class_mode={"a": "sparse"}, classes={"c": [1, 2]})


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ({"class_mode": "other"}, "class_mode='other' is not one of"),
        ({"class_mode": {}}, "names no output"),
        ({"class_mode": {"a": "input"}}, r"class_mode\['a'\]='input' is not one of"),
        ({"class_mode": "input", "mask_col": "m"}, "both say what y is"),
        ({"class_mode": {"mask": "raw"}, "mask_col": "m"}, "Rename the column"),
        ({"unknown": "ignore"}, "unknown='ignore' is not one of"),
        ({"label_sep": ""}, "label_sep='' is not a non-empty string"),
        ({"extra_cols": {"image": ["a"]}}, "'image' is the name of the picture"),
        ({"extra_cols": ["age"]}, "is not a dict of columns"),
    ],
)
def test_what_was_said_is_checked_before_the_frame_is_read(
    spec: dict[str, object], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        FrameSpec(**spec)  # type: ignore[arg-type]

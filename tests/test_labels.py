"""LabelEncoder: class names to numbers and back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfloader import DataFrameError, LabelEncoder

KINDS = st.one_of(
    st.lists(st.text(), min_size=1),
    st.lists(st.integers(), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.booleans(), min_size=1),
)


@given(KINDS)
def test_inverse_transform_undoes_transform(labels: list[object]) -> None:
    encoder = LabelEncoder.fit(labels)
    assert encoder.inverse_transform(encoder.transform(labels)) == labels


@given(KINDS)
def test_json_round_trip_keeps_classes_and_their_types(labels: list[object]) -> None:
    encoder = LabelEncoder.fit(labels)
    again = LabelEncoder.from_json(encoder.to_json())
    assert again == encoder
    assert list(map(type, again.class_names)) == list(map(type, encoder.class_names))


@given(st.lists(st.sets(st.text(max_size=3)), min_size=1))
def test_multi_hot_round_trip_keeps_each_rows_labels(rows: list[set[str]]) -> None:
    encoder = LabelEncoder.fit(rows, multi=True)
    back = encoder.inverse_transform(encoder.transform(rows))
    assert [set(row) for row in back] == rows
    assert LabelEncoder.from_json(encoder.to_json()) == encoder


@given(st.lists(st.integers(), min_size=1), st.randoms())
def test_classes_do_not_depend_on_the_order_of_rows(labels: list[int], random: object) -> None:
    shuffled = list(labels)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert LabelEncoder.fit(labels) == LabelEncoder.fit(shuffled)


def test_u009_numbers_sort_as_numbers_and_text_as_text() -> None:
    assert LabelEncoder.fit([10, 9, 2]).class_names == (2, 9, 10)
    assert LabelEncoder.fit(np.array([10.5, 9, 2])).class_names == (2.0, 9.0, 10.5)
    assert LabelEncoder.fit(["10", "9", "2"]).class_names == ("10", "2", "9")


def test_numpy_scalars_are_the_same_classes_as_pythons() -> None:
    encoder = LabelEncoder.fit(np.array([3, 1]))
    assert encoder.class_indices == {1: 0, 3: 1}
    assert encoder.transform([np.int8(3), 1]).tolist() == [1, 0]
    assert LabelEncoder((np.str_("a"), "b")) == LabelEncoder(("a", "b"))


def test_transform_is_int32() -> None:
    assert LabelEncoder(("a", "b")).transform(["b"]).dtype == np.int32


def test_u010_names_of_multi_hot_and_of_probabilities() -> None:
    encoder = LabelEncoder(("desert", "sea"), multi=True)
    assert encoder.inverse_transform([[1, 1], [0, 1], [0, 0]]) == [
        ("desert", "sea"),
        ("sea",),
        (),
    ]
    assert LabelEncoder(("a", "b")).inverse_transform([[0.2, 0.8], [1, 0]]) == ["b", "a"]


def test_unknown_labels_are_listed_with_counts_and_rows() -> None:
    with pytest.raises(DataFrameError, match=r"'c' \(2 rows\), 'd' \(1 rows\)") as caught:
        LabelEncoder(("a", "b")).transform(["c", "a", "d", "c"])
    assert caught.value.rows == (0, 2, 3)


@pytest.mark.parametrize("codes", [[2], [-1], [0.5], [[1, 0, 0]]])
def test_numbers_that_are_no_class_are_refused(codes: list[object]) -> None:
    with pytest.raises(DataFrameError):
        LabelEncoder(("a", "b")).inverse_transform(codes)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["a", None], "None is a missing value"),
        (["a", float("nan")], "nan is a missing value"),
        (["a", pd.NA], "<NA> is a missing value"),
        (["a", 1], "several kinds: number, str"),
        ([True, 1], "several kinds: bool, number"),
        ([["a"], "b"], "need class_mode='multilabel'"),
    ],
)
def test_labels_that_cannot_be_classes_are_refused(labels: list[object], match: str) -> None:
    with pytest.raises(DataFrameError, match=match):
        LabelEncoder.fit(labels)


def test_classes_named_twice_or_not_listed_are_refused() -> None:
    with pytest.raises(DataFrameError, match="'a' more than once"):
        LabelEncoder(("a", "b", "a"))
    with pytest.raises(DataFrameError, match="classes='ab' is not a list"):
        LabelEncoder("ab")  # type: ignore[arg-type]


def test_classes_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(DataFrameError, match="is a tuple, which JSON does not have"):
        LabelEncoder((("a", 1),)).to_json()


def test_u007_class_indices_of_another_loader_keep_their_numbers() -> None:
    encoder = LabelEncoder({"cat": 1, "ant": 2, "dog": 0})  # type: ignore[arg-type]
    assert encoder.class_names == ("dog", "cat", "ant")
    assert LabelEncoder(encoder.class_indices) == encoder  # type: ignore[arg-type]
    for wrong in ({"a": 1, "b": 2}, {"a": 0, "b": 0}, {"label": ["a", "b"]}):
        with pytest.raises(DataFrameError, match="does not number its names"):
            LabelEncoder(wrong)  # type: ignore[arg-type]

"""split_dataframe: disjoint, whole, stratified, grouped, repeatable."""

import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfloader import DataFrameError, split_dataframe
from dfloader.apportion import apportion, assign_groups

FRACTIONS = st.lists(st.integers(1, 20), min_size=1, max_size=5).map(
    lambda parts: np.array(parts) / sum(parts)
)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), FRACTIONS)
def test_apportioned_numbers_and_all_their_sums_are_within_one(
    counts: list[int], shares: np.ndarray
) -> None:
    whole = apportion(np.array(counts), shares)
    assert whole.sum(axis=1).tolist() == counts
    exact = np.array(counts)[:, None] * shares
    assert (abs(whole - exact) < 1 + 1e-6).all()
    assert (abs(whole.sum(axis=0) - exact.sum(axis=0)) < 1 + 1e-6).all()
    assert (whole >= 0).all()


@given(st.data(), FRACTIONS)
def test_groups_are_assigned_within_the_largest_of_the_fractions(
    data: st.DataObject, shares: np.ndarray
) -> None:
    n = data.draw(st.integers(1, 40))
    groups = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    strata = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    groups, strata = (np.unique(values, return_inverse=True)[1] for values in (groups, strata))
    sizes = np.bincount(assign_groups(groups, strata, shares)[groups], minlength=len(shares))
    assert (abs(sizes - n * shares) <= np.bincount(groups).max() + 1e-6).all()


def frame(n: int, classes: int = 3, groups: int = 10) -> pd.DataFrame:
    i = np.arange(n)
    return pd.DataFrame(
        {"filename": [f"{k}.png" for k in i], "class": i % classes, "patient": i * groups // n}
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(30, 120), st.integers(0, 10**6), st.sampled_from(["none", "strata"]))
def test_parts_are_disjoint_whole_and_sized(n: int, seed: int, kind: str) -> None:
    df, fractions = frame(n), (0.6, 0.25, 0.15)
    stratify = None if kind == "none" else "class"
    parts = split_dataframe(df, fractions, stratify=stratify, seed=seed)
    assert sorted(pd.concat(parts).index.tolist()) == list(range(n))
    for part, fraction in zip(parts, fractions, strict=True):
        assert abs(len(part) - fraction * n) <= 1
        assert part.index.is_monotonic_increasing
        if stratify is not None:
            shares = part["class"].value_counts() - fraction * df["class"].value_counts()
            assert (abs(shares) <= 1).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(30, 120), st.integers(0, 10**6), st.booleans())
def test_u061_no_group_is_on_two_sides(n: int, seed: int, stratified: bool) -> None:
    df = frame(n)
    parts = split_dataframe(
        df, (0.7, 0.3), group="patient", stratify="class" if stratified else None, seed=seed
    )
    assert not set(parts[0]["patient"]) & set(parts[1]["patient"])
    assert sorted(pd.concat(parts).index.tolist()) == list(range(n))
    largest = df["patient"].value_counts().max()
    assert abs(len(parts[0]) - 0.7 * n) <= largest


def test_u060_a_frame_sorted_by_class_has_every_class_on_both_sides() -> None:
    df = frame(100).sort_values("class")
    train, validation = split_dataframe(df, (0.8, 0.2), stratify="class")
    assert train["class"].value_counts().sort_index().tolist() == [27, 27, 26]
    assert validation["class"].nunique() == 3


def test_u065_three_parts() -> None:
    parts = split_dataframe(frame(200), (0.7, 0.15, 0.15), stratify="class")
    assert [len(part) for part in parts] == [140, 30, 30]


def test_groups_and_strata_together_keep_the_class_shares_near() -> None:
    rng = np.random.default_rng(3)
    df = pd.DataFrame({"patient": rng.integers(0, 200, 2000), "class": rng.integers(0, 4, 2000)})
    train, test = split_dataframe(df, (0.8, 0.2), stratify="class", group="patient")
    assert not set(train["patient"]) & set(test["patient"])
    shares = train["class"].value_counts() / df["class"].value_counts()
    assert (abs(shares - 0.8) < 0.02).all()


@pytest.mark.parametrize("how", [{}, {"stratify": "class"}, {"group": "patient"}])
def test_a_split_depends_on_content_and_seed_not_on_row_order(how: dict[str, str]) -> None:
    df = frame(60)
    first = split_dataframe(df, (0.5, 0.5), seed=1, **how)[0]
    shuffled = df.sample(frac=1, random_state=2)
    again = split_dataframe(shuffled.reset_index(drop=True), (0.5, 0.5), seed=1, **how)[0]
    assert set(again["filename"]) == set(first["filename"])
    other = split_dataframe(df, (0.5, 0.5), seed=2, **how)[0]
    assert set(other["filename"]) != set(first["filename"])


PINNED = [6, 9]


def test_a_split_is_pinned_to_these_rows() -> None:
    train, test = split_dataframe(frame(10), (0.8, 0.2), seed=0)
    assert test.index.tolist() == PINNED
    assert len(train) == 8


def test_a_split_does_not_depend_on_the_kind_of_text_column() -> None:
    df = frame(40)
    plain = split_dataframe(df.astype({"filename": object}), (0.5, 0.5))
    arrow = split_dataframe(df.astype({"filename": "string[pyarrow]"}), (0.5, 0.5))
    assert plain[0].index.tolist() == arrow[0].index.tolist()


def test_cells_of_lists_sets_and_arrays_count_as_content() -> None:
    cells = [["a", "b"], {"a", "b"}, np.arange(3), None, b"x", 1.5, {"k": 1}, "s", (), np.arange(4)]
    df = pd.DataFrame({"cell": pd.Series(cells, dtype=object)})
    first = split_dataframe(df, (0.5, 0.5))[0].index
    reverse = split_dataframe(df[::-1], (0.5, 0.5))[0].index
    assert sorted(first) == sorted(reverse)


def test_several_columns_stratify_together() -> None:
    df = frame(80, classes=2).assign(sex=lambda d: d.index // 2 % 2)
    part, _ = split_dataframe(df, (0.5, 0.5), stratify=["class", "sex"])
    assert part.groupby(["class", "sex"]).size().tolist() == [10, 10, 10, 10]


def test_a_class_too_small_for_every_part_is_said(caplog: pytest.LogCaptureFixture) -> None:
    df = frame(20, classes=2)
    df.loc[0, "class"] = 9
    with caplog.at_level(logging.WARNING, "dfloader"):
        train, _ = split_dataframe(df, (0.8, 0.2), stratify="class")
    assert "1 of its values have fewer rows than there are parts (2)" in caplog.text
    assert 9 in train["class"].tolist()


def test_the_frame_is_not_changed_and_index_and_types_are_kept() -> None:
    df = frame(12).astype({"class": "category"}).set_index(pd.Index(list("abcdefghijkl")))
    before = df.copy(deep=True)
    parts = split_dataframe(df, (0.5, 0.5))
    pd.testing.assert_frame_equal(df, before)
    pd.testing.assert_frame_equal(pd.concat(parts).sort_index(), df)


@pytest.mark.parametrize(
    ("fractions", "match"),
    [
        ((0.8, 0.3), "sum to 1"),
        ((0.8, -0.2, 0.4), "above 0"),
        ((1.0, 0.0), "above 0"),
        ((), "is not a list"),
        (0.2, "is not a list"),
        ((float("nan"), 1), "above 0"),
    ],
)
def test_fractions_that_are_none_are_refused(fractions: object, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        split_dataframe(frame(10), fractions)  # type: ignore[arg-type]


def test_a_part_without_rows_is_refused() -> None:
    with pytest.raises(DataFrameError, match=r"Part 1 \(fraction 0.1\) gets no row: .* 3 rows"):
        split_dataframe(frame(3), (0.9, 0.1))
    with pytest.raises(DataFrameError, match="too large groups in column 'patient'"):
        split_dataframe(frame(30, groups=1), (0.5, 0.5), group="patient")


@pytest.mark.parametrize("keyword", ["stratify", "group"])
def test_columns_of_a_split_are_checked(keyword: str) -> None:
    df = frame(10)
    with pytest.raises(DataFrameError, match=f"{keyword}='nope' is not a column"):
        split_dataframe(df, (0.5, 0.5), **{keyword: "nope"})
    df["part"] = [None, *"abcabcabc"]
    with pytest.raises(DataFrameError, match=r"Column 'part' has a missing value \(row 0\)"):
        split_dataframe(df, (0.5, 0.5), **{keyword: "part"})


def test_an_empty_frame_cannot_be_split() -> None:
    with pytest.raises(DataFrameError, match="no rows"):
        split_dataframe(frame(10).head(0), (0.5, 0.5))

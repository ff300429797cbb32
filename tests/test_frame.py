"""Reading a frame: which columns, which paths, which errors; the frame itself stays as it was."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dfloader import DataFrameError
from dfloader.frame import resolve
from dfloader.spec import FrameSpec
from dfloader.table import Table


def table_of(df: object, **spec: object) -> Table:
    said = {"validate": False, "class_mode": None, **spec}
    return resolve(df, FrameSpec(**said))  # type: ignore[arg-type]


def paths_of(df: object, **spec: object) -> list[str | None]:
    images = table_of(df, **spec).images
    return [images.path(row) for row in range(len(images))]


# Which column


@pytest.mark.parametrize(
    "name", ["filename", "image_name", "image_path", "image", "filepath", "path", "file"]
)
def test_the_image_column_is_found_by_its_name(name: str) -> None:
    assert paths_of(pd.DataFrame({"x": [1], name: ["a.png"]})) == ["a.png"]


def test_filename_wins_over_the_others_and_two_others_are_ambiguous() -> None:
    df = pd.DataFrame({"path": ["p"], "filename": ["f"], "file": ["g"]})
    assert paths_of(df) == ["f"]
    with pytest.raises(DataFrameError, match=r"has several: \['path', 'file'\].*Say x_col="):
        paths_of(df.drop(columns="filename"))
    assert paths_of(df, x_col="file") == ["g"]


def test_no_image_column_lists_the_columns() -> None:
    with pytest.raises(DataFrameError, match=r"has none. Its columns: \['a', 'b'\]"):
        paths_of(pd.DataFrame({"a": [1], "b": [2]}))


@pytest.mark.parametrize("name", ["class", "label", "labels", "target"])
def test_the_target_column_is_found_by_its_name(name: str) -> None:
    df = pd.DataFrame({"filename": ["a", "b"], name: ["x", "y"]})
    assert table_of(df, class_mode="sparse").encoder.class_names == ("x", "y")  # type: ignore[union-attr]


def test_a_column_that_is_there_twice_is_refused() -> None:
    df = pd.DataFrame([["a", "b", 1]], columns=["filename", "filename", "class"])
    with pytest.raises(DataFrameError, match="2 columns are named 'filename'"):
        paths_of(df)


def test_columns_may_have_names_that_are_not_text() -> None:
    assert paths_of(pd.DataFrame({0: ["a.png"], 1: [3]}), x_col=0) == ["a.png"]


@pytest.mark.parametrize("keyword", ["weight_col", "mask_col", "sampler", "y_col", "x_col"])
def test_a_column_that_is_not_there_is_named_with_its_keyword(keyword: str) -> None:
    df = pd.DataFrame({"filename": ["a"], "class": [1]})
    with pytest.raises(DataFrameError, match=f"{keyword}='nope' is not a column") as caught:
        table_of(df, class_mode="sparse", **{keyword: "nope"})
    assert caught.value.column == "nope"


# Which frame


@pytest.mark.parametrize(
    "convert",
    [pl.from_pandas, pa.Table.from_pandas, lambda df: df.convert_dtypes(dtype_backend="pyarrow")],
)
def test_frames_of_other_kinds_convert_themselves(convert: object) -> None:
    df = pd.DataFrame({"filename": ["a", "b"], "class": ["x", "y"], "w": [0.5, 1]})
    table = table_of(convert(df), class_mode="sparse", weight_col="w")  # type: ignore[operator]
    columns = table.take(np.arange(2))
    assert [table.images.path(i) for i in range(2)] == ["a", "b"]
    assert (columns.y.tolist(), columns.w.tolist()) == ([0, 1], [0.5, 1])


def test_polars_lists_are_labels() -> None:
    df = pl.DataFrame({"filename": ["a", "b"], "class": [["x", "y"], ["y"]]})
    assert table_of(df, class_mode="multilabel").take(np.arange(2)).y.tolist() == [[1, 1], [0, 1]]


def test_what_is_no_frame_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="df is a dict, not a DataFrame"):
        table_of({"filename": ["a"]})
    with pytest.raises(TypeError, match=r"LazyFrame.*Call .collect\(\) first"):
        table_of(pl.LazyFrame({"filename": ["a"]}))


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(DataFrameError, match="The frame has no rows"):
        table_of(pd.DataFrame({"filename": [], "class": []}))


def test_the_frame_is_not_changed() -> None:
    df = pd.DataFrame(
        {"filename": ["a", "b"], "class": [["x"], ["y", "x"]], "w": [1, 2], "age": [3, 4]},
        index=[7, 7],
    )
    before = df.copy(deep=True)
    table_of(
        df, directory="d", class_mode="multilabel", weight_col="w", extra_cols={"meta": ["age"]}
    )
    pd.testing.assert_frame_equal(df, before)


def test_the_table_does_not_follow_later_changes_of_the_frame() -> None:
    df = pd.DataFrame({"filename": ["a", "b"], "target": [1.0, 2.0], "count": [1, 2]})
    tables = [table_of(df, class_mode="raw", y_col=name) for name in ("target", "count")]
    df[["target", "count"]] = 9
    assert [t.take(np.arange(2)).y.tolist() for t in tables] == [[1, 2], [1, 2]]


def test_u027_the_index_does_not_matter() -> None:
    df = pd.DataFrame({"filename": ["a", "b"], "class": ["x", "y"]}, index=[5, 5])
    table = table_of(df, class_mode="sparse")
    assert table.take(np.array([1])).y.tolist() == [1]
    with pytest.raises(DataFrameError, match=r"row 1 \(index 5\)"):
        table_of(df.assign(**{"class": ["x", None]}), class_mode="sparse")


# Which paths


def test_u026_absolute_paths_win_over_directory() -> None:
    df = pd.DataFrame({"filename": ["/data/a.png", "b.png", "sub/c.png"]})
    assert paths_of(df, directory="/root/x") == [
        "/data/a.png",
        "/root/x/b.png",
        "/root/x/sub/c.png",
    ]
    assert paths_of(df) == ["/data/a.png", "b.png", "sub/c.png"]


def test_addresses_win_over_directory() -> None:
    df = pd.DataFrame({"filename": ["memory://host/a.png", "zip://b.png::memory://c.zip"]})
    assert paths_of(df, directory="/root") == ["memory://host/a.png", "zip://b.png::memory://c.zip"]


def test_paths_and_directory_may_be_pathlike() -> None:
    df = pd.DataFrame({"filename": [Path("a.png"), Path("/b.png")]})
    assert paths_of(df, directory=Path("d")) == ["d/a.png", "/b.png"]


def test_u037_paths_of_any_letters_stay_as_they_are() -> None:
    names = ["ünï códe.png", "日本.jpg", os.fsdecode(b"raw\xff.png")]
    assert paths_of(pd.DataFrame({"filename": pd.Series(names, dtype=object)})) == names


def test_u004_u025_numbers_as_paths_name_the_row_and_the_cure() -> None:
    df = pd.DataFrame({"filename": [1, 2], "class": [0, 3]})
    with pytest.raises(
        DataFrameError, match=r"must hold paths; .*rows 0, 1.*first is 1.*extension"
    ):
        table_of(df)


@pytest.mark.parametrize("value", [None, np.nan, pd.NA])
def test_a_missing_path_names_its_row(value: object) -> None:
    df = pd.DataFrame({"filename": pd.Series(["a", value], dtype=object)})
    with pytest.raises(DataFrameError, match=r"Column 'filename' has a missing value \(row 1\)"):
        table_of(df)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(DataFrameError, match=r"must hold paths.*row 1"):
        table_of(pd.DataFrame({"filename": ["a", ""]}))


def test_a_path_with_a_zero_byte_is_refused() -> None:
    with pytest.raises(DataFrameError, match="row 1"):
        table_of(pd.DataFrame({"filename": ["a", "b\0c"]}))


# Images in the frame itself


def test_encoded_bytes_are_kept_as_they_are() -> None:
    df = pd.DataFrame({"image": [b"\xff\xd8\xff1", bytearray(b"two"), memoryview(b"3")]})
    images = table_of(df).images
    assert images.kind == "encoded"
    assert [images.read(row) for row in range(3)] == [b"\xff\xd8\xff1", b"two", b"3"]
    assert images.path(0) is None


def test_arrays_are_kept_as_npy() -> None:
    import io

    arrays = [np.arange(12, dtype=np.uint8).reshape(2, 2, 3), np.ones((4, 5), np.float32)]
    df = pd.DataFrame({"image": pd.Series(arrays, dtype=object)})
    images = table_of(df).images
    back = [np.load(io.BytesIO(images.read(row))) for row in range(2)]
    assert (back[0] == arrays[0]).all()
    assert back[0].dtype == np.uint8
    assert back[1].shape == (4, 5, 1)


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        ([b"ok", "path"], "starts with encoded bytes; 1 cells hold none.*row 1"),
        ([b"ok", b""], "row 1"),
        ([np.ones((2, 2)), np.ones(3)], r"starts with arrays; 1 cells .*row 1"),
        ([np.ones((2, 2)), np.array([["a"]])], "row 1"),
        ([np.ones((2, 2)), "path"], "row 1"),
        (["path", b"bytes"], "must hold paths.*row 1"),
    ],
)
def test_mixed_image_cells_name_the_rows(cells: list[object], match: str) -> None:
    with pytest.raises(DataFrameError, match=match):
        table_of(pd.DataFrame({"image": pd.Series(cells, dtype=object)}))


def test_masks_are_a_second_source() -> None:
    df = pd.DataFrame({"filename": ["a.png"], "mask": ["m/a.png"]})
    table = table_of(df, mask_col="mask", directory="d")
    assert table.masks is not None
    assert (table.masks.path(0), table.masks.column) == ("d/m/a.png", "mask")


# Extra columns


def test_extra_columns_are_float32_side_by_side() -> None:
    df = pd.DataFrame(
        {"filename": ["a", "b"], "age": [1, 2], "sex": [True, False], "v": [[1, 2], [3, 4]]}
    )
    extra = table_of(df, extra_cols={"meta": ["age", "sex"], "v": "v"}).take(np.array([1])).extra
    assert {name: (part.tolist(), part.dtype.name) for name, part in extra.items()} == {
        "meta": ([[2, 0]], "float32"),
        "v": ([[3, 4]], "float32"),
    }


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ({"meta": []}, r"extra_cols\['meta'\] names no column"),
        ({"meta": ["height"]}, r"extra_cols\['meta'\]='height' is not a column"),
        ({"meta": ["age"]}, "Column 'age' has a missing value.*row 1"),
        ({"meta": ["city"]}, r"Column 'city' is .* extra_cols\['meta'\] takes numbers"),
    ],
)
def test_extra_columns_that_cannot_be_used_are_named(groups: object, match: str) -> None:
    df = pd.DataFrame({"filename": ["a", "b"], "age": [1, np.nan], "city": ["x", "y"]})
    with pytest.raises(DataFrameError, match=match):
        table_of(df, extra_cols=groups)


# Files


def test_u030_a_missing_file_is_an_error_that_names_rows_and_paths(tmp_path: Path) -> None:
    (tmp_path / "0.png").touch()
    (tmp_path / "1.png").touch()
    df = pd.DataFrame({"filename": ["0.png", "nope.png", "1.png"]})
    with pytest.raises(DataFrameError, match=r"1 of 3 files do not exist \(row 1\)") as caught:
        table_of(df, directory=tmp_path, validate=True)
    assert caught.value.rows == (1,)
    assert caught.value.path == str(tmp_path / "nope.png")
    assert len(table_of(df, directory=tmp_path)) == 3


def test_u024_names_with_spaces_folders_and_upper_case_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "IMG.JPG").touch()
    df = pd.DataFrame({"filename": ["sub dir/IMG.JPG"]})
    assert len(table_of(df, directory=tmp_path, validate=True)) == 1


def test_missing_masks_name_their_column(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    df = pd.DataFrame({"filename": ["a.png"], "m": ["b.png"]})
    with pytest.raises(DataFrameError, match="Column 'm': 1 of 1 files do not exist"):
        table_of(df, mask_col="m", directory=tmp_path, validate=True)


def test_dropped_rows_need_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    df = pd.DataFrame({"filename": ["a.png", "nope.png"], "class": ["x", "y"]})
    spec = {"class_mode": "sparse", "classes": ["x"], "unknown": "drop"}
    assert table_of(df, directory=tmp_path, validate=True, **spec).kept.tolist() == [0]  # type: ignore[union-attr]

"""check: one line for each bad row."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dfloader import DataFrameError, check
from dfloader.magic import HEAD_BYTES, is_image


@pytest.fixture
def bad(tmp_path: Path) -> pd.DataFrame:
    """Three good pictures, and every way to be none."""
    image = Image.fromarray(np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3))
    for name in ("good.png", "good.jpg", "good.tga"):
        image.save(tmp_path / name)
    data = (tmp_path / "good.jpg").read_bytes()
    (tmp_path / "page.jpg").write_text("<html>404</html>")
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    (tmp_path / "stub.jpg").write_bytes(data[:10])
    (tmp_path / "folder.jpg").mkdir()
    names = ["good.png", "page.jpg", "empty.jpg", "good.jpg", "cut.jpg", "stub.jpg", "folder.jpg"]
    cells = [str(tmp_path / name) for name in [*names, "nope.jpg"]]
    return pd.DataFrame({"filename": pd.Series([*cells, None, 3, "", str(tmp_path / "good.tga")])})


def problems(report: pd.DataFrame) -> dict[int, str]:
    return dict(zip(report["row"].tolist(), report["problem"], strict=True))


def test_u033_headers_show_what_is_missing_empty_or_no_image(bad: pd.DataFrame) -> None:
    found = problems(check(bad))
    assert found.pop(1).startswith("not an image: it begins with b'<html>404</html")
    assert found == {
        2: "empty",
        5: "the JPEG has no frame header; it is cut off or corrupt",
        6: "is a folder",
        7: "does not exist",
        8: "missing value",
        9: "3 is a int, not a path",
        10: "empty",
    }


def test_u033_decode_finds_the_truncated_too(bad: pd.DataFrame) -> None:
    found = problems(check(bad, decode=True))
    assert sorted(found) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert found[2] == "empty"


def test_the_report_has_paths_and_plain_columns(bad: pd.DataFrame) -> None:
    report = check(bad)
    assert list(report.columns) == ["row", "path", "problem"]
    assert report["path"].tolist()[0] == bad["filename"][1]
    assert report.set_index("row")["path"][8] is None
    assert report["row"].dtype == np.int64


def test_a_sound_frame_gives_an_empty_report_with_the_same_columns(df: pd.DataFrame) -> None:
    report = check(df, decode=True)
    assert (len(report), list(report.columns)) == (0, ["row", "path", "problem"])
    assert report["row"].dtype == np.int64


def test_relative_paths_start_from_directory(df: pd.DataFrame) -> None:
    names = df["filename"].map(lambda path: Path(path).name)
    relative = pd.DataFrame({"picture": names})
    assert len(check(relative, directory=Path(df["filename"][0]).parent, x_col="picture")) == 0
    assert problems(check(relative, x_col="picture"))[0] == "does not exist"


def test_u031_u032_content_decides_not_the_extension(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.webp")
    Image.new("L", (4, 4)).save(tmp_path / "b.gif")
    (tmp_path / "a.webp").rename(tmp_path / "a.jpg")
    Image.new("L", (4, 4)).save(tmp_path / "noextpng", "PNG")
    df = pd.DataFrame({"filename": ["a.jpg", "b.gif", "noextpng"]})
    assert len(check(df, directory=tmp_path, decode=True)) == 0


def test_images_in_the_frame_itself_are_checked() -> None:
    cells = [np.zeros((2, 2, 3), np.uint8), np.ones((3, 3))]
    assert len(check(pd.DataFrame({"image": pd.Series(cells, dtype=object)}), decode=True)) == 0
    report = check(pd.DataFrame({"image": [b"<html>", b"", None]}))
    assert problems(report) == {
        0: "not an image: it begins with b'<html>'",
        1: "empty",
        2: "missing value",
    }
    assert report["path"].tolist() == [None, None, None]


def test_addresses_are_left_alone() -> None:
    assert len(check(pd.DataFrame({"filename": ["https://no.such.host/a.png"]}))) == 0


def test_an_unreadable_file_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.touch()

    def refused(_: bytes) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dfloader.checks.read_head", refused)
    report = check(pd.DataFrame({"filename": [str(path)]}))
    assert problems(report) == {0: "cannot be read: Permission denied"}


def test_progress_shows_and_changes_nothing(
    bad: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.testing.assert_frame_equal(check(bad, progress=True), check(bad))
    assert capsys.readouterr().err == ""


def test_a_frame_without_images_is_refused() -> None:
    with pytest.raises(DataFrameError, match="x_col is not given"):
        check(pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000"])
def test_files_of_known_formats_are_told_by_their_first_bytes(tmp_path: Path, format: str) -> None:
    Image.new("RGB", (9, 9), "red").save(tmp_path / "x", format)
    assert is_image((tmp_path / "x").read_bytes()[:HEAD_BYTES])

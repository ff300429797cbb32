"""check, convert and service on the command line."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from dfloader import DataFrameSequence
from dfloader.cli import app


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def frame(df: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    df.to_csv(path, index=False)
    return path


def test_convert_writes_records_that_check_finds_good(frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    status, out, _ = run("convert", frame, folder, "--shards", "2", "--class-mode", "sparse")
    assert (status, out) == (0, f"20 records in 2 shards in {folder}\n")
    status, out, _ = run("check", folder)
    assert status == 0
    assert "20 records in 2 shards are as written" in out
    assert DataFrameSequence.from_tfrecords(folder, 20)[0][1].dtype == "int32"


def test_check_names_the_shard_and_record_with_a_flipped_byte(frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    run("convert", frame, folder, "--shards", "2")
    path = folder / "00001-of-00002.tfrecord"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    status, out, _ = run("check", folder)
    assert status == 1
    assert f"{path}: " in out and "record 0" in out


def test_check_names_the_bad_rows_of_a_frame(df: pd.DataFrame, tmp_path: Path) -> None:
    df.loc[3, "filename"] = "no_such.jpg"
    path = tmp_path / "labels.csv"
    df.to_csv(path, index=False)
    status, out, _ = run("check", path)
    assert status == 1
    assert re.search(r"row 3: .*no_such\.jpg: does not exist", out)
    assert run("check", path, "--x-col", "class")[0] == 1


def test_check_says_how_to_name_the_folder_where_no_file_is_there(tmp_path: Path) -> None:
    names = pd.DataFrame({"filename": ["a.jpg", "b.jpg"]})
    names.to_csv(tmp_path / "labels.csv", index=False)
    status, out, err = run("check", tmp_path / "labels.csv")
    assert (status, out.count("does not exist")) == (1, 2)
    assert err == "Not one is there: say where relative paths start with --directory.\n"


def test_a_good_frame_has_status_0(frame: Path) -> None:
    assert run("check", frame, "--decode")[:2] == (0, "20 images are good\n")


def test_another_frame_in_the_folder_is_a_problem(frame: Path, tmp_path: Path) -> None:
    run("convert", frame, tmp_path / "records")
    status, _, err = run("convert", frame, tmp_path / "records", "--class-mode", "sparse")
    assert status == 1
    assert "another frame, or written with other keywords" in err


def test_what_is_not_there_is_wrong_use_or_a_problem(tmp_path: Path) -> None:
    assert run("check", tmp_path / "none.csv")[0] == 2
    status, _, err = run("check", tmp_path)
    assert status == 1
    assert "no schema.json" in err


def test_service_explains_itself() -> None:
    status, out, _ = run("service", "--help")
    assert status == 0
    assert "dispatcher" in out and "worker" in out

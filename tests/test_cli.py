"""Exit statuses and messages of the command line; what it trains is in test_demo."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from dfloader import plots
from dfloader.cli import app
from dfloader.frame_files import READERS, read_frame

ROOT = Path(__file__).parent.parent


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


def test_module_runs_as_the_command() -> None:
    words = [sys.executable, "-m", "dfloader", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "dfloader 0.1.0\n")


def test_no_command_shows_help_and_is_wrong_use() -> None:
    status, out, err = run()
    assert status == 2
    assert "demo" in out + err


def test_help_of_demo_names_every_option() -> None:
    status, out, _ = run("demo", "--help")
    assert status == 0
    for word in ("FRAME", "--photos", "--x-col", "--y-col", "--directory", "--epochs", "--out"):
        assert word in out


@pytest.mark.parametrize("words", [["demo", "--epoch", "1"], ["demo", "--epochs", "0"], ["dem"]])
def test_unknown_words_and_values_are_wrong_use(words: list[str]) -> None:
    assert run(*words)[0] == 2


def test_frame_and_photos_together_are_wrong_use() -> None:
    status, _, err = run("demo", "labels.csv", "--photos")
    assert status == 2
    assert "not both" in err


def test_columns_without_a_frame_are_wrong_use() -> None:
    status, _, err = run("demo", "--x-col", "path")
    assert status == 2
    assert "FRAME" in err


def test_absent_frame_is_wrong_use_and_named(tmp_path: Path) -> None:
    status, _, err = run("demo", tmp_path / "none.csv")
    assert status == 2
    assert err == f"Error: There is no file {tmp_path / 'none.csv'}.\n"


def test_frame_of_another_format_is_wrong_use_that_lists_the_formats(tmp_path: Path) -> None:
    (tmp_path / "labels.xlsx").touch()
    status, _, err = run("demo", tmp_path / "labels.xlsx")
    assert status == 2
    assert ".csv, .tsv, .parquet, .json, .jsonl, .feather" in err


def test_unreadable_frame_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "labels.parquet").write_text("no table")
    status, _, err = run("demo", tmp_path / "labels.parquet")
    assert status == 2
    assert "labels.parquet cannot be read as .parquet" in err


def test_problem_in_the_frame_is_status_1_and_one_sentence(tmp_path: Path) -> None:
    pd.DataFrame({"filename": ["a.jpg"], "class": ["cat"]}).to_csv(tmp_path / "f.csv", index=False)
    status, _, err = run("demo", tmp_path / "f.csv", "--out", tmp_path)
    assert status == 1
    assert err.startswith("Error: Column 'filename'")
    assert "a.jpg" in err
    assert "Traceback" not in err


def test_errors_name_options_as_they_are_typed(tmp_path: Path) -> None:
    pd.DataFrame({"picture": ["a.jpg"], "class": ["cat"]}).to_csv(tmp_path / "f.csv", index=False)
    err = run("preview", tmp_path / "f.csv")[2]
    assert err.endswith("Its columns: ['picture', 'class']. Say --x-col '...'.\n")
    err = run("preview", tmp_path / "f.csv", "--x-col", "pictur")[2]
    assert err.startswith("Error: --x-col 'pictur' is not a column.")
    assert err.endswith("Say which of them is meant with --x-col.\n")


def test_debug_lets_the_error_through(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", str(tmp_path / "none.csv"), "--debug"])
    assert type(result.exception).__name__ == "WrongUseError"


def test_absent_sample_data_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dfloader.tasks.SAMPLE", Path("elsewhere", "labels.csv"))
    status, _, err = run("demo")
    assert status == 2
    assert str(tmp_path) in err
    assert "--photos" in err


def test_absent_matplotlib_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    status, _, err = run("demo", "--out", tmp_path)
    assert status == 2
    assert 'python -m pip install "dfloader[plot]"' in err


def test_every_format_reads_back_the_same_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame({"filename": ["a.jpg", "b.jpg"], "size": [1, 2]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    frame.to_csv(tmp_path / "f.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_json(tmp_path / "f.json")
    frame.to_json(tmp_path / "f.jsonl", orient="records", lines=True)
    frame.to_feather(tmp_path / "f.feather")
    for ending in READERS:
        assert read_frame(tmp_path / f"f{ending}").to_dict("list") == frame.to_dict("list"), ending

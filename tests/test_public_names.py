"""The public names, and that asking for the package loads nothing heavy."""

import subprocess
import sys
from pathlib import Path

import pytest

import dfloader

ROOT = Path(__file__).parent.parent
NAMES = [
    "Augment",
    "DataFrameError",
    "DataFrameSequence",
    "DecodeError",
    "LabelEncoder",
    "Resume",
    "check",
    "compare",
    "evaluate_generator",
    "fit_generator",
    "flow_from_dataframe",
    "predict",
    "predict_generator",
    "read_tfrecords",
    "split_dataframe",
    "to_tf_dataset",
    "write_tfrecords",
]
HEAVY = {"tensorflow", "keras", "tf_keras", "pandas"}


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_all_is_the_public_contract() -> None:
    assert dfloader.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_name_resolves_to_what_it_is_called(name: str) -> None:
    assert getattr(dfloader, name).__name__ == name


def test_dir_lists_every_name_before_its_first_use() -> None:
    assert set(NAMES) <= set(dir(dfloader))


def test_unknown_name_is_an_attribute_error_that_says_it() -> None:
    with pytest.raises(AttributeError, match="'dfloader' has no attribute 'DataFrameSequences'"):
        _ = dfloader.DataFrameSequences


def test_import_loads_no_framework_and_no_pandas() -> None:
    assert not loaded_after("import dfloader") & HEAVY


def test_help_of_the_command_line_loads_no_framework_and_no_pandas() -> None:
    assert not loaded_after("import dfloader.cli") & HEAVY


def test_the_check_sees_what_is_loaded() -> None:
    assert loaded_after("import dfloader, pandas") & HEAVY == {"pandas"}

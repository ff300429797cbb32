"""A short run of `fuzz.py`."""

from pathlib import Path

import fuzz


def test_mutated_files_end_in_a_report(tmp_path: Path) -> None:
    assert fuzz.run(150, seed=11, folder=tmp_path) == 0


def test_mutants_are_the_same_for_the_same_seed() -> None:
    assert list(fuzz.mutants(20, 5)) == list(fuzz.mutants(20, 5))
    assert list(fuzz.mutants(20, 5)) != list(fuzz.mutants(20, 6))


def test_a_folder_without_a_report_is_counted(tmp_path: Path) -> None:
    assert fuzz._in_a_process(tmp_path / "none", 60) is None

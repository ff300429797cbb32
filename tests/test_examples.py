"""The examples run as they are called in the README, and reach what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(name: str, *words: str | Path) -> str:
    command = [sys.executable, f"examples/{name}", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=None)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mnist_from_records_reaches_98_percent_in_a_second_process(tmp_path: Path) -> None:
    out = run("mnist_records.py", tmp_path)
    found = re.search(r"([\d.]+)% of 1000 held out digits are right", out)
    assert found is not None
    assert float(found[1]) >= 98


def test_a_unet_learns_masks_from_records(tmp_path: Path) -> None:
    out = run("unet_records.py", tmp_path, "--epochs", "8")
    found = re.search(r"([\d.]+)% mean intersection over union", out)
    assert found is not None
    assert float(found[1]) >= 80


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "examples").glob("*.py")))
def test_the_readme_lists_every_example(name: str) -> None:
    assert f"examples/{name}" in (ROOT / "README.md").read_text("utf-8")

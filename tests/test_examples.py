"""Every example runs from the project's root without arguments, and shows what it promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
# Those whose figures are looked at besides; by the tests below.
WITH_FIGURES = ("mnist_records.py", "unet_records.py")


def run(name: str, folder: Path) -> str:
    """Run an example on Keras 3 and TensorFlow, with `folder` for what is temporary."""
    own = {key: value for key, value in os.environ.items() if key != "TF_USE_LEGACY_KERAS"}
    more = {"KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, f"examples/{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=own | more,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in WITH_FIGURES])
def test_it_runs_and_finds_true_what_it_shows(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path).strip()


def test_mnist_from_records_reaches_98_percent_in_a_second_process(tmp_path: Path) -> None:
    found = re.search(
        r"([\d.]+)% of 1000 held out digits are right", run("mnist_records.py", tmp_path)
    )
    assert found is not None
    assert float(found[1]) >= 98


def test_a_unet_learns_masks_from_records(tmp_path: Path) -> None:
    found = re.search(r"([\d.]+)% mean intersection over union", run("unet_records.py", tmp_path))
    assert found is not None
    assert float(found[1]) >= 80


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_readme_lists_it(name: str) -> None:
    section = (ROOT / "README.md").read_text("utf-8").split("## Examples")[1].split("\n## ")[0]
    assert f"examples/{name}" in section


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_says_how_it_is_called(name: str) -> None:
    assert f"\n    python examples/{name}" in (ROOT / "examples" / name).read_text("utf-8")


def test_each_example_that_the_readme_lists_is_there() -> None:
    listed = set(re.findall(r"examples/(\w+\.py)", (ROOT / "README.md").read_text("utf-8")))
    assert listed == set(EXAMPLES)

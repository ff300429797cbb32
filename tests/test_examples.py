"""Every example runs from the project's root without arguments, and shows what it promises."""

import re
from pathlib import Path

import pytest
from example_run import ROOT, run

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
# Tested in a file of their own: they take longest, and another test process can run it.
RECORDS = ("mnist_records.py", "unet_records.py")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in RECORDS])
def test_it_runs_and_finds_true_what_it_shows(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path).strip()


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

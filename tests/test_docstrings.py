"""The example of every public name runs as it is written."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import dfloader

ROOT = Path(__file__).parent.parent
# The errors are raised, not called; the generator methods need a model and are shown in README.
WITHOUT_EXAMPLE = {"DataFrameError", "DecodeError"}
WITHOUT_EXAMPLE |= {"evaluate_generator", "fit_generator", "predict_generator"}
NAMES = [name for name in dfloader.__all__ if name not in WITHOUT_EXAMPLE]


@pytest.mark.parametrize("name", NAMES)
def test_example_runs_from_the_projects_root(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    value = getattr(dfloader, name)
    globals_ = vars(import_module(value.__module__))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    tests = [t for t in doctest.DocTestFinder(recurse=False).find(value, name, globs=globals_) if t]
    for test in tests:
        runner.run(test)
    assert runner.summarize().attempted > 0, f"{name} has no example"
    assert runner.summarize().failed == 0

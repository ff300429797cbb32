"""What README.md promises: its commands are there, its snippets run."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PYPROJECT = (ROOT / "pyproject.toml").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """Keras 3 on TensorFlow, whatever the tests themselves were started with."""
    own = {name: v for name, v in os.environ.items() if name != "TF_USE_LEGACY_KERAS"}
    return own | {"KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_snippet_runs_from_the_projects_root(snippet: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], capture_output=True, text=True, cwd=ROOT, env=environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("name", ["DataFrameSequence", "to_tf_dataset", "flow_from_dataframe"])
def test_each_entry_point_has_a_snippet(name: str) -> None:
    assert any(f"from dfloader import {name}\n" in snippet for snippet in SNIPPETS)


def test_fit_generator_is_shown() -> None:
    assert any("model.fit_generator(" in snippet for snippet in SNIPPETS)


def test_set_up_is_the_two_commands() -> None:
    shell = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shell[0].splitlines() == [
        'python -m pip install -e ".[all]" && dfloader demo',
        'python -m pip install -e ".[test]" && python -m pytest',
    ]


def test_ci_runs_the_set_up_as_readme_says_it() -> None:
    command = 'python -m pip install -e ".[test]" && python -m pytest'
    assert f"({command})" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_command_in_readme_is_an_entry_point() -> None:
    assert "dfloader demo" in README
    script = re.search(r'^dfloader = "(.+):(.+)"$', PYPROJECT, re.MULTILINE)
    assert script is not None
    cli = import_module(script[1])
    assert callable(getattr(cli, script[2]))
    commands = [command.callback for command in cli.app.registered_commands]
    assert "demo" in [callback.__name__ for callback in commands if callback is not None]

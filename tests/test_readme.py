"""What README.md promises: its commands are there, its snippets run."""

import re
from importlib import import_module
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PYPROJECT = (ROOT / "pyproject.toml").read_text()
BLOCKS = pages.python_blocks("README.md")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return pages.run("README.md", tmp_path_factory.mktemp("readme"))


@pytest.mark.parametrize("name", [block.name for block in BLOCKS])
def test_block_runs_from_the_projects_root(name: str, ended: dict[str, str]) -> None:
    assert ended[name] == ""


ENTRY_POINTS = ["DataFrameSequence", "to_tf_dataset", "flow_from_dataframe"]
ENTRY_POINTS += ["predict", "check", "split_dataframe", "write_tfrecords", "read_tfrecords"]


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_each_entry_point_has_a_snippet(name: str) -> None:
    assert any(re.search(rf"from dfloader import .*\b{name}\b", block.code) for block in BLOCKS)


def test_fit_generator_is_shown() -> None:
    assert any("model.fit_generator(" in block.code for block in BLOCKS)


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

"""The site builds without warnings; what pages name is there: commands, files, keywords, names."""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pages
import pytest
import typer

import dfloader
from dfloader.cli import app
from dfloader.spec import known_keywords

ROOT = pages.ROOT
PAGES = ["README.md", "CONTRIBUTING.md", *pages.docs()]
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
COMMAND = re.compile(r"(?:python -m )?dfloader (.*)")
SCRIPT = re.compile(r"(?:\.venv/bin/)?python ([\w./]+\.py)\b")
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


def commands(page: str, root: Path = ROOT) -> list[str]:
    """List the shell commands that a page names, in sh blocks and in code spans."""
    text = (root / page).read_text(encoding="utf-8")
    lines = [
        part.split(" #")[0].strip()
        for block in pages.fenced(page, root)
        if block.info == "sh"
        for line in block.code.splitlines()
        for part in line.split("&&")
    ]
    return [*filter(None, lines), *SPAN.findall(pages.FENCE.sub("", text))]


def check_command(words: list[str]) -> None:
    """Raise where the command line has no such command, option or argument."""
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="dfloader")
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name, command, words = command.resolve_command(context, words)
        context = command.context_class(command, info_name=name, parent=context)
    rest = command.make_parser(context).parse_args(words)[1]
    assert not rest, f"more arguments than it takes: {rest}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_their_options_exist(page: str) -> None:
    for line in commands(page):
        found = COMMAND.fullmatch(line)
        if found:
            check_command(shlex.split(found[1]))


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("chekc a.csv", "No such command"),
        ("check a.csv --decod", "No such option"),
        ("check a.csv b.csv", "more arguments"),
        ("service workr a", "No such command"),
    ],
)
def test_the_check_of_commands_sees_a_wrong_one(line: str, match: str) -> None:
    with pytest.raises(Exception, match=match):
        check_command(shlex.split(line))


def test_commands_are_found_in_blocks_and_spans(tmp_path: Path) -> None:
    text = "`dfloader demo`\n```sh\ncd a && dfloader check b  # why\n```\n```text\nno\n```\n"
    (tmp_path / "page.md").write_text(text)
    assert commands("page.md", tmp_path) == ["cd a", "dfloader check b", "dfloader demo"]


@pytest.mark.parametrize("page", PAGES)
def test_scripts_exist(page: str) -> None:
    named = [SCRIPT.match(line) for line in commands(page)]
    scripts = [found[1] for found in named if found and "/" in found[1]]
    assert [script for script in scripts if not (ROOT / script).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_test_files_and_links_exist(page: str) -> None:
    text = pages.FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    named = re.findall(r"`((?:benchmarks|dfloader|examples|tests)/\w+\.py)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    links = [(ROOT / page).parent / link for link in LINK.findall(text)]
    assert [link for link in links if not link.exists()] == []


def test_every_keyword_is_explained() -> None:
    text = (ROOT / "docs" / "keywords.md").read_text()
    assert [name for name in known_keywords() if f"\n| `{name}` |" not in text] == []


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    places = re.findall(r"^::: dfloader\.(\S+)$", text, re.MULTILINE)
    names = {place.rpartition(".")[2] for place in places}
    assert [name for name in dfloader.__all__ if name not in names] == []


def test_every_command_is_explained() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    group: Any = typer.main.get_command(app)
    assert [name for name in group.commands if f"`dfloader {name}" not in text] == []


@pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("mkdocstrings") is None,
    reason='needs the extra: python -m pip install "dfloader[docs]"',
)
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # a notice of the theme, about its own future
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=env)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr[-3000:]
    page = (tmp_path / "api" / "loaders" / "index.html").read_text()
    assert "max_queue_size" in page

"""Every ```python block below docs/ runs, page by page; README's are in test_readme."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pages
import pytest

BLOCKS = [block for page in pages.docs() for block in pages.python_blocks(page)]

Outcome = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """How the blocks of a page ended; each page runs once."""
    return cache(lambda page: pages.run(page, tmp_path_factory.mktemp("page")))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_block_runs_from_the_projects_root(block: pages.Block, outcome: Outcome) -> None:
    assert outcome(block.page)[block.name] == ""


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """How the blocks of a page with this text end."""

    def run(text: str) -> dict[str, str]:
        (tmp_path / "page.md").write_text(text)
        (tmp_path / "root").mkdir()
        return pages.run("page.md", tmp_path / "root", tmp_path)

    return run


def test_blocks_of_a_page_share_what_they_name(made: Callable[[str], dict[str, str]]) -> None:
    ended = made("```python\na = 1\n```\ntext\n```python\nassert a == 1\n```\n")
    assert ended == {"page.md:1": "", "page.md:5": ""}


def test_a_block_that_fails_is_named_by_page_and_line(
    made: Callable[[str], dict[str, str]],
) -> None:
    ended = made("one\n```python\n\n1 / 0\n```\n```python\nprint(2)\n```\n")
    assert 'page.md", line 4' in ended["page.md:2"]
    assert "ZeroDivisionError" in ended["page.md:2"]
    assert "did not run" in ended["page.md:6"]


def test_text_blocks_do_not_run(made: Callable[[str], dict[str, str]]) -> None:
    assert made("```text\n1 / 0\n```\n") == {}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *pages.docs()])
def test_every_fence_says_what_it_is(page: str) -> None:
    assert {block.info for block in pages.fenced(page)} <= {"json", "python", "sh", "text"}

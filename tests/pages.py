"""The ```python blocks of README.md and docs/, run as a reader would: in order, one process a page.

`python tests/pages.py PAGE REPORT` runs a page's blocks in one namespace, from the working
directory, and writes a line of JSON for each that it came to; it stops at the first that fails.
`run` does so in a folder that holds `sample_data`, as the project's root does.
"""

import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<code>.*?)^ *```$", re.M | re.S)


class Block(NamedTuple):
    """A fenced block; `line` is that of its fence."""

    page: str
    line: int
    info: str
    code: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def fenced(page: str, root: Path = ROOT) -> list[Block]:
    """List the fenced blocks of a page."""
    text = (root / page).read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found["info"].strip(), found["code"])
        for found in FENCE.finditer(text)
    ]


def python_blocks(page: str, root: Path = ROOT) -> list[Block]:
    """List the blocks of a page that are run."""
    return [block for block in fenced(page, root) if block.info == "python"]


def docs() -> list[str]:
    """List the pages below docs/."""
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md"))


def run(page: str, folder: Path, root: Path = ROOT) -> dict[str, str]:
    """Run a page's blocks; give each block's name and how it ended, "" for well.

    Args:
        page: as `docs` names it.
        folder: an empty one, to run in.
        root: what `page` is relative to.
    """
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    report = folder / "report.jsonl"
    done = subprocess.run(
        [sys.executable, __file__, str(root / page), str(report)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
    )
    lines = report.read_text().splitlines() if report.exists() else []
    ended = dict(json.loads(line) for line in lines)
    missed = f"It did not run; the process ended with {done.returncode}.\n{done.stderr[-2000:]}"
    return {block.name: ended.get(block.line, missed) for block in python_blocks(page, root)}


def environment() -> dict[str, str]:
    """Keras 3 on TensorFlow, whatever the tests themselves were started with."""
    own = {name: v for name, v in os.environ.items() if name != "TF_USE_LEGACY_KERAS"}
    return own | {"KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT)}


def _run_here(page: Path, report: Path) -> int:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in python_blocks(page.name, page.parent):
        # As many empty lines before it as the page has, so that a traceback shows the page's line.
        code = compile("\n" * block.line + block.code, str(page), "exec")
        try:
            exec(code, namespace)
            error = ""
        except BaseException:  # whatever ends a reader's script ends this block, and is reported
            error = traceback.format_exc()
        with report.open("a") as file:
            file.write(json.dumps([block.line, error]) + "\n")
        if error:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(_run_here(Path(sys.argv[1]), Path(sys.argv[2])))

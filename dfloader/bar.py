"""The progress of a comparison, on standard error: what runs, how many are done, time left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Says what runs, with the time that is left; nothing where there is no terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def begin(self, what: str, total: int | None) -> None:
        """Say what runs first of `total` parts; None: how many is not known yet."""
        self._progress.update(self._task, description=what, total=total)

    def step(self, what: str) -> None:
        """Say that a part is over, and what runs now."""
        self._progress.update(self._task, description=what, advance=1)


@contextmanager
def shown_bar(progress: bool) -> Iterator[Bar]:
    """Show a bar while the block runs, if `progress` and there is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = progress and console.is_terminal
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not shown
    ) as lines:
        yield Bar(lines)

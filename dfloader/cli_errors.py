"""What every command shares: exit statuses, and errors in a sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dfloader.errors import DataFrameError, DecodeError
from dfloader.usage import WrongUseError

PROBLEMS = 1
WRONG_USE = 2

# Keywords that are options here, with the value that may follow.
_KEYWORD = re.compile(r"\b(directory|x_col|y_col|mask_col)=('[^']*')?")

Directory = Annotated[
    Path | None,
    typer.Option(help="Where relative paths in FRAME start. Left out: FRAME's own folder."),
]
XCol = Annotated[str | None, typer.Option("--x-col", help="The column of paths, if not filename.")]
YCol = Annotated[str | None, typer.Option("--y-col", help="The column of labels, if not class.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@contextmanager
def errors_explained(debug: bool) -> Iterator[None]:
    """Turn an error into a sentence and an exit status, unless `debug`."""
    try:
        yield
    except Exception as error:
        if debug:
            raise
        raise typer.Exit(_explain(error)) from error


def _explain(error: Exception) -> int:
    """Print an error in a sentence; return the exit status."""
    known = isinstance(error, (DataFrameError, DecodeError, WrongUseError))
    name = "" if known else f"{type(error).__name__}: "
    typer.echo(f"Error: {name}{_with_options(str(error))}", err=True)
    if not known:
        typer.echo("That is not foreseen: --debug shows the traceback.", err=True)
    return WRONG_USE if isinstance(error, WrongUseError) else PROBLEMS


def _with_options(message: str) -> str:
    """Name options as they are typed here, where the library names its keywords."""

    def option(found: re.Match[str]) -> str:
        name = "--" + found[1].replace("_", "-")
        return f"{name} {found[2]}" if found[2] else name

    return _KEYWORD.sub(option, message)

"""The command line. Imports nothing heavy until a command runs.

Contract:
1. Exit status 0: good; 1: problems found; 2: wrong use.
2. What goes wrong ends in one sentence on standard error that says the fix; `--debug` shows the
   traceback instead.
3. Where the output is no terminal it is plain text.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import dfloader
from dfloader import cli_compare, cli_data
from dfloader.cli_errors import PROBLEMS, Debug, Directory, XCol, YCol, errors_explained
from dfloader.usage import WrongUseError

if TYPE_CHECKING:
    from dfloader.tasks import Task

app = typer.Typer(
    name="dfloader",
    help="Train image models from a DataFrame of paths and labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Frame = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FRAME]",
        help="Your own .csv, .tsv, .parquet, .json, .jsonl or .feather file, with a column of "
        "image paths and one of labels. Left out: sample_data.",
    ),
]
app.command()(cli_data.check)
app.command()(cli_data.convert)
app.command()(cli_compare.compare)
app.add_typer(cli_data.service)


def main() -> None:
    """Run the command line."""
    app()


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"dfloader {dfloader.__version__}")
        raise typer.Exit


@app.command()
def demo(
    frame: Frame = None,
    photos: Annotated[
        bool, typer.Option("--photos", help="Real photographs, cut from scikit-image's own.")
    ] = False,
    directory: Directory = None,
    x_col: XCol = None,
    y_col: YCol = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often to see the training rows.")] = 16,
    size: Annotated[int, typer.Option(min=16, help="Height and width in pixels.")] = 64,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows in a batch.")] = 32,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads, or processes. Left out: one for each core.")
    ] = None,
    passes: Annotated[int, typer.Option(min=1, help="Timed passes through each loader.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of order, weights and split.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder for the two pictures.")] = Path(),
    debug: Debug = False,
) -> None:
    """Train a small network through threads, processes and tf.data, and compare them.

    Without FRAME it learns the shapes in sample_data. Where FRAME has a column split, its rows
    say train or val; else a fifth of each class validates. Writes comparison.png and
    examples.png. Exit status 1: a built-in set stayed below its accuracy.
    """
    if frame is not None and photos:
        raise typer.BadParameter("Give FRAME or --photos, not both.")
    if frame is None and (directory or x_col or y_col):
        raise typer.BadParameter("--directory, --x-col and --y-col say how FRAME is read: name it.")
    with errors_explained(debug):
        _quieten_tensorflow()
        from dfloader.demo import Options, reaches_floor, run  # loads TensorFlow
        from dfloader.timing import cores

        options = Options(out, epochs, size, batch_size, workers or cores(), passes, seed)
        console = Console()
        with TemporaryDirectory() as folder:
            task = _task(frame, photos, Path(folder), directory, x_col, y_col, seed)
            results = run(task, options, console)
        good = reaches_floor(task, results, console)
    raise typer.Exit(0 if good else PROBLEMS)


@app.command()
def migrate(
    script: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A Python script.")],
    write: Annotated[bool, typer.Option("--write", help="Change the file.")] = False,
    debug: Debug = False,
) -> None:
    """Show how a script for keras-preprocessing or Keras 2 runs with dfloader.

    Prints the lines that change, and what to look at; without --write the file stays as it is.
    """
    with errors_explained(debug):
        from dfloader.migrate import report  # loads LibCST, an extra

        try:
            typer.echo(report(script, write=write), nl=False)
        except SyntaxError as error:
            raise WrongUseError(f"{script} is not Python 3: {error}") from error


@app.command()
def preview(
    frame: Annotated[Path, typer.Argument(metavar="FRAME", help="A .csv, .parquet, ... file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write.")] = Path(
        "grid.png"
    ),
    directory: Directory = None,
    x_col: XCol = None,
    y_col: YCol = None,
    mask_col: Annotated[str | None, typer.Option(help="The column of masks.")] = None,
    augment: Annotated[
        str | None, typer.Option(help="light or imagenet: show the images so augmented.")
    ] = None,
    size: Annotated[int, typer.Option(min=16, help="Height and width in pixels.")] = 128,
    seed: Annotated[int, typer.Option(min=0, help="Of order and augmentation.")] = 0,
    debug: Debug = False,
) -> None:
    """Write a picture of a batch: images, labels, masks, and one row drawn several times."""
    with errors_explained(debug):
        from dfloader.preview_frame import preview_frame  # loads pandas and OpenCV

        preview_frame(
            frame,
            out,
            augment=augment,
            directory=directory,
            x_col=x_col,
            y_col=y_col,
            mask_col=mask_col,
            target_size=(size, size),
            seed=seed,
        )
    typer.echo(f"Wrote {out}.")


def _task(
    frame: Path | None,
    photos: bool,
    folder: Path,
    directory: Path | None,
    x_col: str | None,
    y_col: str | None,
    seed: int,
) -> "Task":
    from dfloader.tasks import frame_task, photos_task, sample_task  # loads pandas

    if frame is not None:
        return frame_task(frame, directory=directory, x_col=x_col, y_col=y_col, seed=seed)
    return photos_task(folder, seed) if photos else sample_task()


def _quieten_tensorflow() -> None:
    # It reports a missing GPU as an error; whoever wants its log sets the variable to 0.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

"""The commands about data: check, convert, service. Imports nothing heavy until one runs."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dfloader.cli_errors import PROBLEMS, Debug, Directory, XCol, YCol, errors_explained
from dfloader.usage import WrongUseError

service = typer.Typer(
    name="service",
    help="tf.data service: machines that decode for the one that trains.",
    no_args_is_help=True,
)

FrameFile = Annotated[
    Path, typer.Argument(metavar="FRAME", help=".csv, .tsv, .parquet, .json, .jsonl or .feather.")
]


def check(
    path: Annotated[
        Path, typer.Argument(metavar="FRAME|FOLDER", help="A frame's file, or a folder of records.")
    ],
    directory: Directory = None,
    x_col: XCol = None,
    decode: Annotated[
        bool, typer.Option("--decode", help="Decode every image of FRAME in full.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Find bad images of a frame, or bad shards of a folder of records.

    Exit status 1: something is wrong; one line each says what.
    """
    with errors_explained(debug):
        if path.is_dir():
            problems = _record_problems(path)
        else:
            problems = _frame_problems(path, directory, x_col, decode)
    for problem in problems:
        typer.echo(problem)
    raise typer.Exit(PROBLEMS if problems else 0)


def convert(
    frame: FrameFile,
    folder: Annotated[Path, typer.Argument(help="Where the records go; made if it is not there.")],
    directory: Directory = None,
    x_col: XCol = None,
    y_col: YCol = None,
    class_mode: Annotated[
        str, typer.Option(help="categorical, sparse, binary, multilabel, raw, input or none.")
    ] = "categorical",
    label_sep: Annotated[str | None, typer.Option(help="Between the labels of a cell.")] = None,
    weight_col: Annotated[str | None, typer.Option(help="The column of sample weights.")] = None,
    mask_col: Annotated[str | None, typer.Option(help="The column of mask images.")] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Files. Left out: of about 128 MiB each.")
    ] = None,
    max_side: Annotated[
        int | None, typer.Option(min=1, help="Make larger images this many pixels long.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Write a frame and its images as TFRecords into FOLDER.

    Interrupted and called again, it goes on with what is missing.
    """
    with errors_explained(debug):
        from dfloader.frame_files import read_frame  # loads pandas
        from dfloader.records_schema import read_schema
        from dfloader.records_write import write_tfrecords

        spec: dict[str, Any] = {"x_col": x_col, "y_col": y_col, "label_sep": label_sep}
        spec |= {"weight_col": weight_col, "mask_col": mask_col}
        spec |= {"directory": directory or frame.parent, "class_mode": _mode(class_mode)}
        write_tfrecords(read_frame(frame), folder, shards=shards, max_side=max_side, **spec)
        schema = read_schema(folder)
    typer.echo(f"{schema.rows:,} records in {len(schema.shards)} shards in {folder}")


@service.command()
def dispatcher(
    port: Annotated[int, typer.Option(min=0, help="To listen at; 0: any that is free.")] = 5050,
) -> None:
    """Run the one dispatcher; prints its address."""
    from dfloader.service import run_dispatcher  # loads TensorFlow

    run_dispatcher(port)


@service.command()
def worker(
    address: Annotated[
        str, typer.Argument(metavar="DISPATCHER", help="What the dispatcher printed.")
    ],
    port: Annotated[int, typer.Option(min=0, help="To listen at; 0: any that is free.")] = 0,
    host: Annotated[
        str | None, typer.Option(help="host:port under which others reach this worker.")
    ] = None,
) -> None:
    """Run a worker: one on each machine that decodes."""
    from dfloader.service import run_worker  # loads TensorFlow

    run_worker(address, port, host)


def _mode(word: str) -> str | None:
    return None if word.lower() == "none" else word


def _record_problems(folder: Path) -> list[str]:
    from rich.progress import track

    from dfloader.records_check import check_records
    from dfloader.records_schema import read_schema

    schema = read_schema(folder)
    shards = track(
        check_records(folder),
        "checking shards",
        len(schema.shards),
        transient=True,
        disable=not sys.stdout.isatty(),
    )
    problems = [f"{fault.path}: {fault.problem}" for faults in shards for fault in faults]
    if not problems:
        typer.echo(f"{schema.rows:,} records in {len(schema.shards)} shards are as written")
    return problems


def _frame_problems(
    path: Path, directory: Path | None, x_col: str | None, decode: bool
) -> list[str]:
    from dfloader.checks import check as check_frame
    from dfloader.frame_files import read_frame  # loads pandas

    if not path.exists():
        raise WrongUseError(f"There is no {path}.")
    df = read_frame(path)
    found = check_frame(
        df,
        directory=directory or path.parent,
        x_col=x_col,
        decode=decode,
        progress=sys.stdout.isatty(),
    )
    if found.empty:
        typer.echo(f"{len(df):,} images are {'good' if decode else 'there, by their headers'}")
    elif len(found) == len(df) and (found["problem"] == "does not exist").all():
        typer.echo("Not one is there: say where relative paths start with --directory.", err=True)
    return [f"row {line.row}: {line.path}: {line.problem}" for line in found.itertuples()]

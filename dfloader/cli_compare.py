"""The command `compare`. Imports nothing heavy until it runs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dfloader.cli_errors import Debug, Directory, XCol, YCol, errors_explained
from dfloader.usage import WrongUseError

if TYPE_CHECKING:
    from dfloader.comparison import Comparison

FrameFile = Annotated[
    Path, typer.Argument(metavar="FRAME", help=".csv, .tsv, .parquet, .json, .jsonl or .feather.")
]
_PICTURES = (".png", ".svg", ".pdf")


def compare(
    frame: FrameFile,
    plot: Annotated[
        Path | None, typer.Option(help="The picture to write: .png, .svg or .pdf.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="All that was measured, as JSON.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="One page with table, plot, machine and method.")
    ] = None,
    loaders: Annotated[
        str | None,
        typer.Option(
            help="Which, with commas between: inline, threads, processes, tf.data, cache, records, "
            "keras-preprocessing, keras, 'tf.data by hand', image_dataset_from_directory, torch. "
            "Left out: all but cache and records."
        ),
    ] = None,
    workers: Annotated[
        str, typer.Option(help="Numbers of workers, with commas between; 0: the calling thread.")
    ] = "0,2",
    model: Annotated[
        str,
        typer.Option(
            help="A compiled Keras model, or the time of a step such as 5ms: measures how long "
            "training waits for data."
        ),
    ] = "none",
    rounds: Annotated[int, typer.Option(min=1, help="Of each loader.")] = 3,
    budget: Annotated[float, typer.Option(min=1, help="Seconds that it may take, about.")] = 150.0,
    directory: Directory = None,
    x_col: XCol = None,
    y_col: YCol = None,
    class_mode: Annotated[
        str, typer.Option(help="categorical, sparse, binary, multilabel, raw, input or none.")
    ] = "categorical",
    label_sep: Annotated[str | None, typer.Option(help="Between the labels of a cell.")] = None,
    weight_col: Annotated[str | None, typer.Option(help="The column of sample weights.")] = None,
    mask_col: Annotated[str | None, typer.Option(help="The column of masks.")] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows in a batch.")] = 32,
    size: Annotated[str, typer.Option(help="Of the images: pixels a side, or HEIGHTxWIDTH.")] = (
        "256"
    ),
    color_mode: Annotated[str, typer.Option(help="rgb, rgba, grayscale or unchanged.")] = "rgb",
    interpolation: Annotated[
        str, typer.Option(help="bilinear, nearest, area, bicubic or lanczos.")
    ] = "bilinear",
    resize_mode: Annotated[str, typer.Option(help="stretch, crop or pad.")] = "stretch",
    decode: Annotated[str, typer.Option(help="scaled, or full: every pixel.")] = "scaled",
    dtype: Annotated[str, typer.Option(help="float32, uint8 or uint16.")] = "float32",
    augment: Annotated[str | None, typer.Option(help="light or imagenet.")] = None,
    on_error: Annotated[
        str, typer.Option(help="raise, or skip: an image that does not decode is black.")
    ] = "raise",
    seed: Annotated[int, typer.Option(min=0, help="Of order and augmentation.")] = 0,
    debug: Debug = False,
) -> None:
    """Measure how fast each loader is on FRAME, on this machine.

    First the loaders of dfloader must give equal batches. Then each runs in fresh processes that
    take turns. Exit status 1: the frame or an image is bad, or batches differ.
    """
    with errors_explained(debug):
        spec: dict[str, Any] = {"x_col": x_col, "y_col": y_col, "label_sep": label_sep}
        spec |= {"directory": directory or frame.parent, "class_mode": _or_none(class_mode)}
        spec |= {"weight_col": weight_col, "mask_col": mask_col, "on_error": on_error}
        spec |= {"target_size": read_size(size), "color_mode": color_mode, "dtype": dtype}
        spec |= {"interpolation": interpolation, "resize_mode": resize_mode, "decode": decode}
        spec |= {"augment": _preset(augment), "seed": seed}
        _check_places(plot, json_file, html)
        comparison = _compared(
            frame,
            {name: value for name, value in spec.items() if value is not None or name in _NONE},
            batch_size=batch_size,
            loaders=None if loaders is None else _words(loaders),
            workers=read_numbers(workers),
            model=model,
            rounds=rounds,
            budget=budget,
        )
        written = _write_all(comparison, plot, json_file, html)
    for path in written:
        typer.echo(f"Wrote {path}.")


_NONE = ("class_mode",)  # where None is a value, not the lack of one


def read_size(text: str) -> tuple[int, int]:
    """Read ``256`` or ``HEIGHTxWIDTH``.

    Raises:
        WrongUseError: it is neither.
    """
    found = re.fullmatch(r"(\d+)(?:x(\d+))?", text)
    if not found:
        raise WrongUseError(f"--size {text} is neither a number of pixels nor HEIGHTxWIDTH.")
    return int(found[1]), int(found[2] or found[1])


def read_numbers(text: str) -> list[int]:
    """Read whole numbers with commas between.

    Raises:
        WrongUseError: one is none.
    """
    words = _words(text)
    if not words or not all(word.isdecimal() for word in words):
        raise WrongUseError(f"--workers {text}: say whole numbers with commas between, as 0,2.")
    return [int(word) for word in words]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _or_none(word: str) -> str | None:
    return None if word.lower() == "none" else word


def _preset(name: str | None) -> Any:
    from dfloader.preview_frame import PRESETS  # loads OpenCV

    if name is None:
        return None
    if name not in PRESETS:
        raise WrongUseError(f"--augment {name} is not one of {', '.join(PRESETS)}.")
    return PRESETS[name]()


def _check_places(plot: Path | None, json_file: Path | None, html: Path | None) -> None:
    """Find what would fail after minutes of work before them."""
    if plot is not None:
        from dfloader.plots import require_matplotlib

        require_matplotlib()
        if plot.suffix.lower() not in _PICTURES:
            raise WrongUseError(f"--plot {plot} does not end in one of {', '.join(_PICTURES)}.")
    for path in (plot, json_file, html):
        if path is not None and not path.absolute().parent.is_dir():
            raise WrongUseError(f"There is no folder {path.absolute().parent} to write {path} to.")


def _compared(frame: Path, spec: dict[str, Any], *, batch_size: int, **how: Any) -> "Comparison":
    from dfloader.comparing import Options, run  # loads pandas and OpenCV
    from dfloader.comparison_table import print_comparison
    from dfloader.frame_files import read_frame

    try:
        options = Options(**how, progress=True)
        comparison = run(read_frame(frame), options, name=frame.name, batch_size=batch_size, **spec)
    except ValueError as error:  # of options; the frame's errors are of its own kinds
        if type(error) is not ValueError:
            raise
        raise WrongUseError(str(error)) from error
    print_comparison(comparison, Console())
    return comparison


def _write_all(
    comparison: "Comparison", plot: Path | None, json_file: Path | None, html: Path | None
) -> list[Path]:
    from dfloader.comparison import to_json
    from dfloader.comparison_html import page
    from dfloader.comparison_plot import draw
    from dfloader.contestants import KINDS
    from dfloader.records_shard import beside

    ours = frozenset(name for name, kind in KINDS.items() if kind.ours)
    makers: dict[Path | None, Callable[[IO[bytes]], Any]] = {
        plot: lambda file: draw(file, comparison, ours, form=str(plot)[-3:].lower()),
        json_file: lambda file: file.write(json.dumps(to_json(comparison), indent=1).encode()),
        html: lambda file: file.write(page(comparison, ours).encode()),
    }
    for path, make in makers.items():
        if path is not None:
            with beside(path) as file:
                make(file)
    return [path for path in makers if path is not None]

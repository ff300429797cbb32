"""A comparison as a picture. Needs matplotlib, an extra."""

import textwrap
from pathlib import Path
from typing import IO

from dfloader.comparison import Comparison, Result
from dfloader.comparison_words import Column, machine_in_words, shown_columns
from dfloader.plots import COLOURS, Panel, draw_comparison

OURS, PEER = COLOURS[0], "#9aa5b1"
_LINE = 170  # characters of the note in a line
# Both rates side by side would hide the rest; the second is in the table.
_DRAWN = (
    "wall_images_per_second",
    "cpu_ms_per_image",
    "first_batch_seconds",
    "peak_mb",
    "wait_share",
)


def draw(
    path: Path | IO[bytes], comparison: Comparison, ours: frozenset[str], *, form: str
) -> None:
    """Write a bar for each loader and measure, the spread drawn on it.

    Args:
        path: of the picture, or a file open for it.
        comparison: what is drawn.
        ours: the loaders of this package, by `Result.loader`.
        form: of the file: png, svg, pdf.
    """
    ranked = comparison.ranked()
    panels = [_panel(c, ranked) for c in shown_columns(comparison) if c.measure in _DRAWN]
    draw_comparison(
        path,
        f"Loading {comparison.work.frame}",
        _note(comparison),
        [each.name for each in ranked],
        panels,
        colours=[OURS if each.loader in ours else PEER for each in ranked],
        form=form,
    )


def _panel(column: Column, results: list[Result]) -> Panel:
    def scaled(value: float | None) -> float:
        return (value or 0.0) * column.factor

    spreads = [each.spread(column.measure) or (0.0, 0.0) for each in results]
    better = "more" if column.more_is_better else "less"
    return Panel(
        f"{column.head}, {column.unit}\n({better} is better)",
        [scaled(each.median(column.measure)) for each in results],
        [(scaled(low), scaled(high)) for low, high in spreads],
        form=column.form,
    )


def _note(comparison: Comparison) -> str:
    rounds = max((len(each.rounds) for each in comparison.results), default=0)
    lines = [
        comparison.verdict(),
        f"Blue: dfloader; grey: others. Bars: median of {rounds} rounds, each in a fresh process; "
        "lines: lowest to highest.",
        *machine_in_words(comparison),
    ]
    return "\n".join(part for line in lines for part in textwrap.wrap(line, _LINE))

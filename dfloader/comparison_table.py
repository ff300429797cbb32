"""A comparison as a pandas frame and as a table to print. May import pandas."""

from typing import Any

import pandas as pd
from rich.box import ROUNDED, Box
from rich.console import Console
from rich.table import Table

from dfloader.comparison import MEASURES, RANKED_BY, Comparison, Result, places, to_json
from dfloader.comparison_words import (
    Column,
    middle,
    notes,
    place_in_words,
    shown_columns,
    spread,
)

_PLAIN_WIDTH = 250  # columns: where there is no terminal, nothing is cut


def frame_of(comparison: Comparison) -> pd.DataFrame:
    """Give one line a loader, the fastest first; `attrs` hold the whole comparison."""
    held = places(comparison.results)
    lines = [_line(each, place_in_words(held[each.name])) for each in comparison.ranked()]
    frame = pd.DataFrame(lines, index=[each.name for each in comparison.ranked()])
    frame.attrs["comparison"] = to_json(comparison)
    return frame


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the table and what is to be said about it; plain text where there is no terminal."""
    plain = not console.is_terminal
    if plain:
        uncut = Console(file=console.file, width=_PLAIN_WIDTH)
        uncut.print(_table(comparison, box=None, spreads=True))
    else:
        console.print(_fitting(comparison, console))
    for line in notes(comparison):
        console.print(line, markup=False, highlight=False, soft_wrap=plain)


def _line(result: Result, place: str) -> dict[str, Any]:
    line: dict[str, Any] = {"loader": result.loader, "workers": result.workers, "place": place}
    line["rounds"] = len(result.rounds)
    for measure in MEASURES:
        low, high = result.spread(measure) or (None, None)
        line[measure] = result.median(measure)
        line[f"{measure}_low"], line[f"{measure}_high"] = low, high
    return line


def _fitting(comparison: Comparison, console: Console) -> Table:
    """Give the table with the most that there is room for."""
    unbounded = console.options.update(width=_PLAIN_WIDTH)
    for spreads in (True, False):
        table = _table(comparison, box=ROUNDED, spreads=spreads)
        if console.measure(table, options=unbounded).maximum <= console.width:
            return table
    return _table(comparison, box=ROUNDED, spreads=False, short=True)


def _table(comparison: Comparison, *, box: Box | None, spreads: bool, short: bool = False) -> Table:
    """Make the table; without `spreads` only the measure that ranks shows its own."""
    held = places(comparison.results)
    shown = [column for column in shown_columns(comparison) if column.short or not short]
    table = Table(box=box)
    table.add_column("place", no_wrap=True)
    table.add_column("loader", no_wrap=not short, overflow="fold")
    for column in shown:
        head = column.short if short else f"{column.head},\n{column.unit}"
        table.add_column(head, justify="right", no_wrap=True)
    for each in comparison.ranked():
        cells = [
            _cell(each, column, spreads or column.measure == RANKED_BY, one_line=box is None)
            for column in shown
        ]
        table.add_row(place_in_words(held[each.name]), each.name, *cells)
    return table


def _cell(result: Result, column: Column, with_spread: bool, *, one_line: bool) -> str:
    beside = spread(result, column) if with_spread else ""
    if not beside:
        return middle(result, column)
    return middle(result, column) + (f" ({beside})" if one_line else f"\n{beside}")

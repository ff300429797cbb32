"""A comparison as one HTML page that needs nothing else: no script, no font, no picture beside it.

The bars are SVG whose lengths are percentages and whose colours are the style sheet's, so that the
page reads at any width, light or dark, without text that shrinks.
"""

import json
from html import escape

from dfloader.comparison import Comparison, Result, places, to_json
from dfloader.comparison_style import STYLE
from dfloader.comparison_words import (
    METHOD,
    Column,
    machine_in_words,
    middle,
    place_in_words,
    proof_in_words,
    shown_columns,
    spread,
    work_in_words,
)

_LONGEST_BAR = 96.0  # percent: the end of a spread stays inside


def page(comparison: Comparison, ours: frozenset[str]) -> str:
    """Give the page.

    Args:
        comparison: what it shows.
        ours: the loaders of this package, by `Result.loader`.
    """
    title = f"Loading {comparison.work.frame}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict">{escape(comparison.verdict())}</p>',
        _section("Advice", _paragraph(comparison.advice)) if comparison.advice else "",
        _section("In pictures", _legend() + _charts(comparison, ours)),
        _section("In figures", _table(comparison, ours) + _notes(comparison)),
        _section("Left out", _left_out(comparison)) if comparison.left_out else "",
        _section("Predicted and checked", _checked(comparison)) if comparison.predictions else "",
        _section("The work", _paragraph(work_in_words(comparison))),
        _section("The machine", "".join(map(_paragraph, machine_in_words(comparison)))),
        _section("The method", _method(comparison)),
    ]
    data = json.dumps(to_json(comparison)).replace("</", "<\\/")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(part for part in parts if part)
        + f'\n</main><script type="application/json" id="comparison">{data}</script>'
        "</body></html>\n"
    )


def _section(head: str, body: str) -> str:
    return f"<section><h2>{head}</h2>{body}</section>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _legend() -> str:
    return (
        '<p class="legend"><span class="key ours"></span>dfloader '
        '<span class="key"></span>others. A bar is the median of the rounds, the line across its '
        "end goes from the lowest to the highest.</p>"
    )


def _charts(comparison: Comparison, ours: frozenset[str]) -> str:
    ranked = comparison.ranked()
    charts = [_chart(column, ranked, ours) for column in shown_columns(comparison)]
    return f'<div class="charts">{"".join(charts)}</div>'


def _chart(column: Column, results: list[Result], ours: frozenset[str]) -> str:
    better = "more" if column.more_is_better else "less"
    longest = max(high for _, high in (r.spread(column.measure) or (0, 0) for r in results))
    bars = "".join(_bar(column, each, each.loader in ours, longest or 1.0) for each in results)
    return (
        f"<figure><figcaption>{escape(column.head)}, {escape(column.unit)} "
        f"<small>{better} is better</small></figcaption>{bars}</figure>"
    )


def _bar(column: Column, result: Result, is_ours: bool, longest: float) -> str:
    low, high = result.spread(column.measure) or (0.0, 0.0)
    at = [
        f"{_LONGEST_BAR * value / longest:.2f}%"
        for value in (result.median(column.measure) or 0.0, low, high)
    ]
    figure = middle(result, column)
    label = f"{result.name}: {figure} {column.unit}"
    return (
        f'<div class="bar{" ours" if is_ours else ""}"><span>{escape(result.name)}</span>'
        f'<svg role="img" aria-label="{escape(label)}"><rect width="{at[0]}" height="14" y="3" '
        f'rx="2"/><line x1="{at[1]}" x2="{at[2]}" y1="10" y2="10"/></svg><b>{figure}</b></div>'
    )


def _table(comparison: Comparison, ours: frozenset[str]) -> str:
    held, shown = places(comparison.results), shown_columns(comparison)
    heads = "".join(f"<th>{escape(c.head)}, {escape(c.unit)}</th>" for c in shown)
    lines = [
        f"<tr{_mark(each, ours)}><td>{place_in_words(held[each.name])}</td>"
        f'<th scope="row">{escape(each.name)}</th>{_cells(each, shown)}</tr>'
        for each in comparison.ranked()
    ]
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="All figures"><table><thead>'
        f"<tr><th>place</th><th>loader</th>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _mark(result: Result, ours: frozenset[str]) -> str:
    return ' class="ours"' if result.loader in ours else ""


def _cells(result: Result, columns: list[Column]) -> str:
    return "".join(
        f"<td>{middle(result, column)}<small>{spread(result, column)}</small></td>"
        for column in columns
    )


def _notes(comparison: Comparison) -> str:
    noted = [each for each in comparison.ranked() if each.note]
    return _definitions([(each.name, each.note) for each in noted])


def _left_out(comparison: Comparison) -> str:
    return _definitions([(each.name, each.reason) for each in comparison.left_out])


def _checked(comparison: Comparison) -> str:
    found = []
    for each in comparison.predictions:
        run = "not run" if each.measured is None else f"{each.measured:,.0f} measured"
        found.append((each.change, f"{each.predicted:,.0f} images/s predicted, {run}"))
    return _definitions(found)


def _definitions(pairs: list[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}.</dd>" for name, text in pairs)
    return f"<dl>{items}</dl>" if items else ""


def _method(comparison: Comparison) -> str:
    proof = proof_in_words(comparison) if comparison.proof else ""
    return _paragraph(METHOD) + (
        _paragraph(f"Before anything was measured: {proof}") if proof else ""
    )

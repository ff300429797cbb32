"""The pictures that the command line draws. May import matplotlib, which is an extra.

No pyplot: a Figure of its own needs no display and leaves no global state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy.typing as npt

from dfloader.usage import WrongUseError

INSTALL = 'python -m pip install "dfloader[plot]"'
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
INK = "#333333"
DPI = 120
COLUMNS = 8  # pictures beside each other in a grid


@dataclass(frozen=True)
class Panel:
    """One measure of every loader: a bar each.

    Attributes:
        title: what was measured, with its unit.
        values: one number a loader.
        ranges: the lowest and highest of several measurements, one pair a loader; or empty.
        form: how a number is written beside its bar.
    """

    title: str
    values: Sequence[float]
    ranges: Sequence[tuple[float, float]] = ()
    form: str = "{:,.0f}"


def require_matplotlib() -> None:
    """Raise a `WrongUseError` that says what to install, before long work rather than after."""
    if find_spec("matplotlib") is None:
        raise WrongUseError(f"The pictures need matplotlib, which is not installed: {INSTALL}")


def draw_comparison(
    path: Path | IO[bytes],
    title: str,
    note: str,
    names: Sequence[str],
    panels: Sequence[Panel],
    *,
    colours: Sequence[str] = COLOURS,
    form: str | None = None,
) -> None:
    """Write horizontal bars, one panel a measure, one bar a loader, with the figures on them.

    Args:
        path: of the picture, or a file open for it.
        title: above it.
        note: below it.
        names: of the loaders, the first on top.
        panels: one for each measure.
        colours: of the bars in turn.
        form: of the file, as matplotlib names it; None: as the path ends.
    """
    figure = _figure(2.6 * len(panels) + 1.2, 0.5 * len(names) + 1.6)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8.5, color="#666666")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, names, panel, colours)
    axes[0].invert_yaxis()  # the first loader on top, once for all: the panels share the axis
    figure.savefig(path, dpi=DPI, format=form)


def draw_grid(
    path: Path, title: str, images: Sequence[npt.NDArray[Any]], labels: Sequence[str]
) -> None:
    """Write pictures (h, w, 3) uint8 in rows of eight, each with its label above it."""
    rows = -(-len(images) // COLUMNS)
    figure = _figure(1.35 * COLUMNS, 1.55 * rows + 0.5)
    figure.suptitle(title, fontsize=13, fontweight="bold", color=INK)
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, image, label in zip(axes, images, labels, strict=False):
        axis.imshow(image)
        axis.set_title(_short(label), fontsize=9, color=INK, pad=3)
    figure.savefig(path, dpi=DPI)


def _figure(width: float, height: float) -> Any:
    require_matplotlib()
    from matplotlib.figure import Figure  # an extra: absent for most users, so not at the top

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _draw_panel(
    axis: Any, names: Sequence[str], panel: Panel, colours: Sequence[str] = COLOURS
) -> None:
    drawn = [colours[i % len(colours)] for i in range(len(names))]
    bars = axis.barh(range(len(names)), panel.values, color=drawn, height=0.68)
    _draw_ranges(axis, panel)
    tops = [high for _, high in panel.ranges] or list(panel.values)
    for bar, value, top in zip(bars, panel.values, tops, strict=True):
        where = (max(top, value), bar.get_y() + bar.get_height() / 2)
        text = panel.form.format(value)
        axis.annotate(
            text, where, xytext=(5, 0), textcoords="offset points", va="center", color=INK
        )
    axis.set_yticks(range(len(names)), names)
    axis.set_title(panel.title, fontsize=10.5, color=INK, loc="left")
    axis.set_xlim(0, 1.3 * max([*tops, 1e-9]))  # room for the figures
    _bare(axis)


def _draw_ranges(axis: Any, panel: Panel) -> None:
    for position, (low, high) in enumerate(panel.ranges):
        axis.plot([low, high], [position, position], color=INK, linewidth=1.4, marker="|")


def _bare(axis: Any) -> None:
    for side in ("top", "right", "bottom"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="both", length=0, colors=INK)
    axis.set_xticks([])  # the figures stand on the bars


def _short(label: str, limit: int = 16) -> str:
    return label if len(label) <= limit else label[: limit - 1] + "…"

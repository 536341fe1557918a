"""Draws the overhead. Needs matplotlib, which no other file does."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks import theme
from benchmarks.overhead import Line, Panel
from benchmarks.subject import CHECKIFY, NATIVE, PLAIN, PYTHON, REFERENCE


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is drawn; two lines differ in more than their colour.

    Attributes:
        color: One of the light theme.
        marker: The shape of its points, as matplotlib names it.
        dashes: The pattern of the line, as matplotlib names it.
        width: Its width in points.
    """

    color: str
    marker: str
    dashes: str = "-"
    width: float = 1.4


_STYLES = {
    NATIVE: Style(theme.BLUE, "o", width=2.4),
    PYTHON: Style(theme.ORANGE, "s"),
    PLAIN: Style(theme.RED, "X", "--"),
    REFERENCE: Style(theme.PURPLE, "^", ":"),
    CHECKIFY: Style(theme.GREEN, "D", "-."),
}

_SETTINGS: Any = {
    # Text stays text: it can be searched, read aloud and copied.
    "svg.fonttype": "none",
    # What ids are made of; by default it is random.
    "svg.hashsalt": "overhead",
    # The font that matplotlib brings along: the layout is the same on every machine.
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": theme.INK,
    "axes.labelcolor": theme.INK,
    "axes.edgecolor": theme.RULE,
    "axes.facecolor": theme.PAPER,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": theme.PAPER,
    "grid.color": theme.GRID,
    "xtick.color": theme.INK,
    "ytick.color": theme.INK,
    "legend.frameon": False,
}

_PANEL_INCHES = (3.2, 3.4)


def draw(panels: Sequence[Panel]) -> str:
    """Draw the panels side by side.

    Args:
        panels: One for each element type.

    Returns:
        An SVG document in light colours, the same for the same panels.
    """
    width, height = _PANEL_INCHES
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(width * len(panels), height), layout="constrained")
        rooms = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(rooms, panels, strict=True):
            _draw_panel(axes, panel)
        rooms[0].set_ylabel("times the time without checks")
        legend = {
            label: handle
            for axes in rooms
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(legend.values(), legend.keys(), loc="outside upper center", ncols=len(legend))
        document = StringIO()
        figure.savefig(document, format="svg", metadata={"Date": None, "Creator": None})
    return document.getvalue()


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.element_type)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("elements")
    axes.grid(visible=True, linewidth=0.6)
    axes.axhline(1, color=theme.INK, linewidth=1)
    for line in panel.lines:
        _draw_line(axes, line)
    axes.xaxis.set_major_locator(LogLocator(base=1000))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())


def _draw_line(axes: Axes, line: Line) -> None:
    style = _STYLES[line.subject]
    axes.plot(
        list(line.points),
        list(line.points.values()),
        label=line.title,
        color=style.color,
        marker=style.marker,
        markersize=4.5,
        linestyle=style.dashes,
        linewidth=style.width,
    )


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"

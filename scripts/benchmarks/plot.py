"""`benchmark.py plot`: a picture of the figures of `operators --json`. Needs matplotlib."""

import argparse
import io
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.measurement import CHECKIFY, NATIVE, PLAIN, PYTHON, REFERENCE, SUBJECTS
from benchmarks.report import new_file

_STYLES = {NATIVE: "o-", PYTHON: "s-", PLAIN: "X--", REFERENCE: "^:", CHECKIFY: "D-."}
"""The subjects that are plotted, each with a marker and a line of its own, as matplotlib has it."""

_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: it can be searched and copied
    "svg.hashsalt": "overhead",  # the same figures give the same file
    "font.size": 9,
    "axes.grid": True,
    "axes.titlelocation": "left",
}

_COLOURS = ("#1f77b4", "#d9660a", "#2ca02c", "#d62728", "#9467bd")
"""Those of the subjects, in their order: each is visible on a white and on a dark ground."""

_DARK = """
@media (prefers-color-scheme: dark) {
  text { fill: #e6e6e6 }
  [style*="fill: #ffffff"] { fill: #14151a !important }
  [style*="stroke: #000000"] { stroke: #e6e6e6 !important }
  [style*="stroke: #b0b0b0"], [style*="stroke: #cccccc"] { stroke: #4a4d57 !important }
}"""
"""What takes the place of black on white where the reader prefers a dark ground."""

Panels = dict[str, dict[str, dict[int, float]]]
"""The median ratio by element type, subject and number of elements."""


class NoFigures(Exception):  # noqa: N818 - reads as what happened
    """A file holds nothing to plot; the message says why."""


def run(arguments: Sequence[str], find: Callable[[str], object | None] = find_spec) -> int:
    """Draw the figures.

    Returns:
        The exit status: 0, or 2 if there are no figures or matplotlib is missing.
    """
    parser = argparse.ArgumentParser(
        prog="benchmark.py plot", description="Plot overhead against size, from what --json wrote."
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json", help="what --json wrote")
    parser.add_argument("picture", type=_svg, metavar="PICTURE.svg", help="where to draw")
    options = parser.parse_args(arguments)
    try:
        panels = read_panels(options.results)
    except NoFigures as error:
        print(error)
        return 2
    if find("matplotlib") is None:
        print("The package matplotlib is not installed; to plot: pip install --group benchmark")
        return 2
    _draw(panels, options.picture)
    return 0


def read_panels(file: Path) -> Panels:
    """Read what `operators --json` wrote of single nodes.

    Raises:
        NoFigures: It holds no such figures.
    """
    panels: Panels = {}
    try:
        for figure in json.loads(file.read_text(encoding="utf-8"))["figures"]:
            if figure["nodes"] == 1 and figure["subject"] in _STYLES:
                lines = panels.setdefault(str(figure["element_type"]), {})
                points = lines.setdefault(figure["subject"], {})
                points[int(figure["elements"])] = float(figure["ratio"]["median"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoFigures(
            f"'{file}' does not hold the figures that 'operators --json' writes: {error!r}"
        ) from error
    if not panels:
        raise NoFigures(f"'{file}' holds no figures of a single Div")
    return panels


def _draw(panels: Panels, file: Path) -> None:
    # Imported only now, because it may be missing.
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(3.2 * len(panels), 3.4), layout="constrained")
        rooms = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (element_type, lines) in zip(rooms, panels.items(), strict=True):
            _draw_panel(axes, element_type, lines)
        rooms[0].set_ylabel("times the time without checks")
        longest = max(rooms, key=lambda axes: len(axes.get_lines()))
        handles, titles = longest.get_legend_handles_labels()
        figure.legend(handles, titles, loc="outside upper center", ncols=len(titles))
        picture = io.StringIO()
        figure.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    # Black on white becomes light on dark for readers who prefer that.
    drawn = picture.getvalue().replace("</style>", f"{_DARK}</style>", 1)
    file.write_text(drawn, encoding="utf-8")


def _draw_panel(axes: Any, element_type: str, lines: Mapping[str, Mapping[int, float]]) -> None:
    axes.set(title=element_type, xlabel="elements", xscale="log", yscale="log")
    axes.minorticks_off()
    axes.axhline(1, color="black", linewidth=1)
    for place, (subject, style) in enumerate(_STYLES.items()):
        if subject in lines:
            points = sorted(lines[subject].items())
            title = SUBJECTS[subject].title
            axes.plot(*zip(*points, strict=True), style, color=_COLOURS[place], label=title)


def _svg(text: str) -> Path:
    if not text.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"'{text}' is no SVG; name a file that ends in .svg")
    return new_file(text)

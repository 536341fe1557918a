"""The command that makes a picture of the figures of `operators --json`."""

import argparse
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.arguments import new_file
from benchmarks.overhead import NoFigures, Panel, read_panels

_TITLE = "What enforcing the profile costs, by the number of elements"

_AXES = """\
Line charts, one for each element type, of the time of one Div as a multiple of the time without \
checks, on logarithmic axes."""


def run(arguments: Sequence[str], find: Callable[[str], object | None] = find_spec) -> int:
    """Draw the figures.

    Args:
        arguments: The command line behind the name of the command.
        find: Gives None for a package that is not installed.

    Returns:
        The exit status: 0, or 2 if there are no figures or matplotlib is missing.
    """
    options = _parser().parse_args(arguments)
    try:
        panels = read_panels(options.results)
    except NoFigures as error:
        print(error)
        return 2
    if find("matplotlib") is None:
        print("The package matplotlib is not installed; to plot: pip install '.[benchmark]'")
        return 2
    options.picture.write_text(_picture(panels), encoding="utf-8")
    return 0


def _picture(panels: Sequence[Panel]) -> str:
    # Imported only now, because they need matplotlib.
    from benchmarks.figure import draw  # noqa: PLC0415
    from benchmarks.theme import make_accessible  # noqa: PLC0415

    return make_accessible(draw(panels), _TITLE, _describe(panels))


def _describe(panels: Sequence[Panel]) -> str:
    return " ".join([_AXES, *(panel.sentence() for panel in panels)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmark.py plot",
        description="Plot overhead against size, from the figures of the measurement operators.",
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json", help="what --json wrote")
    parser.add_argument("picture", type=_svg, metavar="PICTURE.svg", help="where to draw")
    return parser


def _svg(text: str) -> Path:
    if not text.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"'{text}' is no SVG; name a file that ends in .svg")
    return new_file(text)

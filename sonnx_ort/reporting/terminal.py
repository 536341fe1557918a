"""Lines for a terminal: their width and their colours."""

import enum
import textwrap
from collections.abc import Callable, Sequence

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

from sonnx_ort.printable import printable

WIDTH = 100


class Colour(enum.StrEnum):
    """The colours of lines on a terminal."""

    NAME = "cyan"
    VIOLATED = "red"
    OPEN = "yellow"
    PROVED = "green"


Paint = Callable[[str, Colour], str]
"""Colours a line, or returns it unchanged."""


def paint_of(*, coloured: bool) -> Paint:
    """What colours a line, with terminal escape sequences if they are wanted."""
    return _in_colour if coloured else _plain


def _in_colour(line: str, colour: Colour) -> str:
    style = Style(color=colour.value, bold=colour is Colour.VIOLATED)
    return style.render(printable(line), color_system=ColorSystem.STANDARD)


def _plain(line: str, colour: Colour) -> str:
    del colour
    return printable(line)


def colours_wanted() -> bool:
    """Whether standard output is a terminal that shows colours, and colours are not disabled."""
    console = Console()
    return console.color_system is not None and not console.no_color


def wrapped(text: str, indent: str) -> list[str]:
    """A text in lines of at most `WIDTH` columns, all but the first one indented further."""
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )


def in_columns(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    """Rows with their cells below each other; numbers, as text, are set to the right."""
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = [any(map(_is_number, column)) for column in zip(*rows, strict=True)]
    return [
        indent
        + "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in rows
    ]


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").isdigit()

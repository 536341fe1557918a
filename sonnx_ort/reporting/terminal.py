"""Lines for a terminal: their width and their colours."""

import enum
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

from sonnx_ort.errors import printable

WIDTH = 100
"""The most columns that a line has, and what it has where no terminal shows it."""

_NARROWEST = 30
"""Lines have so many columns in a terminal that has fewer."""

_width = ContextVar("width", default=WIDTH)


@contextmanager
def lines_for_standard_output(*, shown: bool = True) -> Iterator[None]:
    """Keep lines to the width of the terminal until the block ends.

    Args:
        shown: Whether they are written to standard output; files have lines of `WIDTH` columns, as
            has standard output that is no terminal.
    """
    terminal = shown and sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else WIDTH
    token = _width.set(min(max(columns, _NARROWEST), WIDTH))
    try:
        yield
    finally:
        _width.reset(token)


def width() -> int:
    """The most columns that a line may have now."""
    return _width.get()


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
    return _in_colour if coloured else lambda line, _: printable(line)


def _in_colour(line: str, colour: Colour) -> str:
    from rich.color import ColorSystem
    from rich.style import Style

    style = Style(color=colour.value, bold=colour is Colour.VIOLATED)
    return style.render(printable(line), color_system=ColorSystem.STANDARD)


_ASKED_FOR = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"})
"""The variables by which rich takes any stream for a terminal."""


def may_be_terminal(stream: TextIO | None) -> bool:
    """Whether rich, which takes long to import, has to be asked if a stream is a terminal."""
    asked_for = not _ASKED_FOR.isdisjoint(os.environ)
    return asked_for or (stream is not None and not stream.closed and stream.isatty())


def colours_wanted() -> bool:
    """Whether standard output is a terminal that shows colours, and colours are not disabled."""
    if not may_be_terminal(sys.stdout):
        return False
    from rich.console import Console

    console = Console()
    return console.color_system is not None and not console.no_color


def wrapped(text: str, indent: str) -> list[str]:
    """A text in lines of at most `width()` columns, all but the first one indented further."""
    return _wrapped(text, indent, indent + "  ")


def fitted(text: str) -> str:
    """A text whose lines are wrapped where they are too long.

    A line goes on below its last column, or further indented than it begins.
    """
    return "\n".join(line for long in text.split("\n") for line in _fitted(printable(long)))


_LAST_COLUMN = re.compile(r" *(?:\S+(?: \S+)* {2,})*")


def _fitted(line: str) -> list[str]:
    """A line, wrapped if it is too long; a table goes on below its last column."""
    if len(line) <= width():
        return [line]
    start = line[: len(line) - len(line.lstrip())]
    column = len(_LAST_COLUMN.match(line)[0])  # type: ignore[index] # it matches any line
    if len(start) < column <= width() // 2:
        return _wrapped(line[column:], line[:column], " " * column)
    return wrapped(line.lstrip(), start)


def _wrapped(text: str, first: str, further: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        width(),
        initial_indent=first,
        subsequent_indent=further,
        break_on_hyphens=False,
    )


def table_of_numbers(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table of numbers, with a name in front of each row; each row in words if it is too wide."""
    lines = in_columns([head, *rows])
    if max(map(len, lines)) <= width():
        return lines
    in_words = (
        f"{name}: {', '.join(f'{column} {n}' for n, column in zip(cells, head[1:], strict=True))}"
        for name, *cells in rows
    )
    return [line for row in in_words for line in wrapped(row, "")]


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

"""Lines on a terminal: a name in a model gives no commands to it."""

import pytest

from sonnx_ort.reporting.terminal import Colour, paint_of


@pytest.mark.parametrize("colour", Colour)
@pytest.mark.parametrize("line", ["\x1b[2Jname", "name\x07", "a\rb", "\x9b1m"])
def test_controls_in_a_line_are_shown_and_not_sent(line: str, colour: Colour) -> None:
    plain = paint_of(coloured=False)(line, colour)
    assert plain.isprintable()
    painted = paint_of(coloured=True)(line, colour)
    start, shown, end = painted.partition(plain)
    assert shown == plain
    assert start.startswith("\x1b[")
    assert end == "\x1b[0m"


@pytest.mark.parametrize("colour", Colour)
def test_line_has_the_colour_that_is_asked_for(colour: Colour) -> None:
    codes = {"cyan": "36", "red": "1;31", "yellow": "33", "green": "32"}
    assert paint_of(coloured=True)("a line", colour) == f"\x1b[{codes[colour]}ma line\x1b[0m"

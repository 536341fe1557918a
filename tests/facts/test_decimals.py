"""Bounds as text are no better than they are, and no worse than their digits allow."""

import ast
import math
import re
import struct
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from sonnx_ort.facts import decimals
from sonnx_ort.facts.decimals import at_least, at_most
from sonnx_ort.facts.ranges import Range

NUMBERS = (
    *(0.0010049, 2.0137527074704764, 16777217.0, 0.1, 1e-5, 99999.95, 999999.5, 123456.0, 0.0),
    *(5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e22, 0.30000000000000004),
)


@pytest.mark.parametrize(("number", "digits", "least", "most"), [
    (0.0010049, 3, "0.001", "0.00101"),
    (2.0137527074704764, 6, "2.01375", "2.01376"),
    (-0.12345678, 6, "-0.123457", "-0.123456"),
    (16777217.0, 6, "1.67772e+07", "1.67773e+07"),
    (999999.5, 6, "999999", "1e+06"),
    (0.1, 3, "0.1", "0.1"),
    (-2.0, 6, "-2", "-2"),
    (-0.0, 6, "-0", "-0"),
    (1.7976931348623157e308, 6, "1.79769e+308", "1.7977e+308"),
    (5e-324, 2, "4.9e-324", "4.9e-324"),
    (math.inf, 6, "inf", "inf"),
    (-math.inf, 6, "-inf", "-inf"),
])  # fmt: skip
def test_bounds_are_rounded_away_from_what_they_bound(
    number: float, digits: int, least: str, most: str
) -> None:
    assert (at_least(number, digits), at_most(number, digits)) == (least, most)


def test_text_of_a_bound_is_the_nearest_one_that_holds() -> None:
    rng = Random("decimals")  # noqa: S311 - no cryptography
    drawn = (struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0] for _ in range(20_000))
    for number in (*NUMBERS, *(each for each in drawn if math.isfinite(each))):
        for digits in (3, 4, 6):
            least, most = at_least(number, digits), at_most(number, digits)
            assert float(least) <= number <= float(most)
            assert f"{number:.{digits}g}" in (least, most)
            assert max(len(Decimal(each).as_tuple().digits) for each in (least, most)) <= digits


def test_interval_as_text_contains_its_ends() -> None:
    assert str(Range(-0.12345678, 2.0137527074704764)) == "-0.123457 to 2.01376"
    assert str(Range(-0.98765432, -0.12345678, nan=True)) == "-0.987655 to -0.123456 or NaN"


SHORT = {
    "conforming/assumptions.py": 2,
    "facts/decimals.py": 1,
    "reporting/difference_report.py": 1,
}
"""How many numbers are rounded to the nearest decimal, by file: none of them is a bound."""


@pytest.mark.thorough
def test_no_other_number_is_rounded_to_the_nearest_decimal() -> None:
    folder = Path(decimals.__file__).parents[1]
    found = {}
    for path in sorted(folder.rglob("*.py")):
        shown = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        formats = [ast.unparse(n.format_spec) for n in shown if getattr(n, "format_spec", None)]
        if count := sum(bool(re.search(r"\.(\d+|\{\w+\})g", each)) for each in formats):
            found[path.relative_to(folder).as_posix()] = count
    assert found == SHORT

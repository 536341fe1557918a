"""Intervals of numbers: what they contain, exclude and show."""

import math

import numpy as np
import pytest

from sonnx_ort.facts.ranges import ANYTHING, Interval, Range

INF = math.inf


@pytest.mark.parametrize(
    ("number", "inside"), [(-1.0, True), (2.0, True), (0.5, True), (-1.1, False), (2.1, False)]
)
def test_both_ends_belong_to_an_interval(number: float, inside: bool) -> None:
    assert (number in Range(-1.0, 2.0)) is inside


@pytest.mark.parametrize(
    ("found", "says", "finite"),
    [
        (Range(-INF, INF, nan=True), False, False),
        (Range(-INF, INF), True, False),
        (Range(0, INF, nan=True), True, False),
        (Range(-INF, 0, nan=True), True, False),
        (Range(0, INF), True, False),
        (Range(-INF, 0), True, False),
        (Range(0, 1, nan=True), True, False),
        (Range(0, 1), True, True),
    ],
    ids=str,
)
def test_interval_says_something_if_it_excludes_a_float_and_is_finite_without_nan_and_infinity(
    found: Range, says: bool, finite: bool
) -> None:
    assert (found.says_something, found.finite) == (says, finite)


def test_text_of_an_interval_is_rounded_outwards_and_names_nan() -> None:
    assert str(Range(1 / 3, 2 / 3)) == "0.333333 to 0.666667"
    assert str(Range(-1 / 3, 1 / 3, nan=True)) == "-0.333334 to 0.333334 or NaN"


LOWER = np.array([[1.0, -4.0], [2.0, 0.0]])
MIXED = Interval(LOWER, LOWER + 1, nan=False)
"""The intervals 1 to 2, -4 to -3, 2 to 3 and 0 to 1."""


@pytest.mark.parametrize("nan", [False, True])
def test_uniform_interval_contains_those_of_all_elements(nan: bool) -> None:
    found = Interval(LOWER, LOWER + 1, nan).uniform
    assert (found.lower.tolist(), found.upper.tolist(), found.nan) == (-4, 3, nan)


@pytest.mark.parametrize(
    ("axes", "rank", "lower", "upper"),
    [
        ([0], 2, [[1, -4]], [[3, 1]]),
        ([1], 2, [[-4], [0]], [[2], [3]]),
        ([0, 1], 2, [[-4]], [[3]]),
        ([], 2, LOWER.tolist(), (LOWER + 1).tolist()),
        ([0], 3, -4, 3),
    ],
)
@pytest.mark.parametrize("nan", [False, True])
def test_interval_along_axes_is_kept_for_the_others(
    axes: list[int], rank: int, lower: list[float] | float, upper: list[float] | float, nan: bool
) -> None:
    found = Interval(LOWER, LOWER + 1, nan).along(axes, rank)
    assert (found.lower.tolist(), found.upper.tolist(), found.nan) == (lower, upper, nan)


def test_magnitudes_signs_and_limits_are_those_of_each_element() -> None:
    assert MIXED.magnitude.tolist() == [[2, 4], [3, 1]]
    assert MIXED.nearest.tolist() == [[1, 3], [2, 0]]
    assert MIXED.negative.lower.tolist() == [[-2, 3], [-3, -1]]
    assert MIXED.negative.upper.tolist() == [[-1, 4], [-2, 0]]
    assert MIXED.at_least(-3.5).lower.tolist() == [[1, -3.5], [2, 0]]
    limited = MIXED.limited(2.5)
    assert limited.lower.tolist() == [[1, -2.5], [2, 0]]
    assert limited.upper.tolist() == [[2, -2.5], [2.5, 1]]


@pytest.mark.parametrize("change", ["negative", "uniform", "at_least", "limited"])
def test_nan_stays_possible(change: str) -> None:
    found = getattr(ANYTHING, change)
    assert (found(1.0) if callable(found) else found).nan


@pytest.mark.parametrize(
    ("lower", "upper", "infinite", "zero"),
    [(0, 1, False, True), (-1, 0, False, True), (1, INF, True, False), (-INF, -1, True, False)],
)
def test_zero_and_infinity_are_found_at_the_ends(
    lower: float, upper: float, infinite: bool, zero: bool
) -> None:
    found = Interval.of(lower, upper)
    assert (found.infinite, found.has_zero) == (infinite, zero)

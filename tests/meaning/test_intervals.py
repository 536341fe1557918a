"""Rational intervals mean what balls of Arb do, and are inside them."""

import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
import pytest

from sonnx_ort.meaning.balls import WITHOUT_FLINT, Interval
from sonnx_ort.meaning.numbers import power_of_two

PAIRS = [
    *((-3, 2), (Fraction(-1, 2), Fraction(1, 4)), (0, 0), (1, 1), (Fraction(3, 2), Fraction(3, 2))),
    *((Fraction(1, 2), 2), (-5, -4), (-1, 0), (0, 7), (power_of_two(1023), power_of_two(1024))),
]
"""Ends of intervals, all dyadic."""


def interval(ends: tuple[Any, Any]) -> Interval:
    return Interval(ends[0]).union(Interval(ends[1]))


def ball(ends: tuple[Any, Any]) -> Any:
    numbers = [flint.arb(flint.fmpq(Fraction(e).numerator, Fraction(e).denominator)) for e in ends]
    return numbers[0].union(numbers[1])


def contained(found: Any, made: Interval) -> bool:
    """Whether a ball has both ends of an interval."""
    return all(
        end in {float("inf"), float("-inf")}
        or found.contains(flint.arb(flint.fmpq(end.numerator, end.denominator)))
        for end in (made.low, made.high)
    )


@pytest.fixture(autouse=True)
def precisely() -> Any:
    with flint.ctx.workprec(4096):
        yield


OPERATIONS: list[Callable[..., Any]] = [
    *(operator.add, operator.sub, operator.mul, operator.truediv),
    *(lambda a, b: a.max(b), lambda a, b: a.min(b), lambda a, b: a.union(b)),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_balls_contain_what_intervals_are(operation: Callable[..., Any]) -> None:
    for a, b in product(PAIRS, PAIRS):
        made = operation(interval(a), interval(b))
        found = operation(ball(a), ball(b))
        assert contained(found, made), (a, b)
        assert made.is_finite() is found.is_finite()


@pytest.mark.parametrize(
    "operation", [abs, operator.neg, lambda a: a.floor(), lambda a: a.ceil(), lambda a: a.mid()]
)
def test_balls_contain_what_one_interval_becomes(operation: Callable[..., Any]) -> None:
    for ends in PAIRS:
        assert contained(operation(ball(ends)), operation(interval(ends))), ends


@pytest.mark.parametrize(
    "compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
)
def test_comparisons_are_true_where_they_are_of_all_numbers(compare: Callable[..., bool]) -> None:
    for a, b in product(PAIRS, PAIRS):
        found = compare(interval(a), interval(b))
        apart = a[1] < b[0] or b[1] < a[0]
        of_ends = all(compare(x, y) for x, y in product(a, b))
        assert found is (apart if compare is operator.ne else of_ends), (a, b)
        # The radius of a ball is rounded up.
        assert found or not compare(ball(a), ball(b)), (a, b)


def test_every_pair_of_numbers_gives_a_number_inside() -> None:
    for a, b in product(PAIRS, PAIRS):
        for x, y in product(a, b):
            total, times = interval(a) + interval(b), interval(a) * interval(b)
            assert total.low <= x + y <= total.high
            assert times.low <= x * y <= times.high


def test_a_divisor_that_may_be_zero_leaves_everything() -> None:
    assert not (Interval(1) / interval((-1, 1))).is_finite()
    assert not (1 / Interval(0)).is_finite()


def test_what_is_infinite_stays_infinite() -> None:
    everything = Interval(0, float("inf"))
    for made in (
        everything + 1,
        everything * 0,
        -everything,
        everything - everything,
        1 / everything,
    ):
        assert not made.is_finite()
    for compare in (operator.lt, operator.gt, operator.eq, operator.ne):
        assert not compare(everything, 0)
    assert everything.mid() == 0
    assert (everything.max(0).low, everything.min(1).high) == (0, 1)
    for made in (everything.max(0), everything.min(1)):
        assert not made.is_finite()
        assert not (made + 1).is_finite()


def test_integers_are_recognized() -> None:
    assert Interval(3).unique_fmpz() == 3
    assert interval((Fraction(1, 2), Fraction(3, 2))).unique_fmpz() == 1
    assert interval((0, 1)).unique_fmpz() is None
    assert (Interval(3).is_integer(), Interval(Fraction(1, 2)).is_integer()) == (True, False)


def test_numbers_of_numpy_are_taken_exactly() -> None:
    assert Interval(float(np.float32(0.1))) == Fraction(float(np.float32(0.1)))


@pytest.mark.parametrize("function", ["exp", "log", "sin", "cos", "tanh", "erf", "acos", "sqrt"])
def test_functions_need_flint(function: str) -> None:
    with pytest.raises(ImportError) as caught:
        getattr(Interval(1), function)()
    assert str(caught.value) == WITHOUT_FLINT

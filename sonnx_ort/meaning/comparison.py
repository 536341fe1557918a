"""Comparisons of single elements, and the larger and the smaller of them.

IEEE 754-2019, 5.11: a NaN is unordered, zeros of both signs are equal; and 9.6, maximum and
minimum: a NaN gives NaN, and 0 is larger than -0.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from sonnx_ort.meaning.balls import (
    NotFollowedError,
)
from sonnx_ort.meaning.numbers import (
    NAN,
    Kind,
    Number,
)


def equal(a: Any, b: Any) -> bool:
    """Whether two elements are equal; NaN equals nothing."""
    if isinstance(a, Number):
        return _neither_is_nan(a, b) and _place(a) == _place(b)
    return _decided(a == b, a != b)


def less(a: Any, b: Any) -> bool:
    """Whether a < b, for elements or integers."""
    if isinstance(a, Number):
        return _neither_is_nan(a, b) and _place(a) < _place(b)
    return _decided(a < b, a >= b)


def less_or_equal(a: Any, b: Any) -> bool:
    """Whether a <= b, for elements or integers."""
    if isinstance(a, Number):
        return _neither_is_nan(a, b) and _place(a) <= _place(b)
    return _decided(a <= b, a > b)


def _decided(sure: bool, sure_not: bool) -> bool:
    """Whether a comparison holds, of which a ball may leave that open."""
    if not (sure or sure_not):
        raise NotFollowedError("two elements are too close to be compared")
    return sure


def largest(*data: Any) -> Any:
    """The largest of at least one element, or NaN if any is NaN."""
    return _extreme(data, max, lambda a, b: a.max(b))


def smallest(*data: Any) -> Any:
    """The smallest of at least one element, or NaN if any is NaN."""
    return _extreme(data, min, lambda a, b: a.min(b))


def _extreme(
    data: Sequence[Any], of_numbers: Callable[..., Any], of_balls: Callable[[Any, Any], Any]
) -> Any:
    """The largest or the least element; NaN if one of the numbers is NaN."""
    if not isinstance(data[0], Number):
        return reduce(of_balls, data)
    if any(each.kind is Kind.NAN for each in data):
        return NAN
    return of_numbers(data, key=lambda datum: (_place(datum), not datum.negative))


def _neither_is_nan(a: Number, b: Number) -> bool:
    return Kind.NAN not in (a.kind, b.kind)


def _place(datum: Number) -> tuple[int, Fraction]:
    """A sort key: an infinite end, or a fraction."""
    if datum.kind is Kind.INFINITE:
        return (-1 if datum.negative else 1), Fraction(0)
    return 0, datum.value

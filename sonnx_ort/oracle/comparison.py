"""Comparisons of floating-point data, and the largest and the smallest of some.

IEEE 754-2019: 5.11 (a NaN is unordered, zeros of both signs are equal), and 9.6, maximum and
minimum (a NaN gives NaN, and 0 is larger than -0).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sonnx_ort.oracle.numbers import NAN, Kind, Number

_Place = tuple[int, Fraction]


def equal(a: Number, b: Number) -> bool:
    """Whether two data have one value.

    Args:
        a: The one.
        b: The other.
    """
    return _ordered(a, b) and _place(a) == _place(b)


def less(a: Number, b: Number) -> bool:
    """Whether a datum is less than another one.

    Args:
        a: The one.
        b: The other.
    """
    return _ordered(a, b) and _place(a) < _place(b)


def less_or_equal(a: Number, b: Number) -> bool:
    """Whether a datum is less than another one or equal to it.

    Args:
        a: The one.
        b: The other.
    """
    return less(a, b) or equal(a, b)


def largest(*data: Number) -> Number:
    """The largest datum, or NaN where there is one among them.

    Args:
        *data: At least one.
    """
    return _at_the_end(max, data)


def smallest(*data: Number) -> Number:
    """The smallest datum, or NaN where there is one among them.

    Args:
        *data: At least one.
    """
    return _at_the_end(min, data)


def _at_the_end(end: Callable[..., Number], data: Sequence[Number]) -> Number:
    if any(datum.kind is Kind.NAN for datum in data):
        return NAN
    return end(data, key=lambda datum: (_place(datum), not datum.negative))


def _ordered(a: Number, b: Number) -> bool:
    return Kind.NAN not in (a.kind, b.kind)


def _place(datum: Number) -> _Place:
    """Where a datum stands on the line: at an end of it, or at a fraction."""
    if datum.kind is Kind.INFINITE:
        return (-1 if datum.negative else 1), Fraction(0)
    return 0, datum.value

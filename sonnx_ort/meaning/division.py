"""Quotients and remainders of single elements, each of which is a `Number` or a ball.

On integers: none of the five documents states the quotient (SONNX Div, typed edition, section
"INT8, INT16, INT32" is to be completed). This project decided on truncation towards zero, as ONNX
and later drafts do.
"""

from collections.abc import Callable
from math import trunc
from typing import TYPE_CHECKING, Any

from sonnx_ort.meaning.balls import (
    NotFollowedError,
)
from sonnx_ort.meaning.numbers import (
    NAN,
    ONE,
    POSITIVE_INFINITY,
    Kind,
    Number,
    finite,
)

if TYPE_CHECKING:
    from flint import arb


def divide(a: Any, b: Any) -> Any:
    """The quotient a / b, not yet rounded."""
    if not isinstance(b, Number) and not b != 0:
        raise NotFollowedError("a divisor may be 0")
    return a / b


def divide_by_formula(a: Any, b: Any) -> Any:
    """The quotient of the preliminary edition, R5: +inf whenever b is zero, for any a."""
    return POSITIVE_INFINITY if isinstance(b, Number) and b.is_zero else divide(a, b)


def reciprocal(x: Any) -> Any:
    """1 / x, not yet rounded."""
    return divide(ONE if isinstance(x, Number) else 1, x)


def remainder(a: Any, b: Any) -> Any:
    """The remainder of a / b truncated, with the sign of a."""
    if not isinstance(a, Number):
        return _remainder_of_balls(a, b, truncated)
    if Kind.NAN in (a.kind, b.kind) or a.kind is Kind.INFINITE or b.is_zero:
        return NAN
    if b.kind is Kind.INFINITE or a.is_zero:
        return a
    whole = trunc(a.magnitude / b.magnitude)
    return finite(a.magnitude - whole * b.magnitude, negative=a.negative)


def floored_remainder(a: Any, b: Any) -> Any:
    """The remainder of a / b floored, with the sign of b.

    Source: ONNX Mod, version 28, `fmod` of 0.
    """
    if not isinstance(a, Number):
        return _remainder_of_balls(a, b, lambda each: each.floor().unique_fmpz())
    rest: Number = remainder(a, b)
    if rest.is_zero:
        return finite(rest.magnitude, negative=b.negative)
    if rest.kind is Kind.NAN or rest.negative == b.negative:
        return rest
    if b.kind is Kind.INFINITE:
        return b
    return finite(b.magnitude - rest.magnitude, negative=b.negative)


def _remainder_of_balls(a: Any, b: Any, to_integer: Callable[[Any], Any]) -> Any:
    whole = to_integer(divide(a, b))
    if whole is None:
        raise NotFollowedError("a quotient is too close to an integer")
    return a - whole * b


def truncated(x: "arb") -> Any:
    """The integer without the fraction; None if the numbers of a ball have several."""
    if not x.is_finite():
        return None
    low, high = ((e.floor() if e >= 0 else e.ceil()).unique_fmpz() for e in (x.lower(), x.upper()))
    return low if low == high else None

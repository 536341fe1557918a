"""The operators on floating-point data, exact before rounding.

Sources: SONNX Div, typed edition, section "FP16, FP32, FP64, BFLOAT16", and preliminary edition,
"Informal specification" and R5; SONNX Sub, preliminary edition. Where they are silent, IEEE
754-2019: 6.1 (infinities), 6.2 (NaNs), 6.3 (signs), 7.2 (invalid operations) and 7.3 (division by
zero).
"""

from fractions import Fraction

from sonnx_ort.profile.edition import Edition
from sonnx_ort.reference.number import (
    NAN,
    POSITIVE_INFINITY,
    Kind,
    Number,
    finite,
    infinity,
)
from sonnx_ort.reference.rationals import difference, quotient


def divide(a: Number, b: Number, edition: Edition) -> Number:
    """The quotient, not yet rounded to a format.

    Args:
        a: The dividend.
        b: The divisor.
        edition: `PRELIMINARY` gives +inf wherever b is zero, whatever a is.
    """
    if edition is Edition.PRELIMINARY and b.is_zero:
        return POSITIVE_INFINITY
    negative = a.negative != b.negative
    match a.kind, b.kind:
        case (Kind.NAN, _) | (_, Kind.NAN) | (Kind.INFINITE, Kind.INFINITE):
            return NAN
        case Kind.INFINITE, _:
            return infinity(negative=negative)
        case _, Kind.INFINITE:
            return finite(Fraction(0), negative=negative)
        case _:
            magnitude = quotient(a.magnitude, b.magnitude)
            if magnitude is not None:
                return finite(magnitude, negative=negative)
            return NAN if a.is_zero else infinity(negative=negative)


def subtract(a: Number, b: Number) -> Number:
    """The difference, not yet rounded to a format.

    Args:
        a: The minuend.
        b: The subtrahend.
    """
    match a.kind, b.kind:
        case (Kind.NAN, _) | (_, Kind.NAN):
            return NAN
        case Kind.INFINITE, Kind.INFINITE:
            return NAN if a.negative == b.negative else a
        case Kind.INFINITE, _:
            return a
        case _, Kind.INFINITE:
            return infinity(negative=not b.negative)
        case _:
            value = difference(a.value, b.value)
            # A zero is negative only as -0 - (+0): an exact difference of equals is +0.
            negative = value < 0 or (value == 0 and a.negative and not b.negative and a.is_zero)
            return finite(abs(value), negative=negative)

"""Correctly rounded quotients and differences of 16-bit floats, computed in double.

What is rounded to double and then to a format of p bits, p being 11 or 8, is what rounding once
gives. It could differ only where the exact result is no midpoint M of two neighbours of the format,
and the double is. M is an odd number below 2^(p + 1) times a power of two.

- A quotient a/b that is not M has a relative distance from it of |a - M b| / |M b|. Both a and M b
  are multiples of the smaller of two powers of two, so that it is more than 2^-p or 2^-(2p + 1): at
  least 2^-23, and the error of a double is at most 2^-53. Quotients that are not zero lie between
  2^-261 and 2^261, where doubles are normal.
- A difference whose operands' last bits are at most 52 - p places apart is exact in double. Where
  they are further apart, the smaller operand is less than 2^-36 of the last place of the larger
  one, and both roundings give that one; M is a quarter of the last place away from it at least.

Fewer bits, as subnormal results have, leave fewer midpoints; and the middle between the largest
number and the next power of two, from which on results are infinite, is one of them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

_EXPONENT = np.uint64(0x7FF0_0000_0000_0000)
"""The bits of a double's exponent; alone they are a power of two."""

_COMPUTED: Mapping[str, Callable[..., Doubles]] = MappingProxyType(
    {"Div": np.divide, "Sub": np.subtract}
)


@np.errstate(all="ignore")
def expected_result(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> Array:
    """What an operator has to give, in the type of its operands."""
    divisors = b.astype(np.float64)
    doubles = _COMPUTED[operator](a.astype(np.float64), divisors)
    if operator == "Div" and edition is Edition.PRELIMINARY:
        doubles = np.where(divisors == 0, np.inf, doubles)
    return rounded(doubles, element_type).astype(element_type.dtype)


@np.errstate(all="ignore")
def rounded(doubles: Doubles, element_type: ElementType) -> Doubles:
    """Round to the nearest number of a type, of two the even one; all of them are doubles too."""
    limits = FLOAT_FORMATS[element_type]
    smallest, largest = 2.0**limits.smallest_exponent, 2.0**limits.largest_exponent
    leading = (doubles.view(np.uint64) & _EXPONENT).view(np.float64)
    spacing = np.clip(leading, smallest, largest) * 2.0 ** (1 - limits.precision)
    nearest = np.rint(doubles / spacing) * spacing
    infinite = np.abs(nearest) >= 2 * largest
    return np.where(infinite, np.copysign(np.inf, nearest), nearest)


@np.errstate(all="ignore")
def differing(found: Array, expected: Array, element_type: ElementType) -> npt.NDArray[np.bool_]:
    """Where results have other bits than they have to; for a NaN any quiet NaN is right."""
    precision = FLOAT_FORMATS[element_type].precision
    bits = np.dtype(f"u{element_type.dtype.itemsize}")
    quiet = bits.type(1 << (precision - 2))
    different: npt.NDArray[np.bool_] = found.view(bits) != expected.view(bits)
    if different.any():
        right = np.isnan(expected) & np.isnan(found) & ((found.view(bits) & quiet) != 0)
        different &= ~right
    return different

"""`sonnx::Div`: the quotient of two tensors of one shape and type.

Integers are truncated towards zero, as ONNX and C do; numpy's `//` floors. Zero divisors and the
smallest value divided by -1 do not reach this arithmetic.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.custom_ops.native_types import NATIVE_TYPES
from sonnx_ort.profile.div import DIV
from sonnx_ort.profile.edition import Edition

Array = npt.NDArray[Any]


def divide(a: Array, b: Array, edition: Edition) -> Array:
    """Divide element by element.

    Args:
        a: The dividends; overwritten.
        b: The divisors, of the same shape and dtype.
        edition: Decides what a zero divisor gives on floats: the IEEE 754 result, or +inf.

    Returns:
        The quotients, in the operands' shape and dtype.
    """
    match a.dtype.kind:
        case "f":
            with np.errstate(all="ignore"):
                np.divide(a, b, out=a)
            if edition is Edition.PRELIMINARY:
                a[b == 0] = np.inf
            return a
        case "u":
            return np.floor_divide(a, b, out=a)
        case _:
            return _truncated_quotient(a, b)


def _truncated_quotient(a: Array, b: Array) -> Array:
    if a.dtype.itemsize < 8:
        # Exact: a quotient that is no integer is at least 1/|b| away from one, and the rounding
        # error of a double is smaller than that for operands of up to 32 bits.
        return np.divide(a, b, dtype=np.float64).astype(a.dtype)
    remainder = np.fmod(a, b, out=np.empty_like(a))
    return np.floor_divide(np.subtract(a, remainder, out=remainder), b, out=remainder)


CUSTOM_DIV = CustomOperator(DIV, divide, NATIVE_TYPES)

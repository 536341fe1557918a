"""`sonnx::CheckedDiv`: the quotient of two tensors of one shape and type.

Integers are truncated towards zero, as ONNX and C do; numpy's `//` floors. Zero divisors and the
smallest value divided by -1 do not reach this arithmetic.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.div import DIV
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

_BLOCK = 16384
"""Elements that are divided at a time, so that temporary arrays stay in the cache."""


def divide(a: Array, b: Array, *, edition: Edition) -> Array:
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
            return _divide_floats(a, b, edition)
        case "u":
            return np.floor_divide(a, b, out=a)
        case _:
            return _truncated_quotient(a, b)


# As a decorator it costs half of what it does as a context.
@np.errstate(all="ignore")
def _divide_floats(a: Array, b: Array, edition: Edition) -> Array:
    np.divide(a, b, out=a)
    if edition is Edition.PRELIMINARY:
        a[b == 0] = np.inf
    return a


def _truncated_quotient(a: Array, b: Array) -> Array:
    if a.dtype.itemsize < 8:
        # Exact: a quotient that is no integer is at least 1/|b| away from one, and the rounding
        # error of a double is smaller than that for operands of up to 32 bits.
        return np.divide(a, b, out=np.empty_like(a), dtype=np.float64, casting="unsafe")
    if a.size <= _BLOCK:
        remainder = np.fmod(a, b, out=np.empty_like(a))
        return np.floor_divide(np.subtract(a, remainder, out=remainder), b, out=remainder)
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    for start in range(0, a.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        flat_a[block] = _quotient_of_magnitudes(flat_a[block], flat_b[block])
    return flat_a.reshape(a.shape)


def _quotient_of_magnitudes(a: Array, b: Array) -> Array:
    # Unsigned, because numpy's signed division branches on the signs of every pair of elements.
    sign = (a ^ b) >> 63
    quotient = np.floor_divide(np.abs(a).view(np.uint64), np.abs(b).view(np.uint64)).view(np.int64)
    return (quotient ^ sign) - sign


CUSTOM_OPERATOR = CustomOperator(DIV, divide)

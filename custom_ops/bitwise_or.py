"""`sonnx::BitwiseOr`: the disjunction of the bits of two tensors of integers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.bitwise_or import BITWISE_OR
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def bitwise_or(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compute the disjunction of bits element by element.

    Args:
        a: Integers; overwritten.
        b: Integers, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        The integers that follow, in the operands' shape and dtype.
    """
    del edition
    return np.bitwise_or(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(BITWISE_OR, bitwise_or)

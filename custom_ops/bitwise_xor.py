"""`sonnx::BitwiseXor`: the exclusive disjunction of the bits of two tensors of integers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.bitwise_xor import BITWISE_XOR
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def bitwise_xor(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compute the exclusive disjunction of bits element by element.

    Args:
        a: Integers; overwritten.
        b: Integers, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        The integers that follow, in the operands' shape and dtype.
    """
    del edition
    return np.bitwise_xor(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(BITWISE_XOR, bitwise_xor)

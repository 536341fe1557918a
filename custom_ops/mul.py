"""`sonnx::Mul`: the product of two tensors of one shape and type.

Floats are IEEE 754 products; integers wrap modulo 2^n.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.mul import MUL
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def multiply(a: Array, b: Array, *, edition: Edition) -> Array:
    """Multiply element by element.

    Args:
        a: The multiplicands; overwritten.
        b: The multipliers, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        The products, in the operands' shape and dtype.
    """
    del edition
    return np.multiply(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(MUL, multiply)

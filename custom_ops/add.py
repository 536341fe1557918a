"""`sonnx::Add`: the sum of two tensors of one shape and type.

Floats are IEEE 754 sums; integers wrap modulo 2^n.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.add import ADD
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def add(a: Array, b: Array, *, edition: Edition) -> Array:
    """Add element by element.

    Args:
        a: The augends; overwritten.
        b: The addends, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        The sums, in the operands' shape and dtype.
    """
    del edition
    return np.add(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(ADD, add)

"""`sonnx::Sub`: the difference of two tensors of one shape and type.

Floats are IEEE 754 differences; integers wrap modulo 2^n.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.sub import SUB

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def subtract(a: Array, b: Array, *, edition: Edition) -> Array:
    """Subtract element by element.

    Args:
        a: The minuends; overwritten.
        b: The subtrahends, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        The differences, in the operands' shape and dtype.
    """
    del edition
    return np.subtract(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(SUB, subtract)

"""`sonnx::Sqrt`: the square root of each element of a tensor, as IEEE 754 says."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.sqrt import SQRT

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def square_root(x: Array, *, edition: Edition) -> Array:
    """Take roots element by element.

    Args:
        x: The elements; overwritten.
        edition: Makes no difference here.

    Returns:
        The results, in the operand's shape and dtype.
    """
    del edition
    return np.sqrt(x, out=x)


CUSTOM_OPERATOR = CustomOperator(SQRT, square_root)

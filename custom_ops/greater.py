"""`sonnx::Greater`: whether elements of a tensor are greater than those of another one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.greater import GREATER
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def greater(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compare element by element.

    Args:
        a: The elements on the left.
        b: The elements on the right, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        Conditions, in the operands' shape.
    """
    del edition
    return np.greater(a, b)


CUSTOM_OPERATOR = CustomOperator(GREATER, greater)

"""`sonnx::GreaterOrEqual`: whether elements of a tensor are at least those of another one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.greater_or_equal import GREATER_OR_EQUAL
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def greater_or_equal(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compare element by element.

    Args:
        a: The elements on the left.
        b: The elements on the right, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        Conditions, in the operands' shape.
    """
    del edition
    return np.greater_equal(a, b)


CUSTOM_OPERATOR = CustomOperator(GREATER_OR_EQUAL, greater_or_equal)

"""`sonnx::Equal`: whether elements of two tensors of one shape and type are equal."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.equal import EQUAL
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def equal(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compare element by element.

    Args:
        a: The elements on the left.
        b: The elements on the right, of the same shape and dtype.
        edition: Makes no difference here.

    Returns:
        Conditions, in the operands' shape.
    """
    del edition
    return np.equal(a, b)


CUSTOM_OPERATOR = CustomOperator(EQUAL, equal)

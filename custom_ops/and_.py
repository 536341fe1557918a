"""`sonnx::And`: the conjunction of two tensors of conditions of one shape."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.and_ import AND
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def conjunction(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compute the conjunction element by element.

    Args:
        a: Conditions; overwritten.
        b: Conditions, of the same shape.
        edition: Makes no difference here.

    Returns:
        The conditions that follow, in the operands' shape.
    """
    del edition
    return np.logical_and(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(AND, conjunction)

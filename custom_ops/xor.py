"""`sonnx::Xor`: the exclusive disjunction of two tensors of conditions of one shape."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.xor import XOR

Array = npt.NDArray[Any]


def exclusive_disjunction(a: Array, b: Array, *, edition: Edition) -> Array:
    """Compute the exclusive disjunction element by element.

    Args:
        a: Conditions; overwritten.
        b: Conditions, of the same shape.
        edition: Makes no difference here.

    Returns:
        The conditions that follow, in the operands' shape.
    """
    del edition
    return np.logical_xor(a, b, out=a)


CUSTOM_OPERATOR = CustomOperator(XOR, exclusive_disjunction)

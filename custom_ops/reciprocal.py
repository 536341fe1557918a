"""`sonnx::CheckedReciprocal`: 1 divided by each element of a tensor, as IEEE 754 says."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.reciprocal import RECIPROCAL

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def reciprocal(x: Array, *, edition: Edition) -> Array:
    """Divide 1 element by element.

    Args:
        x: The elements; overwritten.
        edition: Makes no difference here.

    Returns:
        The results, in the operand's shape and dtype.
    """
    del edition
    np.divide(x.dtype.type(1), x, out=x)
    return x


CUSTOM_OPERATOR = CustomOperator(RECIPROCAL, reciprocal)

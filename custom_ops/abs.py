"""`sonnx::Abs`: the absolute value of each element of a tensor."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.abs import ABS
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def absolute_value(x: Array, *, edition: Edition) -> Array:
    """Take magnitudes element by element.

    Args:
        x: The elements; overwritten.
        edition: Makes no difference here.

    Returns:
        The results, in the operand's shape and dtype.
    """
    del edition
    return np.abs(x, out=x)


CUSTOM_OPERATOR = CustomOperator(ABS, absolute_value)

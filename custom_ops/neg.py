"""`sonnx::Neg`: each element of a tensor with the other sign; integers wrap modulo 2^n."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.neg import NEG
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


@np.errstate(all="ignore")
def negative(x: Array, *, edition: Edition) -> Array:
    """Change signs element by element.

    Args:
        x: The elements; overwritten.
        edition: Makes no difference here.

    Returns:
        The results, in the operand's shape and dtype.
    """
    del edition
    return np.negative(x, out=x)


CUSTOM_OPERATOR = CustomOperator(NEG, negative)

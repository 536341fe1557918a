"""`sonnx::CheckedSub`: the difference of two tensors of one shape and type.

Floats are IEEE 754 differences; integers wrap modulo 2^n.
"""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.sub import SUB

CUSTOM_OPERATOR = CustomOperator(SUB, by_ufunc(np.subtract))

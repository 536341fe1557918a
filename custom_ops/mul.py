"""`sonnx::CheckedMul`: the product of two tensors of one shape and type.

Floats are IEEE 754 products; integers wrap modulo 2^n.
"""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.mul import MUL

CUSTOM_OPERATOR = CustomOperator(MUL, by_ufunc(np.multiply))

"""`sonnx::CheckedBitwiseAnd`: the conjunction of the bits of two tensors of integers."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.bitwise_and import BITWISE_AND

CUSTOM_OPERATOR = CustomOperator(BITWISE_AND, by_ufunc(np.bitwise_and))

"""`sonnx::CheckedBitwiseOr`: the disjunction of the bits of two tensors of integers."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.bitwise_or import BITWISE_OR

CUSTOM_OPERATOR = CustomOperator(BITWISE_OR, by_ufunc(np.bitwise_or))

"""`sonnx::CheckedBitwiseXor`: the exclusive disjunction of the bits of two tensors of integers."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.bitwise_xor import BITWISE_XOR

CUSTOM_OPERATOR = CustomOperator(BITWISE_XOR, by_ufunc(np.bitwise_xor))

"""`sonnx::CheckedXor`: the exclusive disjunction of two tensors of conditions of one shape."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.xor import XOR

CUSTOM_OPERATOR = CustomOperator(XOR, by_ufunc(np.logical_xor))

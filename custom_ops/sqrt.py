"""`sonnx::CheckedSqrt`: the square root of each element of a tensor, as IEEE 754 says."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.sqrt import SQRT

CUSTOM_OPERATOR = CustomOperator(SQRT, by_ufunc(np.sqrt))

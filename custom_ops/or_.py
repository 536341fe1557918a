"""`sonnx::CheckedOr`: the disjunction of two tensors of conditions of one shape."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.or_ import OR

CUSTOM_OPERATOR = CustomOperator(OR, by_ufunc(np.logical_or))

"""`sonnx::CheckedAnd`: the conjunction of two tensors of conditions of one shape."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.and_ import AND

CUSTOM_OPERATOR = CustomOperator(AND, by_ufunc(np.logical_and))

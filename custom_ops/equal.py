"""`sonnx::CheckedEqual`: whether elements of two tensors of one shape and type are equal."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.equal import EQUAL

CUSTOM_OPERATOR = CustomOperator(EQUAL, by_ufunc(np.equal, in_place=False))

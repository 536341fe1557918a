"""`sonnx::CheckedGreaterOrEqual`: whether elements of a tensor are at least those of another."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.greater_or_equal import GREATER_OR_EQUAL

CUSTOM_OPERATOR = CustomOperator(GREATER_OR_EQUAL, by_ufunc(np.greater_equal, in_place=False))

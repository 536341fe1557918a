"""`sonnx::CheckedGreater`: whether elements of a tensor are greater than those of another one."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.greater import GREATER

CUSTOM_OPERATOR = CustomOperator(GREATER, by_ufunc(np.greater, in_place=False))

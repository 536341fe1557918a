"""`sonnx::CheckedLessOrEqual`: whether elements of a tensor are at most those of another one."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.less_or_equal import LESS_OR_EQUAL

CUSTOM_OPERATOR = CustomOperator(LESS_OR_EQUAL, by_ufunc(np.less_equal, in_place=False))

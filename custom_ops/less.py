"""`sonnx::CheckedLess`: whether elements of a tensor are less than those of another one."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.less import LESS

CUSTOM_OPERATOR = CustomOperator(LESS, by_ufunc(np.less, in_place=False))

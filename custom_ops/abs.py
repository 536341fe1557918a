"""`sonnx::CheckedAbs`: the absolute value of each element of a tensor."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.abs import ABS

CUSTOM_OPERATOR = CustomOperator(ABS, by_ufunc(np.abs))

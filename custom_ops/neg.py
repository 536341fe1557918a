"""`sonnx::CheckedNeg`: each element of a tensor with the other sign; integers wrap modulo 2^n."""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.neg import NEG

CUSTOM_OPERATOR = CustomOperator(NEG, by_ufunc(np.negative))

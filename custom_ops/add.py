"""`sonnx::CheckedAdd`: the sum of two tensors of one shape and type.

Floats are IEEE 754 sums; integers wrap modulo 2^n.
"""

import numpy as np

from sonnx_ort.custom_ops.kernel import CustomOperator, by_ufunc
from sonnx_ort.profile.add import ADD

CUSTOM_OPERATOR = CustomOperator(ADD, by_ufunc(np.add))

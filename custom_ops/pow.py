"""`sonnx::PowOperands` looks at the operands of a Pow, which ONNX Runtime computes behind it.

The last bits of powers of floats differ between implementations.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.pow import POW

CUSTOM_OPERATOR = CustomOperator(POW, None)

"""`sonnx::MinOperands` looks at the operands of a Min, which ONNX Runtime computes behind it.

Of zeros of both signs ONNX Runtime and numpy give different ones.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.min import MIN

CUSTOM_OPERATOR = CustomOperator(MIN, None)

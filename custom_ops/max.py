"""`sonnx::MaxOperands` looks at the operands of a Max, which ONNX Runtime computes behind it.

Of zeros of both signs ONNX Runtime and numpy give different ones.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.max import MAX

CUSTOM_OPERATOR = CustomOperator(MAX, None)

"""`sonnx::WhereOperands` looks at the operands of a Where, which ONNX Runtime computes behind it.

ONNX Runtime gives +0 for a -0 of X.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.where import WHERE

CUSTOM_OPERATOR = CustomOperator(WHERE, None)

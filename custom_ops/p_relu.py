"""`sonnx::PReluOperands` looks at the operands of a PRelu, which ONNX Runtime computes behind it.

ONNX Runtime makes other nodes of it in some versions, whose zeros have other signs.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.p_relu import P_RELU

CUSTOM_OPERATOR = CustomOperator(P_RELU, None)

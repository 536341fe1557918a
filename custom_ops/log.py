"""`sonnx::LogOperands` hands its operand on to a Log, which ONNX Runtime computes behind it.

The last bits of logarithms differ between implementations.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.log import LOG

CUSTOM_OPERATOR = CustomOperator(LOG, None)

"""`sonnx::BitShiftOperands` looks at the operands of a BitShift; ONNX Runtime computes behind it.

The direction is an attribute, which stays with the standard node.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.bit_shift import BIT_SHIFT

CUSTOM_OPERATOR = CustomOperator(BIT_SHIFT, None)

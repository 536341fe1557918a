"""`sonnx::AcosOperands` hands its operand on to an Acos, which ONNX Runtime computes behind it.

The last bits of angles differ between implementations.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.acos import ACOS

CUSTOM_OPERATOR = CustomOperator(ACOS, None)

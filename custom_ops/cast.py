"""`sonnx::CastOperands` looks at the operand of a Cast, which ONNX Runtime computes behind it.

Of two nodes called Cast, of whatever domain, one behind the other, ONNX Runtime leaves one out.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.cast import CAST

CUSTOM_OPERATOR = CustomOperator(CAST, None)

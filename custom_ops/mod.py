"""`sonnx::ModOperands` looks at the operands of a Mod, which ONNX Runtime computes behind it.

It hands on the divisors: where ONNX Runtime knows them before a run, and one is zero, no session
is made, with an error that names no node, or the process ends.
"""

from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.mod import MOD

CUSTOM_OPERATOR = CustomOperator(MOD, None, handed_on=1)

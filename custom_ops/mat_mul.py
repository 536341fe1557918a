"""`sonnx::MatMulOperands` looks at the shapes of the operands of a MatMul."""

from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.profile.mat_mul import MAT_MUL

CUSTOM_OPERATOR = Inspection(MAT_MUL)

"""`sonnx::ArgMaxOperands` looks at the shape of what ONNX Runtime's ArgMax reads."""

from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.profile.arg_max import ARG_MAX

CUSTOM_OPERATOR = Inspection(ARG_MAX)

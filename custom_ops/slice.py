"""`sonnx::SliceOperands` looks at the indices of a Slice, and at the shape that they cut."""

from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.profile.slice import SLICE

CUSTOM_OPERATOR = Inspection(SLICE)

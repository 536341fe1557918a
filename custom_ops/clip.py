"""`sonnx::ClipOperands` looks at the shapes of the bounds of a Clip."""

from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.profile.clip import CLIP

CUSTOM_OPERATOR = Inspection(CLIP)

"""All kernels of the domain `sonnx`."""

from sonnx_ort.custom_ops.broadcast import BROADCAST_SHAPE
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.custom_ops.div import CUSTOM_DIV
from sonnx_ort.custom_ops.limited_broadcasting import ALIGNED_SHAPE
from sonnx_ort.custom_ops.sub import CUSTOM_SUB

KERNEL_DEFINITIONS: tuple[KernelDefinition, ...] = (
    *CUSTOM_DIV.definitions(),
    *CUSTOM_SUB.definitions(),
    BROADCAST_SHAPE,
    ALIGNED_SHAPE,
)
"""Every kernel, for every combination of types. A new operator is one more entry."""

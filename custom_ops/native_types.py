"""The element types that a Python kernel can take, and how the others reach one."""

from collections.abc import Mapping
from types import MappingProxyType

from sonnx_ort.profile.element_type import ElementType

CARRIERS: Mapping[ElementType, ElementType] = MappingProxyType(
    {ElementType.FLOAT16: ElementType.FLOAT, ElementType.BFLOAT16: ElementType.FLOAT}
)
"""The type that stands in for one that kills the process when a Python kernel is given it.

Exact for division and subtraction: the carrier has at least 2p + 2 bits for the p bits of the
type (24 >= 2 * 11 + 2), so rounding twice gives what rounding once would.
"""

NATIVE_TYPES: tuple[ElementType, ...] = tuple(t for t in ElementType if t not in CARRIERS)
"""The types that kernels are registered for."""

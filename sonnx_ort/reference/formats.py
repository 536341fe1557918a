"""The formats of the profile's element types."""

from collections.abc import Mapping
from types import MappingProxyType

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.reference.integers import IntegerFormat
from sonnx_ort.reference.rounding import BinaryFormat

FLOAT_FORMATS: Mapping[ElementType, BinaryFormat] = MappingProxyType(
    {
        ElementType.FLOAT16: BinaryFormat(precision=11, exponent_bits=5),
        ElementType.BFLOAT16: BinaryFormat(precision=8, exponent_bits=8),
        ElementType.FLOAT: BinaryFormat(precision=24, exponent_bits=8),
        ElementType.DOUBLE: BinaryFormat(precision=53, exponent_bits=11),
    }
)
"""binary16, binary32 and binary64 of IEEE 754-2019, table 3.5, and bfloat16."""

INTEGER_FORMATS: Mapping[ElementType, IntegerFormat] = MappingProxyType(
    {
        ElementType.INT8: IntegerFormat(8, signed=True),
        ElementType.INT16: IntegerFormat(16, signed=True),
        ElementType.INT32: IntegerFormat(32, signed=True),
        ElementType.INT64: IntegerFormat(64, signed=True),
        ElementType.UINT8: IntegerFormat(8, signed=False),
        ElementType.UINT16: IntegerFormat(16, signed=False),
        ElementType.UINT32: IntegerFormat(32, signed=False),
        ElementType.UINT64: IntegerFormat(64, signed=False),
    }
)
"""The eight integer types of ONNX."""

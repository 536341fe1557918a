"""Cast, QuantizeLinear and DequantizeLinear: elements in another type.

The drafts of the last two have one signature each: float to uint8, and int32 to float.
"""

import numpy as np

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.attributes import attribute_is, required
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.elements import REPRESENTABLE_AS_INTEGER, on_elements
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.numbers import NumberSet

_cast = RulesOf("Cast", 621, has_draft=False)

CAST = _cast.operator(
    rules=[
        _cast("R2", 0).states(SameNumericType(OF_THE_NODE, tuple(ElementType))),
        _cast.dense(1),
        _cast("float.C1", 9).states(REPRESENTABLE_AS_INTEGER, survived=True),
    ],
    operands=("X",),
    versions=(1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    result_type=OF_THE_NODE,
    oldest_kernels=6,
    elementwise=True,
    rounds_once=True,
)


_quantize = RulesOf("QuantizeLinear", 1141, survived=True)
_dequantize = RulesOf("DequantizeLinear", 1161, survived=True)


def _common(rules: RulesOf, prefix: str, **defaults: int) -> tuple[Rule, ...]:
    """The rules of both operators: dense tensors, attributes at their defaults, and scalars."""
    scale, zero_point = f"{prefix}_scale", f"{prefix}_zero_point"
    of_attributes = (
        rules(f"R{number}", 2 + number).states(attribute_is(name, default))
        for number, (name, default) in enumerate(defaults.items(), 1)
    )
    scalars = rules("signature", 7).states(of_rank(0), *(scale, zero_point))
    return rules.dense(2), *of_attributes, scalars


QUANTIZE_LINEAR = _quantize.operator(
    Family.FLOAT,
    rules=[
        _quantize("types", 0).states(
            SameNumericType("uint8", (ElementType.FLOAT,)), *("X", "y_scale"), survived=False
        ),
        _quantize("zero_point", 1).states(
            SameNumericType(OF_THE_NODE, (ElementType.UINT8,)), "y_zero_point", survived=False
        ),
        *_common(_quantize, "y", axis=1, block_size=0, output_dtype=0, precision=0),
        _quantize("given", 8).states(required("y_zero_point")),
        _quantize("C1", 9).states(
            on_elements("y_scale", NumberSet("0 or NaN", admits_nan=False, admits_zero=False))
        ),
        _quantize("C2", 10).states(
            on_elements(
                "X",
                NumberSet(
                    "NaN or infinite",
                    lambda _: (float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)),
                    admits_nan=False,
                ),
            )
        ),
    ],
    operands=("X", "y_scale", "y_zero_point"),
    versions=(10, 13, 19, 21, 23, 24, 25, 28),
    operand_types={"y_zero_point": "uint8"},
    result_type="uint8",
    oldest_kernels=10,
    optional=("y_zero_point",),
)


DEQUANTIZE_LINEAR = _dequantize.operator(
    Family.INTEGER,
    rules=[
        _dequantize("types", 0).states(
            SameNumericType("float", (ElementType.INT32,)), *("X", "x_zero_point"), survived=False
        ),
        _dequantize("scale", 1).states(
            SameNumericType(OF_THE_NODE, (ElementType.FLOAT,)), "x_scale", survived=False
        ),
        *_common(_dequantize, "x", axis=1, block_size=0, output_dtype=0),
        _dequantize("C1", 8).states(DifferenceWithinInt32(), *("X", "x_zero_point")),
    ],
    operands=("X", "x_scale", "x_zero_point"),
    versions=(10, 13, 19, 21, 23, 24, 25, 28),
    operand_types={"x_scale": "float"},
    result_type="float",
    oldest_kernels=10,
    optional=("x_zero_point",),
)

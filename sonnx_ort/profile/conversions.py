"""Cast, QuantizeLinear and DequantizeLinear: elements in another type.

The drafts of the last two have one signature each: float to uint8, and int32 to float.
"""

import numpy as np

from sonnx_ort.profile.common_rules import RulesOf, by_analogy
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.arithmetic import DifferenceWithinInt32
from sonnx_ort.profile.requirements.attributes import SameNumericType, attribute_is, required
from sonnx_ort.profile.requirements.elements import REPRESENTABLE_AS_INTEGER, on_elements
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.language import NumberSet

_cast = RulesOf("Cast", 621)

CAST = _cast.operator(
    rules=[
        _cast("R2", 0).states(
            "X is of one of the numeric types, or of conditions.",
            SameNumericType(OF_THE_NODE, tuple(ElementType)),
            remark="ONNX also converts texts, and says of few of them to which number.",
        ),
        _cast.dense(1, by_analogy("Cast")),
        _cast("float.C1", 9).states(
            "Where X is converted to integers, no element is NaN or beyond their type.",
            REPRESENTABLE_AS_INTEGER,
            remark="ONNX leaves the result undefined, and it differs from machine to machine.",
            survived=True,
        ),
    ],
    description="""
        `Cast`: each element of a tensor in another type, which the attribute `to` names.

        Results: floats to integers give the number without its fraction, and integers to narrower
        ones the number modulo 2^n. To floats it is the nearest one, and to conditions whether the
        element is not zero. Version 28 also allows floats of six bits, which are not types of the
        profile: X has none of them.

        ONNX leaves the result undefined for a float that the integer type cannot represent. ONNX
        Runtime 1.32.0 silently gives a number that depends on type and machine. On x86-64, NaN and
        infinity of float and double give the smallest value of int32 and int64. In the types of 8
        and 16 bits they give 0. Infinity gives 0 in uint32 and uint64. NaN gives
        9223372036854775808 in uint64, and in uint32 0 or 2147483648, by its index in the tensor. Of
        a number that int32 can represent, it keeps the lower bits: 44 in uint8 for 300. It also
        reads numbers from strings. It converts wider types to float16 through float, rounding
        twice: 2049.0000001 in double becomes 2048.
    """,
    operands=("X",),
    versions=(1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    result_type=OF_THE_NODE,
    oldest_kernels=6,
    elementwise=True,
    rounds_once=True,
)


_quantize = RulesOf("QuantizeLinear", 1141, survived=True)
_dequantize = RulesOf("DequantizeLinear", 1161, survived=True)
_ONE_SIGNATURE = "The draft has this signature alone."


def _common(rules: RulesOf, prefix: str, **defaults: int) -> tuple[Rule, ...]:
    """The rules of both operators: dense tensors, attributes at their defaults, and scalars."""
    scale, zero_point = f"{prefix}_scale", f"{prefix}_zero_point"
    of_attributes = (
        rules(f"R{number}", 2 + number, f"Restrictions [R{number}]").states(
            f"The attribute {name} is {default}, its default.",
            attribute_is(name, default, f"set it to {default}"),
            remark="The number is ONNX's.",
        )
        for number, (name, default) in enumerate(defaults.items(), 1)
    )
    scalars = rules("signature", 7, "Signature").states(
        f"The operands {scale} and {zero_point} are scalars.",
        of_rank(0, f"{scale} ()", f"{scale} (3,)", "quantize the whole tensor with one scale"),
        *(scale, zero_point),
        remark=_ONE_SIGNATURE,
    )
    return rules.dense(2), *of_attributes, scalars


QUANTIZE_LINEAR = _quantize.operator(
    Family.FLOAT,
    rules=[
        _quantize("types", 0, "Signature", _ONE_SIGNATURE).states(
            "X and y_scale are of type float, and Y is of type uint8.",
            SameNumericType("uint8", (ElementType.FLOAT,)),
            *("X", "y_scale"),
            survived=False,
        ),
        _quantize("zero_point", 1, "Signature", _ONE_SIGNATURE).states(
            "The zero point is of type uint8.",
            SameNumericType(OF_THE_NODE, (ElementType.UINT8,)),
            "y_zero_point",
            survived=False,
        ),
        *_common(_quantize, "y", axis=1, block_size=0, output_dtype=0, precision=0),
        _quantize("given", 8, "Signature").states(
            "The input y_zero_point is given.",
            required(
                *("y_zero_point", "y_zero_point given", "y_zero_point left out"),
                "give it as an input",
            ),
            remark="In the draft it is not optional, and determines the type of Y. ONNX assumes a "
            "zero of uint8.",
        ),
        _quantize(
            "C1", 9, "Inputs, y_scale, Constraints [E_QUANTIZELINEAR_UINT8_CONSTR_YSCALE_0010]"
        ).states(
            "The scale is a number other than 0.",
            on_elements(
                "y_scale",
                NumberSet("0 or NaN", admits_nan=False, admits_zero=False),
                *("y_scale 0.5", "y_scale 0.0", "correct the scale, which is a step"),
            ),
            remark="The draft says nothing of NaN, by which every quotient is NaN.",
        ),
        _quantize("C2", 10, "Error conditions").states(
            "Every element of X is finite.",
            on_elements(
                "X",
                NumberSet(
                    "NaN or infinite",
                    lambda _: (float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)),
                    admits_nan=False,
                ),
                "X [0.5, 1e20]",
                "X [0.5, NaN]",
                "keep NaN and infinities out, for example with IsNaN, Where and Clip",
            ),
            remark="The draft says that the result of others depends on the implementation.",
        ),
    ],
    description="""
        `QuantizeLinear`: the elements of a tensor, divided by a scale and rounded, in uint8.

        Results: X / y_scale in float, rounded to the nearest integer, and to an even one of two.
        Then y_zero_point is added, and numbers beyond 0 and 255 become 0 or 255.

        ONNX Runtime 1.32.0 gives that. It silently accepts scales and zero points of one element as
        scalars, and those of an axis as one scale each. With a scale of 0 it gives 0 and 255, and 0
        for 0 / 0; NaN becomes 0. It quantizes to int8 as well, from version 19 on from float16 too,
        and from version 21 on to integers of 16 bits. Version 1.23 has no kernel for version 23 of
        the operator, and none has one for version 28.
    """,
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
        _dequantize("types", 0, "Signature", _ONE_SIGNATURE).states(
            "X and x_zero_point are of type int32, and Y is of type float.",
            SameNumericType("float", (ElementType.INT32,)),
            *("X", "x_zero_point"),
            survived=False,
        ),
        _dequantize("scale", 1, "Signature", _ONE_SIGNATURE).states(
            "The scale is of type float.",
            SameNumericType(OF_THE_NODE, (ElementType.FLOAT,)),
            "x_scale",
            survived=False,
        ),
        *_common(_dequantize, "x", axis=1, block_size=0, output_dtype=0),
        _dequantize("C1", 8).states(
            "Every difference of X and x_zero_point is a number of int32.",
            DifferenceWithinInt32(),
            *("X", "x_zero_point"),
            remark="The draft's formula takes the difference modulo 2^32, as ONNX Runtime does, "
            "and its error conditions call that an overflow and the result unexpected. Its Example "
            "2 prints another number than the formula gives.",
        ),
    ],
    description="""
        `DequantizeLinear`: the elements of a tensor of int32 as numbers, by a scale.

        Results: X - x_zero_point in int32, converted to float and multiplied by x_scale. Without a
        zero point it is 0.

        ONNX Runtime 1.32.0 silently takes the difference modulo 2^32; version 1.23 rejects zero
        points of int32 other than 0. It accepts scales and zero points of one element as scalars,
        and those of an axis as one scale each. It has kernels for X of int8 and uint8 too. Those
        for scales of float16 begin with version 19, and those for integers of 16 bits with version
        21. Version 28 has none.
    """,
    operands=("X", "x_scale", "x_zero_point"),
    versions=(10, 13, 19, 21, 23, 24, 25, 28),
    operand_types={"x_scale": "float"},
    result_type="float",
    oldest_kernels=10,
    optional=("x_zero_point",),
)

"""QuantizeLinear and DequantizeLinear: between numbers and their quantized form.

The drafts have one signature each: float to uint8, and int32 to float.
"""

import numpy as np

from sonnx_ort.profile.common_rules import of_families, own, working_group
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.requirements.arithmetic import DifferenceWithinInt32
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    Dense,
    RequiredInput,
    SameNumericType,
)
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Illustration, Requirement, Rule, Subject
from sonnx_ort.profile.source import Source
from sonnx_ort.terms.elements import NumberSet

_QUANTIZE, _DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
_FIRST_CODES = {_QUANTIZE: 1141, _DEQUANTIZE: 1161}
_CERTAIN = (Subject.TYPES, Subject.STORAGE)


def _rule(
    name: str,
    offset: int,
    sentence: str,
    requirement: Requirement,
    *operands: str,
    source: Source | None = None,
) -> Rule:
    operator = name.partition(".")[0]
    signature = working_group(operator, "The draft has this signature alone.", at="Signature")
    return Rule(
        name,
        _FIRST_CODES[operator] + offset,
        sentence,
        source or signature,
        requirement,
        operands or None,
        survived=requirement.subject not in _CERTAIN,
    )


def _common(operator: str, prefix: str, *defaults: tuple[str, int]) -> tuple[Rule, ...]:
    """The rules of both operators: dense tensors, attributes at their defaults, and scalars."""
    scale, zero_point = f"{prefix}_scale", f"{prefix}_zero_point"
    general = "The draft applies the general restrictions of all operators."
    dense = _rule(
        f"{operator}.RG1",
        2,
        "Sparse tensors are not supported.",
        Dense(),
        source=working_group(operator, general, at="Restrictions"),
    )
    of_attributes = (
        _rule(
            f"{operator}.R{number}",
            2 + number,
            f"The attribute {name} is {default}, its default.",
            _default(name, default),
            source=working_group(operator, "The number is ONNX's.", at=f"Restrictions [R{number}]"),
        )
        for number, (name, default) in enumerate(defaults, 1)
    )
    scalars = _rule(
        f"{operator}.signature",
        7,
        f"The operands {scale} and {zero_point} are scalars.",
        of_rank(
            0,
            Illustration(
                f"{scale} ()", f"{scale} (3,)", "quantize the whole tensor with one scale"
            ),
        ),
        scale,
        zero_point,
    )
    return dense, *of_attributes, scalars


def _default(name: str, default: int) -> AdmittedAttribute:
    example = Illustration(f"{name}={default}", f"{name}={default + 1}", f"set it to {default}")
    return AdmittedAttribute((name,), default, lambda value: value == default, example)


_QUANTIZE_RULES = (
    _rule(
        f"{_QUANTIZE}.types",
        0,
        "X and y_scale are of type float, and Y is of type uint8.",
        SameNumericType("uint8", (ElementType.FLOAT,)),
        "X",
        "y_scale",
    ),
    _rule(
        f"{_QUANTIZE}.zero_point",
        1,
        "The zero point is of type uint8.",
        SameNumericType(OF_THE_NODE, (ElementType.UINT8,)),
        "y_zero_point",
    ),
    *_common(_QUANTIZE, "y", ("axis", 1), ("block_size", 0), ("output_dtype", 0), ("precision", 0)),
    _rule(
        f"{_QUANTIZE}.given",
        8,
        "The input y_zero_point is given.",
        RequiredInput(
            "y_zero_point",
            Illustration("y_zero_point given", "y_zero_point left out", "give it as an input"),
        ),
        "y_zero_point",
        source=working_group(
            _QUANTIZE,
            "In the draft it is not optional, and determines the type of Y. ONNX assumes a zero of "
            "uint8.",
            at="Signature",
        ),
    ),
    _rule(
        f"{_QUANTIZE}.C1",
        9,
        "The scale is a number other than 0.",
        on_elements(
            "y_scale",
            NumberSet("0 or NaN", admits_nan=False, admits_zero=False),
            Illustration("y_scale 0.5", "y_scale 0.0", "correct the scale, which is a step"),
        ),
        "y_scale",
        source=working_group(
            _QUANTIZE,
            "The draft says nothing of NaN, by which every quotient is NaN.",
            at="Inputs, y_scale, Constraints [E_QUANTIZELINEAR_UINT8_CONSTR_YSCALE_0010]",
        ),
    ),
    _rule(
        f"{_QUANTIZE}.C2",
        10,
        "Every element of X is finite.",
        on_elements(
            "X",
            NumberSet(
                "NaN or infinite",
                lambda _: (float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)),
                admits_nan=False,
            ),
            Illustration(
                "X [0.5, 1e20]",
                "X [0.5, NaN]",
                "keep NaN and infinities out, for example with IsNaN, Where and Clip",
            ),
        ),
        "X",
        source=working_group(
            _QUANTIZE,
            "The draft says that the result of others depends on the implementation.",
            at="Error conditions",
        ),
    ),
)

QUANTIZE_LINEAR = Operator(
    name=_QUANTIZE,
    description="""
        `QuantizeLinear`: the elements of a tensor, divided by a scale and rounded, in uint8.

        Results: X / y_scale in float, rounded to the nearest integer and to an even one of two; to
        that y_zero_point is added, and what is beyond 0 and 255 becomes 0 or 255.

        ONNX Runtime 1.32.0 gives that. It silently accepts scales and zero points of one element as
        scalars, and those of an axis as one scale each. With a scale of 0 it gives 0 and 255, and 0
        for 0 / 0; NaN becomes 0. It quantizes to int8 as well, from version 19 on from float16 too,
        and from version 21 on to integers of 16 bits. Version 1.23 has no kernel for version 23 of
        the operator, and none has one for version 28.
    """,
    operands=("X", "y_scale", "y_zero_point"),
    versions=(10, 13, 19, 21, 23, 24, 25, 28),
    contracts=of_families({Family.FLOAT: _QUANTIZE_RULES}),
    operand_types={"y_zero_point": "uint8"},
    result="Y",
    result_type="uint8",
    rounds_once=False,
    oldest_kernels=10,
    optional=("y_zero_point",),
    elementwise=False,
    by_shape=("y_zero_point",),
)


_DEQUANTIZE_RULES = (
    _rule(
        f"{_DEQUANTIZE}.types",
        0,
        "X and x_zero_point are of type int32, and Y is of type float.",
        SameNumericType("float", (ElementType.INT32,)),
        "X",
        "x_zero_point",
    ),
    _rule(
        f"{_DEQUANTIZE}.scale",
        1,
        "The scale is of type float.",
        SameNumericType(OF_THE_NODE, (ElementType.FLOAT,)),
        "x_scale",
    ),
    *_common(_DEQUANTIZE, "x", ("axis", 1), ("block_size", 0), ("output_dtype", 0)),
    _rule(
        f"{_DEQUANTIZE}.C1",
        8,
        "Every difference of X and x_zero_point is a number of int32.",
        DifferenceWithinInt32(),
        "X",
        "x_zero_point",
        source=own(
            _DEQUANTIZE,
            "The draft's formula takes the difference modulo 2^32, as ONNX Runtime does, and its "
            "error conditions call that an overflow and the result unexpected. Its Example 2 "
            "prints another number than the formula gives.",
        ),
    ),
)

DEQUANTIZE_LINEAR = Operator(
    name=_DEQUANTIZE,
    description="""
        `DequantizeLinear`: the elements of a tensor of int32 as numbers, by a scale.

        Results: X - x_zero_point in int32, converted to float and multiplied by x_scale. A zero
        point that is left out is 0.

        ONNX Runtime 1.32.0 silently takes the difference modulo 2^32; version 1.23 rejects zero
        points of int32 other than 0. It accepts scales and zero points of one element as scalars,
        and those of an axis as one scale each. It has kernels for X of int8 and uint8 too, from
        version 19 on for scales of float16, and from version 21 on for integers of 16 bits; for
        version 28 none.
    """,
    operands=("X", "x_scale", "x_zero_point"),
    versions=(10, 13, 19, 21, 23, 24, 25, 28),
    contracts=of_families({Family.INTEGER: _DEQUANTIZE_RULES}),
    operand_types={"x_scale": "float"},
    result="Y",
    result_type="float",
    rounds_once=False,
    oldest_kernels=10,
    optional=("x_zero_point",),
    elementwise=False,
    by_shape=("x_scale",),
)

"""Abs, Neg, Reciprocal, Sqrt, Log, Acos, Pow and Clip."""

import math
from dataclasses import replace

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, of_one_operand
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import WRITE_BROADCASTS, Edition
from sonnx_ort.profile.requirements.arithmetic import NOT_SMALLEST, ExactPower
from sonnx_ort.profile.requirements.attributes import admitted
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, on_elements
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Words
from sonnx_ort.remedies import Advice
from sonnx_ort.terms.language import NumberSet

_abs = of_one_operand(
    "Abs",
    501,
    remark="The signature has one type for X and Y.",
    added=(),
    type_at="Abs ({family})",
    survived=True,
)

ABS = _abs.operator(
    rules=[
        _abs("int.C1", 9, "Inputs, X, Constraints [E_ABS_INT_CONSTR_X_020]").states(
            "No element of X is the smallest value of a signed type.",
            on_elements(
                "X",
                NOT_SMALLEST,
                *("X [-127], int8", "X [-128], int8", "widen the type with Cast"),
            ),
            remark="Its magnitude does not fit the type; ONNX Runtime returns the value itself.",
        )
    ],
    description="""
        `Abs`: the absolute value of each element of a tensor.

        Results: of floats the element without its sign, infinities and NaN included; of integers
        the magnitude. That of the smallest value of a signed type does not fit the type.

        For the smallest value of int8, int16, int32 and int64, ONNX Runtime 1.32.0 silently gives
        that value itself, which is negative. It has no kernel for bfloat16.
    """,
    versions=(1, 6, 13),
    oldest_kernels=6,
)


NEG = of_one_operand(
    "Neg",
    521,
    remark="The draft says that the smallest integer is its own negative, which is a result.",
    type_at="Inputs, X, Constraints [E_NEG_{}_CONSTR_X_0010]",
).operator(
    description="""
        `Neg`: each element of a tensor with the other sign.

        Results: of integers modulo 2^n, so that the smallest value is its own negative, as the
        draft of October 2026 says. There is no rule about elements. ONNX does not allow unsigned
        types.

        ONNX Runtime 1.32.0 gives that in all four signed types. It rejects unsigned ones when a
        session starts, and has no kernel for bfloat16.
    """,
    versions=(1, 6, 13),
    oldest_kernels=6,
)


RECIPROCAL = of_one_operand(
    "Reciprocal",
    541,
    source=by_analogy(
        "Reciprocal",
        "No document and no draft covers Reciprocal yet. What floats give for zeros is a "
        "result, as for Div.",
    ),
).operator(
    Family.FLOAT,
    description="""
        `Reciprocal`: 1 divided by each element of a tensor.

        Results: IEEE 754 division, rounded to nearest even: an infinity with the sign of a zero,
        and a zero with that of an infinity. There is no rule about elements.

        ONNX Runtime 1.32.0 silently gives these infinities in float16, float and double. It has no
        kernel for bfloat16.
    """,
    versions=(1, 6, 13),
    oldest_kernels=6,
)


SQRT = of_one_operand(
    "Sqrt",
    561,
    remark="That X is not negative is stated only in the section on reals; the root of a negative "
    "float is NaN, which is a result.",
    type_at="Inputs, X, Constraints [C2]",
).operator(
    Family.FLOAT,
    description="""
        `Sqrt`: the square root of each element of a tensor.

        Results: the root, rounded to nearest even; NaN below zero, and -0 of -0, as IEEE 754 says.
        The draft has a domain only in its section on reals; there is no rule about elements.

        ONNX Runtime 1.32.0 silently gives NaN for numbers below zero in float16, float and double.
        It has no kernel for bfloat16.
    """,
    versions=(1, 6, 13),
    oldest_kernels=6,
)


LOG = of_one_operand(
    "Log",
    581,
    remark="That X is positive is stated only in the section on reals; of other floats the "
    "logarithm is NaN or negative infinity, which are results.",
    type_at="Inputs, X, Constraints [C2]",
).operator(
    Family.FLOAT,
    description="""
        `Log`: the natural logarithm of each element of a tensor.

        Results: NaN below zero, and negative infinity for zeros. The draft has a domain only in its
        section on reals; there is no rule about elements.

        ONNX Runtime 1.32.0 silently gives these results in float16, float and double; it has no
        kernel for bfloat16. In float and double the last bit depends on the index of the element
        and on the length of the tensor. REQ-OP-010 demands a function, with one result.
    """,
    versions=(1, 6, 13),
    oldest_kernels=6,
    rounds_once=False,
)


_acos = of_one_operand(
    "Acos",
    601,
    remark="The result has the operand's shape by definition.",
    type_at="Inputs, X, Constraints [E_ACOS_{}_CONSTR_X_0020]",
    survived=True,
)

ACOS = _acos.operator(
    Family.FLOAT,
    rules=[
        _acos("float.C1", 9, "Inputs, X, Constraints [E_ACOS_FLOAT_CONSTR_X_0010]").states(
            "Every element of X lies in [-1, 1].",
            on_elements(
                "X",
                NumberSet("below -1 or above 1", lambda _: (-1, 1)),
                "X [0.5, -1.0], float",
                "X [0.5, 1.001], float",
                "keep other numbers out, for example with Clip",
            ),
            remark="The draft calls a NaN operand nominal, so that NaN keeps the rule.",
            words=Words.AS_WRITTEN,
        )
    ],
    description="""
        `Acos`: the angle whose cosine an element is, for each element of a tensor.

        Results: the angle between 0 and pi, in the operand's type; NaN for NaN, which is a result.

        ONNX Runtime 1.32.0 silently gives NaN for numbers that are no cosine. It has kernels for
        float16 and float. In float the last bit depends on the index of the element and on the
        length of the tensor. REQ-OP-010 demands a function, with one result. By the draft a result
        is the nearest number; float results are off by up to 4 units in the last place.
    """,
    versions=(7, 22),
    rounds_once=False,
)


_pow = CommonRules(
    "Pow",
    461,
    remark=Advice(
        "The draft calls them A, B and C. ONNX broadcasts, which ",
        WRITE_BROADCASTS,
        " writes out, and takes operands of two types.",
    ),
    operands="X and Y",
    result="Z",
    shape_at="Inputs, A, Constraints [C1]",
    type_at="Inputs, A, Constraints [C2]",
)

POW = _pow.operator(
    rules=[
        _pow("int.C1", 9, "Inputs, B, Constraints [C3]").states(
            "No element of Y is negative.",
            on_elements(
                "Y",
                NumberSet("negative", lambda _: (0, math.inf)),
                "X [2, 3], Y [3, 0], both int32",
                "X [2, 0], Y [3, -1], both int32",
                "keep negative exponents out, for example with Max, or compute with floats",
                operands=("X", "Y"),
            ),
            remark="The draft calls the base A and the exponent B.",
            survived=True,
        ),
        _pow("int.C2", 10).states(
            "Every power of int32 is one of int32; every power of int64 is between -2^53 and 2^53, "
            "and its exponent is below 2^53.",
            ExactPower(),
            remark="By the draft, the result of a power beyond the type depends on the "
            "implementation, so all such powers are rejected. Powers of int64 are limited to those "
            "that are exact in double, in which ONNX Runtime computes them.",
            survived=True,
        ),
    ],
    description="""
        `Pow`: the elements of one tensor to the powers of those of another of one shape and type.

        Results: the power in the operands' type. Floats follow IEEE 754: a negative base with an
        exponent that is no integer gives NaN, and 0 to a negative power an infinity.

        ONNX Runtime 1.32.0 silently broadcasts, and accepts operands of two types. It computes
        integers in double. A power beyond the type, and 0 to a negative power, silently give the
        smallest value of the type. Powers of int64 are not exact beyond 2^53: 3^39 ends in 256, not
        in 267, and -1 to the power 2^53 + 1 is 1. If the exponent is one element, 2 or 3, it
        multiplies instead, and the last bits differ; `Pow.int.C2` makes no exception for that. It
        has kernels for float16, float, double, int32 and int64.
    """,
    versions=(1, 7, 12, 13, 15),
    rounds_once=False,
    single=("Y",),
)


_clip = CommonRules(
    "Clip",
    681,
    operands="input, min and max",
    result="output",
    one_shape=False,
    type_at="Inputs, Constraints [C2]",
)


def _no_nan(offset: int, bound: str) -> Rule:
    """The rule that a bound which is an attribute, as before version 11, is a number."""
    example = (f"{bound}=2.5", f"{bound}=NaN", "give a number, or leave the bound out")
    return _clip(f"{bound}.C2", offset).states(
        f"The attribute {bound} is not NaN.",
        admitted(bound, None, lambda value: not math.isnan(value), *example),
        remark="The draft, which is about version 13, counts a bound that is NaN as none. ONNX "
        "Runtime starts no session with such an attribute.",
        until=10,
    )


_clip_of_integers = replace(
    _clip, remark="The signature has one type for all tensors.", type_at="Clip (int, int, int)"
)

_SCALARS = _clip("C1", 9, "Inputs, Constraints [C1]").states(
    "The bounds min and max are scalars.",
    of_rank(0, "min (), max ()", "min (1,), max ()", "take the axis away with Squeeze"),
    *("min", "max"),
    remark="The draft says that their shapes are empty.",
    survived=True,
)

_CROSSED = _clip("float.C3", 14).states(
    "No element of input is NaN if min is above max.",
    NumbersUnderCrossedBounds(),
    remark="The draft gives max for each element if min is above max. ONNX Runtime gives NaN for "
    "NaN.",
    survived=True,
    since=11,
)

_CLIP_CONTRACT = {
    Family.FLOAT: (
        *_clip.common(Family.FLOAT),
        *(_SCALARS, _CROSSED, _no_nan(12, "min"), _no_nan(13, "max")),
    ),
    Family.INTEGER: (*_clip_of_integers.common(Family.INTEGER), _SCALARS),
}

CLIP = _clip.operator(
    contracts=dict.fromkeys(Edition, _CLIP_CONTRACT),
    description="""
        `Clip`: each element of a tensor, or the bound that it lies beyond.

        Results: min below min, max above max, and otherwise the element, NaN too; max throughout if
        min is above max. A bound that is NaN is none.

        ONNX Runtime 1.32.0 silently accepts bounds of one element of shape (1,) as well; it rejects
        others. Without a bound, it takes the largest or smallest finite number, so that infinity
        does not stay infinite. It has no kernels for bfloat16 and 16-bit integers. Versions up to
        1.31.1 compare int64 as in Max: 3000000000 between 0 and 100 is 0, except as the last of an
        odd number of elements. No rule excludes such numbers yet. Before version 11 of Clip bounds
        were attributes, and no session starts with ones that are NaN or crossed. If min is above
        max, NaN silently stays NaN.
    """,
    versions=(1, 6, 11, 12, 13),
    oldest_kernels=6,
    float16_defaults=12,
    optional=("min", "max"),
    elementwise=False,
)

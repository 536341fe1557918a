"""Logical operators, comparisons, Where and ArgMax."""

from typing import Any

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, of_one_operand
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.arithmetic import WITHIN_WIDTH
from sonnx_ort.profile.requirements.attributes import axis_from_the_front, flag
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import axis_not_empty
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.language import NumberSet


def _of_conditions(name: str, first_code: int, what: str) -> Operator:
    """An operator on two tensors of conditions of one shape."""
    return CommonRules(name, first_code, by_analogy(name)).operator(
        Family.BOOLEAN,
        description=f"""
            `{name}`: {what} of two tensors of conditions of one shape.

            Results: true and false.

            ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
            symbol.
        """,
        versions=(1, 7),
    )


def _of_bits(name: str, first_code: int, what: str) -> Operator:
    """An operator on the bits of two tensors of integers."""
    return CommonRules(name, first_code, by_analogy(name)).operator(
        Family.INTEGER,
        description=f"""
            `{name}`: {what} of the bits of two tensors of integers.

            Results: bit by bit.

            ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
            symbol, in all eight integer types.
        """,
        versions=(18,),
        oldest_kernels=18,
    )


AND = _of_conditions("And", 201, "the conjunction")
OR = _of_conditions("Or", 221, "the disjunction")
XOR = _of_conditions("Xor", 241, "the exclusive disjunction")

BITWISE_AND = _of_bits("BitwiseAnd", 261, "the conjunction")
BITWISE_OR = _of_bits("BitwiseOr", 281, "the disjunction")
BITWISE_XOR = _of_bits("BitwiseXor", 301, "the exclusive disjunction")


_bit_shift = CommonRules(
    "BitShift", 481, by_analogy("BitShift"), operands="X and Y", result="Z", survived=True
)

BIT_SHIFT = _bit_shift.operator(
    Family.INTEGER,
    rules=[
        _bit_shift("int.C1", 9).states(
            "No element of Y is negative, or the number of bits of the type or more.",
            on_elements(
                "Y",
                WITHIN_WIDTH,
                "X [1], Y [7], both uint8",
                "X [1], Y [8], both uint8",
                "keep wide shifts out, for example with Min, or widen the type with Cast",
                operands=("X", "Y"),
            ),
            remark="ONNX says from version 28 on alone what such a shift gives, and versions of "
            "ONNX Runtime give different results.",
        )
    ],
    description="""
        `BitShift`: the bits of the elements of one tensor, shifted by those of another of one
        shape.

        Results: with `direction="LEFT"`, x * 2^y modulo 2^n; with "RIGHT", the largest integer that
        is not above x / 2^y. Version 28 takes signed integers too; a shift to the right keeps their
        sign.

        ONNX does not define a shift by n or more before version 28: ONNX Runtime 1.32.0 gives 0,
        and 1.23 shifts by y modulo n. Both broadcast silently; versions up to 1.31.1 have no kernel
        for uint16. In version 28 a shift by n or more, or by a negative number, leaves only the
        sign: -1 for a negative number shifted right, else 0. ONNX Runtime 1.32.0 does this in all
        types. The rule applies there too: C leaves such shifts undefined, and versions do not agree
        on them.
    """,
    versions=(11, 28),
    broadcasting_since=11,
    oldest_kernels=11,
)


_NUMBERS = (Family.FLOAT, Family.INTEGER)


def _comparison(
    rules: CommonRules,
    whether: str,
    families: tuple[Family, ...] = _NUMBERS,
    broadcast_types: str = "in every numeric type",
    **fields: Any,
) -> Operator:
    """An operator that compares elements of two tensors of one shape and type."""
    return rules.operator(
        *families,
        description=f"""
            `{rules.name}`: whether {whether}.

            Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros
            are equal.

            ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
            symbol. It does so {broadcast_types} except bfloat16, for which it has no kernel.
        """,
        **fields,
    )


def _like_less(name: str, first_code: int) -> CommonRules:
    source = by_analogy(name, "The draft of the working group covers only Less.")
    return CommonRules(name, first_code, source, result_type="bool")


EQUAL = _comparison(
    CommonRules("Equal", 321, by_analogy("Equal"), result_type="bool"),
    "elements of two tensors of one shape and type are equal",
    (*_NUMBERS, Family.BOOLEAN),
    "in conditions and in every numeric type",
    versions=(1, 7, 11, 13, 19),
)

LESS = _comparison(
    CommonRules(
        "Less",
        341,
        result_type="bool",
        shape_at="Inputs, A, Constraints [E_LESS_{}_CONSTR_A_010]",
        type_at="Inputs, A, Constraints [E_LESS_{}_CONSTR_A_020]",
    ),
    "elements of a tensor are less than those of another one",
    versions=(1, 7, 9, 13),
)

LESS_OR_EQUAL = _comparison(
    _like_less("LessOrEqual", 361),
    "elements of a tensor are at most those of another one",
    versions=(12, 16),
    oldest_kernels=12,
)

GREATER = _comparison(
    _like_less("Greater", 381),
    "elements of a tensor are greater than those of another one",
    versions=(1, 7, 9, 13),
)

GREATER_OR_EQUAL = _comparison(
    _like_less("GreaterOrEqual", 401),
    "elements of a tensor are at least those of another one",
    versions=(12, 16),
    oldest_kernels=12,
)


WHERE = CommonRules(
    "Where",
    421,
    operands="condition, X and Y",
    result="output",
    typed=("X", "Y"),
    shape_at="Inputs, condition, Constraints [C1]",
    type_at="Inputs, condition, Constraints [C2]",
).operator(
    description="""
        `Where`: the elements of one of two tensors, as a tensor of conditions says.

        Results: X where the condition is true, Y where it is false.

        ONNX Runtime 1.32.0 silently broadcasts all three to each other, and gives +0 for a -0 of X.
        It has no kernels for bool, bfloat16, 16-bit integers and uint64. The python backend selects
        by itself, and the compiled backend keeps a -0 of float and double.
    """,
    versions=(9, 16),
    operand_types={"condition": "bool"},
    broadcasting_since=9,
    rounds_once=False,
    oldest_kernels=9,
)


_arg_max = of_one_operand(
    "ArgMax",
    701,
    remark="The draft states the type of Y, and lists those of X.",
    result_type="int64",
    type_at="Outputs, Y, Constraints [C1]",
)


def _flag(offset: int, name: str, assumed: int, since: int) -> Rule:
    return _arg_max(f"{name}.C1", offset, f"Attributes, {name}, Constraints [C1]").states(
        f"The attribute {name} is 0 or 1.",
        flag(name, assumed),
        remark="Its value domain.",
        survived=True,
        since=since,
    )


ARG_MAX = _arg_max.operator(
    rules=[
        _arg_max("R4", 8, "Restrictions [R4]").states(
            "The attribute axis is not negative.",
            axis_from_the_front(0),
            remark="The draft calls it transient.",
        ),
        _arg_max("R5", 9, "Restrictions [R5]").states(
            "X has the axis, and the axis is not empty.",
            axis_not_empty(
                *("X", "X (2, 3), axis 1", "X (2, 0), axis 1", "keep empty tensors out")
            ),
            remark="The draft states it of X too, as C2, and that there is such an axis, as C1.",
            survived=True,
        ),
        _flag(11, "keepdims", 1, 1),
        _flag(12, "select_last_index", 0, 12),
        _arg_max("float.C1", 10).states(
            "No element of X is NaN.",
            on_elements(
                "X",
                NumberSet("NaN", admits_nan=False),
                "X [1.0, inf, 3.0], float",
                "X [1.0, NaN, 3.0], float",
                "replace NaN by a number, for example with IsNaN and Where",
            ),
            remark="The draft gives the index of the first NaN, or of the last one with "
            "select_last_index. ONNX Runtime gives another one: 2 for [1, NaN, 3].",
            survived=True,
        ),
    ],
    description="""
        `ArgMax`: the indices of the largest elements along an axis, which the attribute `axis`
        names.

        Results: int64. Of several largest elements it is the index of the first, or of the last
        where `select_last_index` is 1.

        ONNX Runtime 1.32.0 rejects an empty axis with an error of its own. It skips a NaN that is
        not the first element, so its result differs from that of the draft, the index of the first
        NaN. Versions up to 1.31.1 do so only for matrices. It has kernels for float16, float,
        double, int8, int32, int64 and uint8.
    """,
    versions=(1, 11, 12, 13),
    oldest_kernels=1,
    elementwise=False,
)

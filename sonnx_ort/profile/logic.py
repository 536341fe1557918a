"""Logical operators, comparisons, Where and ArgMax."""

from sonnx_ort.profile.common_rules import CommonRules, of_one_operand
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import axis_from_the_front, flag
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.quotients import WITHIN_WIDTH
from sonnx_ort.profile.requirements.shapes import axis_not_empty
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.numbers import NumberSet


def _of_conditions(name: str, first_code: int) -> Operator:
    """An operator on two tensors of conditions of one shape."""
    return CommonRules(name, first_code, has_draft=False).operator(Family.BOOLEAN, versions=(1, 7))


def _of_bits(name: str, first_code: int) -> Operator:
    """An operator on the bits of two tensors of integers."""
    return CommonRules(name, first_code, has_draft=False).operator(
        Family.INTEGER, versions=(18,), oldest_kernels=18
    )


AND = _of_conditions("And", 201)
OR = _of_conditions("Or", 221)
XOR = _of_conditions("Xor", 241)

BITWISE_AND = _of_bits("BitwiseAnd", 261)
BITWISE_OR = _of_bits("BitwiseOr", 281)
BITWISE_XOR = _of_bits("BitwiseXor", 301)


_bit_shift = CommonRules(
    "BitShift", 481, has_draft=False, operands="X and Y", result="Z", survived=True
)

BIT_SHIFT = _bit_shift.operator(
    Family.INTEGER,
    rules=[_bit_shift("int.C1", 9).states(on_elements("Y", WITHIN_WIDTH, operands=("X", "Y")))],
    versions=(11, 28),
    broadcasting_since=11,
    oldest_kernels=11,
)


_NUMBERS = (Family.FLOAT, Family.INTEGER)


def _comparison(name: str, first_code: int, *, has_draft: bool = False) -> CommonRules:
    """The rules of an operator that compares elements of two tensors of one shape and type."""
    return CommonRules(name, first_code, has_draft=has_draft, result_type="bool")


EQUAL = _comparison("Equal", 321).operator(
    *(*_NUMBERS, Family.BOOLEAN), versions=(1, 7, 11, 13, 19)
)

LESS = _comparison("Less", 341, has_draft=True).operator(*_NUMBERS, versions=(1, 7, 9, 13))

LESS_OR_EQUAL = _comparison("LessOrEqual", 361).operator(
    *_NUMBERS, versions=(12, 16), oldest_kernels=12
)

GREATER = _comparison("Greater", 381).operator(*_NUMBERS, versions=(1, 7, 9, 13))

GREATER_OR_EQUAL = _comparison("GreaterOrEqual", 401).operator(
    *_NUMBERS, versions=(12, 16), oldest_kernels=12
)


WHERE = CommonRules(
    "Where", 421, operands="condition, X and Y", result="output", typed=("X", "Y")
).operator(
    versions=(9, 16),
    operand_types={"condition": "bool"},
    broadcasting_since=9,
    rounds_once=False,
    oldest_kernels=9,
)


_arg_max = of_one_operand("ArgMax", 701, result_type="int64")


def _flag(offset: int, name: str, assumed: int, since: int) -> Rule:
    return _arg_max(f"{name}.C1", offset).states(flag(name, assumed), survived=True, since=since)


ARG_MAX = _arg_max.operator(
    rules=[
        _arg_max("R4", 8).states(axis_from_the_front(0)),
        _arg_max("R5", 9).states(axis_not_empty("X"), survived=True),
        _flag(11, "keepdims", 1, 1),
        _flag(12, "select_last_index", 0, 12),
        _arg_max("float.C1", 10).states(
            on_elements("X", NumberSet("NaN", admits_nan=False)), survived=True
        ),
    ],
    versions=(1, 11, 12, 13),
    oldest_kernels=1,
    elementwise=False,
)

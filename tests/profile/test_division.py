"""Zero divisors and quotients beyond the type: known before a run, and found in one."""

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand
from support.decisions import judged
from support.values import FLOATS, INTEGERS, SIGNED_INTEGERS

NONZERO = "Div.int.C1"
REPRESENTABLE = "Div.int.C2"
INFINITY = "Div.R5"


def operand(letter, values=None, element_type="int8"):
    constant = None
    if values is not None:
        constant = np.array(values, ElementType(element_type).dtype)
    name = {"A": "x", "B": "w"}[letter]
    return Operand(letter, name, "somewhere", element_type, constant=constant)


def judge(rule_id, a, b, element_type="int8"):
    operands = operand("A", a, element_type), operand("B", b, element_type)
    return RULES[rule_id].requirement.judge(operands)


def violation(rule_id, a, b, element_type="int8"):
    dtype = ElementType(element_type).dtype
    return RULES[rule_id].requirement.violation([np.array(a, dtype), np.array(b, dtype)])


DECIDED = """
Div.int.C1 Div.R5
  A ?, B ?, both int8 -> runtime: the elements of B are known only in a run
  A ?, B [1, -1], both int8 -> proved: no element of the constant B 'b' is zero
  A ?, B [], both int8 -> proved: no element of the constant B 'b' is zero
  A ?, B 5, both int8 -> proved: no element of the constant B 'b' is zero
  A ?, B 0, both int8 -> violated: the constant B 'b' is zero at []
  A ?, B [3, 0, 0], both int8 -> violated: the constant B 'b' is zero at [1]
  A ?, B [[3, 1], [0, 1]], both int8 -> violated: the constant B 'b' is zero at [1, 0]
  A ?, B ? in 1..7, both int8 -> proved: every element of B 'b' lies in 1 to 7
  A ?, B ? in -7..-1, both int8 -> proved: every element of B 'b' lies in -7 to -1
  A ?, B ? in 0..7, both int8 -> runtime: the elements of B are known only in a run
  A ?, B ? in -7..0, both int8 -> runtime: the elements of B are known only in a run
Div.int.C2
  A ?, B ? in 0..7, both int8 -> proved: every element of B 'b' lies in 0 to 7
  A ?, B ? in -7..-2, both int8 -> proved: every element of B 'b' lies in -7 to -2
  A ?, B ? in -1..7, both int8 -> runtime: the elements are known only in a run
  A ?, B ? in -7..-1, both int8 -> runtime: the elements are known only in a run
  A ? in -127..7, B ?, both int8 -> proved: every element of A 'a' lies in -127 to 7
  A ? in -128..7, B ?, both int8 -> runtime: the elements are known only in a run
  A ?, B ?, both int8 -> runtime: the elements are known only in a run
  A ?, B [-1, 2], both int8 -> runtime: the elements are known only in a run
  A [-128], B ?, both int8 -> runtime: the elements are known only in a run
  A ?, B [1, 2], both int8 -> proved: no element of the constant B 'b' is -1
  A [1, -127], B ?, both int8 -> proved: no element of the constant A 'a' is the smallest value
  A [1, 2], B [-1, -1], both int8 -> proved: no element of the constant A 'a' is the smallest value
  A [-128, 1], B [1, -1], both int8 -> proved: the constants nowhere divide the smallest value by
      -1
  A [1, -128], B [-1, -1], both int8 -> violated: the constants divide the smallest value by -1 at
      [1]
  A -128, B -1, both int8 -> violated: the constants divide the smallest value by -1 at []
  A [-128, 1], B [-1], both int8 -> runtime: the elements are known only in a run
"""


@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_judgement(requirement, operands, judgement):
    assert requirement.judge(operands) == judgement


def test_an_interval_of_a_type_that_is_not_known_proves_nothing_of_quotients():
    a = Operand("A", "x", "somewhere", bounds=Bounds(0, 7))
    judged = RULES[REPRESENTABLE].requirement.judge((a, operand("B")))
    assert judged.status is Status.RUNTIME


@pytest.mark.parametrize("element_type", FLOATS)
def test_floats_keep_the_rule_of_infinity_by_definition(element_type):
    judgement = judge(INFINITY, None, [0, 1], element_type)
    expected = Judgement(Status.PROVED, "the operator's result is +inf wherever B is zero")
    assert judgement == expected


@pytest.mark.parametrize("element_type", [t for t in INTEGERS if t not in SIGNED_INTEGERS])
def test_unsigned_quotients_always_fit(element_type):
    expected = Judgement(Status.PROVED, "unsigned quotients are never larger than the dividend")
    assert judge(REPRESENTABLE, None, None, element_type) == expected


@pytest.mark.parametrize("rule_id", [NONZERO, REPRESENTABLE, INFINITY])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(Operand("A", "x", "input"), Operand("B", "w", "input"), id="nothing is known"),
        pytest.param(Operand("A", "x", "initializer", "float", constant=np.float32([1.5])),
            Operand("B", "w", "input", "int8"), id="a constant of another type"),
        pytest.param(Operand("A", "x", "initializer", "bool", constant=np.array([True])),
            Operand("B", "w", "input", "int8"), id="a constant that is not numeric"),
        pytest.param(Operand("A", "x", "initializer", "float", constant=np.float32([1.5])),
            Operand("B", "w", "initializer", "int8", constant=np.int8([-1])),
            id="constants of two types"),
    ],
)  # fmt: skip
def test_judgement_decides_nothing_where_types_leave_it_open(rule_id, a, b):
    assert RULES[rule_id].requirement.judge((a, b)).status is not Status.VIOLATED


@pytest.mark.satisfies("Div.preliminary.R5", "Div.preliminary.nonzero", "Div.typed.int")
@pytest.mark.parametrize("element_type", INTEGERS)
@pytest.mark.parametrize(
    ("a", "b", "index", "values", "at"),
    [
        pytest.param(6, 0, (), (6, 0), "A[] = 6, B[] = 0", id="rank 0"),
        pytest.param([6, 7, 8], [1, 0, 0], (1,), (7, 0), "A[1] = 7, B[1] = 0", id="rank 1"),
        pytest.param(
            [[6, 7], [8, 9]], [[1, 1], [0, 0]], (1, 0), (8, 0), "A[1, 0] = 8, B[1, 0] = 0", id="2"
        ),
    ],
)
@pytest.mark.parametrize("rule_id", [NONZERO, INFINITY])
def test_zero_divisor_is_an_offence(rule_id, element_type, a, b, index, values, at):  # noqa: PLR0917
    expected = Violation(f"a zero divisor: {at}", index, values)
    assert violation(rule_id, a, b, element_type) == expected


@pytest.mark.parametrize("element_type", INTEGERS)
@pytest.mark.parametrize(("a", "b"), [(0, 1), ([], []), ([0, 1], [1, 2]), ([[0]], [[5]])])
@pytest.mark.parametrize("rule_id", [NONZERO, INFINITY, REPRESENTABLE])
def test_kept_rules_are_no_offence(rule_id, element_type, a, b):
    assert violation(rule_id, a, b, element_type) is None


@pytest.mark.satisfies("Div.preliminary.R5", "Div.preliminary.R5.constraint")
@pytest.mark.parametrize("element_type", FLOATS)
def test_zero_divisor_of_floats_is_no_offence(element_type):
    assert violation(INFINITY, [1, 0], [0, -0.0], element_type) is None


@pytest.mark.satisfies("Div.typed.int")
@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_smallest_by_minus_one_is_an_offence(element_type):
    smallest = int(np.iinfo(element_type.dtype).min)
    found = violation(
        REPRESENTABLE, [[5, smallest], [smallest, 1]], [[-1, 1], [-1, 1]], element_type
    )
    reason = f"a quotient beyond the type: A[1, 0] = {smallest}, B[1, 0] = -1"
    assert found == Violation(reason, (1, 0), (smallest, -1))


@pytest.mark.parametrize("element_type", INTEGERS)
def test_largest_divisor_of_the_smallest_value_is_no_offence(element_type):
    limits = np.iinfo(element_type.dtype)
    assert violation(REPRESENTABLE, [limits.min], [limits.max], element_type) is None


@pytest.mark.parametrize(
    ("rule_id", "hint"),
    [
        (NONZERO, "keep zeros out of the divisor, for example with Where or Max"),
        (INFINITY, "keep zeros out of the divisor, for example with Where or Max"),
        (REPRESENTABLE, "widen the type with Cast, or keep -1 out of the divisor"),
    ],
)
def test_hint(rule_id, hint):
    assert RULES[rule_id].requirement.hint((operand("A"), operand("B"))) == hint


def test_bfloat16_constant_keeps_the_rule_of_infinity():
    b = Operand("B", "w", "initializer", "bfloat16", constant=np.zeros(2, ml_dtypes.bfloat16))
    a = Operand("A", "x", "input", "bfloat16")
    assert RULES[INFINITY].requirement.judge((a, b)).status is Status.PROVED


def test_one_float_operand_tells_that_the_rule_of_infinity_is_kept():
    a, b = Operand("A", "x", "input"), operand("B", [-0.0], "float")
    assert RULES[INFINITY].requirement.judge((a, b)).status is Status.PROVED


def test_remainder_by_minus_one_is_free_below_32_bits():
    rule, free = "Mod.int.C2", "it is about types of 32 bits and more"
    for kind in SIGNED_INTEGERS:
        smallest = np.iinfo(kind.dtype).min
        judged, found = (of(rule, smallest, -1, kind.value) for of in (judge, violation))
        if 8 * kind.dtype.itemsize < 32:
            assert (judged, found) == (Judgement(Status.PROVED, free), None)
        else:
            assert judged.status is Status.VIOLATED
            assert found is not None

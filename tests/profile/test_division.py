"""Zero divisors and quotients beyond the type: known before a run, and found in one."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand
from support.values import FLOATS, INTEGERS, SIGNED_INTEGERS

NONZERO = "Div.int.C1"
REPRESENTABLE = "Div.int.C2"
INFINITY = "Div.R5"
INT8_MIN = -128


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


@pytest.mark.parametrize(
    ("b", "status", "evidence"),
    [
        (None, "runtime", "the elements of B are known only in a run"),
        ([1, -1], "proved", "no element of the constant B 'w' is zero"),
        ([], "proved", "no element of the constant B 'w' is zero"),
        (5, "proved", "no element of the constant B 'w' is zero"),
        (0, "violated", "the constant B 'w' is zero at []"),
        ([3, 0, 0], "violated", "the constant B 'w' is zero at [1]"),
        ([[3, 1], [0, 1]], "violated", "the constant B 'w' is zero at [1, 0]"),
    ],
)
@pytest.mark.parametrize("rule_id", [NONZERO, INFINITY])
def test_judgement_of_zero_divisors(rule_id, b, status, evidence):
    assert judge(rule_id, None, b) == Judgement(Status(status), evidence)


@pytest.mark.parametrize("rule_id", [NONZERO, INFINITY])
@pytest.mark.parametrize(
    ("bounds", "status", "evidence"),
    [
        (Bounds(1, 7), "proved", "every element of B 'w' lies in 1 to 7"),
        (Bounds(-7, -1), "proved", "every element of B 'w' lies in -7 to -1"),
        (Bounds(0, 7), "runtime", "the elements of B are known only in a run"),
        (Bounds(-7, 0), "runtime", "the elements of B are known only in a run"),
    ],
)
def test_intervals_without_zero_prove_that_no_divisor_is_zero(rule_id, bounds, status, evidence):
    operands = operand("A"), dataclasses.replace(operand("B"), bounds=bounds)
    judged = RULES[rule_id].requirement.judge(operands)
    assert judged == Judgement(Status(status), evidence)


@pytest.mark.parametrize(
    ("a", "b", "status", "evidence"),
    [
        (None, Bounds(0, 7), "proved", "every element of B 'w' lies in 0 to 7"),
        (None, Bounds(-7, -2), "proved", "every element of B 'w' lies in -7 to -2"),
        (None, Bounds(-1, 7), "runtime", "the elements are known only in a run"),
        (None, Bounds(-7, -1), "runtime", "the elements are known only in a run"),
        (Bounds(-127, 7), None, "proved", "every element of A 'x' lies in -127 to 7"),
        (Bounds(-128, 7), None, "runtime", "the elements are known only in a run"),
    ],
)
def test_intervals_prove_that_quotients_are_representable(a, b, status, evidence):
    operands = (
        dataclasses.replace(operand("A"), bounds=a),
        dataclasses.replace(operand("B"), bounds=b),
    )
    judged = RULES[REPRESENTABLE].requirement.judge(operands)
    assert judged == Judgement(Status(status), evidence)


def test_an_interval_of_a_type_that_is_not_known_proves_nothing_of_quotients():
    a = Operand("A", "x", "somewhere", bounds=Bounds(0, 7))
    judged = RULES[REPRESENTABLE].requirement.judge((a, operand("B")))
    assert judged.status is Status.RUNTIME


@pytest.mark.parametrize("element_type", FLOATS)
def test_floats_keep_the_rule_of_infinity_by_definition(element_type):
    judgement = judge(INFINITY, None, [0, 1], element_type)
    expected = Judgement(Status.PROVED, "the operator's result is +inf wherever B is zero")
    assert judgement == expected


@pytest.mark.parametrize(
    ("a", "b", "status", "evidence"),
    [
        (None, None, "runtime", "the elements are known only in a run"),
        (None, [-1, 2], "runtime", "the elements are known only in a run"),
        ([INT8_MIN], None, "runtime", "the elements are known only in a run"),
        (None, [1, 2], "proved", "no element of the constant B 'w' is -1"),
        ([1, -127], None, "proved", "no element of the constant A 'x' is the smallest value"),
        ([1, 2], [-1, -1], "proved", "no element of the constant A 'x' is the smallest value"),
        ([INT8_MIN, 1], [1, -1], "proved", "the constants nowhere divide the smallest value by -1"),
        (
            [1, INT8_MIN],
            [-1, -1],
            "violated",
            "the constants divide the smallest value by -1 at [1]",
        ),
        (INT8_MIN, -1, "violated", "the constants divide the smallest value by -1 at []"),
        ([INT8_MIN, 1], [-1], "runtime", "the elements are known only in a run"),
    ],
)
def test_judgement_of_quotients_beyond_the_type(a, b, status, evidence):
    assert judge(REPRESENTABLE, a, b) == Judgement(Status(status), evidence)


@pytest.mark.parametrize("element_type", [t for t in INTEGERS if t not in SIGNED_INTEGERS])
def test_unsigned_quotients_always_fit(element_type):
    expected = Judgement(Status.PROVED, "unsigned quotients are never larger than the dividend")
    assert judge(REPRESENTABLE, None, None, element_type) == expected


@pytest.mark.parametrize("rule_id", [NONZERO, REPRESENTABLE, INFINITY])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(Operand("A", "x", "input"), Operand("B", "w", "input"), id="nothing is known"),
        pytest.param(
            Operand("A", "x", "initializer", "float", constant=np.float32([1.5])),
            Operand("B", "w", "input", "int8"),
            id="a constant of another type",
        ),
        pytest.param(
            Operand("A", "x", "initializer", "bool", constant=np.array([True])),
            Operand("B", "w", "input", "int8"),
            id="a constant that is not numeric",
        ),
        pytest.param(
            Operand("A", "x", "initializer", "float", constant=np.float32([1.5])),
            Operand("B", "w", "initializer", "int8", constant=np.int8([-1])),
            id="constants of two types",
        ),
    ],
)
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

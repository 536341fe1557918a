"""Quotients, powers and differences beyond a type: known before a run, and found in one."""

from math import isqrt

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.facts.bounds import EXACT_IN_DOUBLE
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.exact_powers import ExactPower
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
  A ?, B ?, both int8 -> runtime: the elements of B depend on the inputs
  A ?, B [1, -1], both int8 -> proved: no element of the constant B 'b' is zero
  A ?, B [], both int8 -> proved: no element of the constant B 'b' is zero
  A ?, B 5, both int8 -> proved: no element of the constant B 'b' is zero
  A ?, B 0, both int8 -> violated: the constant B 'b' is zero at []
  A ?, B [3, 0, 0], both int8 -> violated: the constant B 'b' is zero at [1]
  A ?, B [[3, 1], [0, 1]], both int8 -> violated: the constant B 'b' is zero at [1, 0]
  A ?, B ? in 1..7, both int8 -> proved: every element of B 'b' lies in 1 to 7
  A ?, B ? in -7..-1, both int8 -> proved: every element of B 'b' lies in -7 to -1
  A ?, B ? in 0..7, both int8 -> runtime: the elements of B depend on the inputs
  A ?, B ? in -7..0, both int8 -> runtime: the elements of B depend on the inputs
Div.int.C2
  A ?, B ? in 0..7, both int8 -> proved: every element of B 'b' lies in 0 to 7
  A ?, B ? in -7..-2, both int8 -> proved: every element of B 'b' lies in -7 to -2
  A ?, B ? in -1..7, both int8 -> runtime: the elements depend on the inputs
  A ?, B ? in -7..-1, both int8 -> runtime: the elements depend on the inputs
  A ? in -127..7, B ?, both int8 -> proved: every element of A 'a' lies in -127 to 7
  A ? in -128..7, B ?, both int8 -> runtime: the elements depend on the inputs
  A ?, B ?, both int8 -> runtime: the elements depend on the inputs
  A ?, B [-1, 2], both int8 -> runtime: the elements depend on the inputs
  A [-128], B ?, both int8 -> runtime: the elements depend on the inputs
  A ?, B [1, 2], both int8 -> proved: no element of the constant B 'b' is -1
  A [1, -127], B ?, both int8 -> proved: no element of the constant A 'a' is the smallest value
  A [1, 2], B [-1, -1], both int8 -> proved: no element of the constant A 'a' is the smallest value
  A [-128, 1], B [1, -1], both int8 -> proved: the constants nowhere divide the smallest value by
      -1
  A [1, -128], B [-1, -1], both int8 -> violated: the constants divide the smallest value by -1 at
      [1]
  A -128, B -1, both int8 -> violated: the constants divide the smallest value by -1 at []
  A [-128, 1], B [-1], both int8 -> runtime: the elements depend on the inputs
Pow.int.C2
  X ?, Y ?, both int64 -> runtime: the elements depend on the inputs
  X [2], Y [2], unknown types -> runtime: the elements depend on the inputs
  X [2.5], Y [2.0] -> runtime: the elements depend on the inputs
  X ? in -9..7, Y [2, 3] -> proved: no power is beyond 729 in magnitude
  X ? in -9..7, Y [17] -> runtime: the elements depend on the inputs
  X ? in -9..7, Y [-1] -> runtime: the elements depend on the inputs
  X ? in 1..1, Y ? in -1152921504606846976..9007199254740991 -> proved: no power is beyond 1 in
      magnitude
  X ? in -1..1, Y ? in 0..9007199254740992 -> runtime: the elements depend on the inputs
  X ? in -1..1, Y ? in 0..2147483647, both int32 -> proved: no power is beyond 1 in magnitude
  X [-2, 100], Y [50, 3] -> proved: every power of the constants is exact
  X [2, 100], Y [3, 50] -> violated: a power of the constants may not be exact, at [1]
  X [2, 3, 4], Y [39] -> violated: a power of the constants may not be exact, at [1]
  X [[2, 9]], Y [39, 2] -> runtime: the elements depend on the inputs
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
@pytest.mark.parametrize(("a", "b"), [
    pytest.param(Operand("A", "x", "input"), Operand("B", "w", "input"), id="nothing is known"),
    pytest.param(Operand("A", "x", "initializer", "float", constant=np.float32([1.5])),
        Operand("B", "w", "input", "int8"), id="a constant of another type"),
    pytest.param(Operand("A", "x", "initializer", "bool", constant=np.array([True])),
        Operand("B", "w", "input", "int8"), id="a constant that is not numeric"),
    pytest.param(Operand("A", "x", "initializer", "float", constant=np.float32([1.5])),
        Operand("B", "w", "initializer", "int8", constant=np.int8([-1])),
        id="constants of two types"),
])  # fmt: skip
def test_judgement_decides_nothing_where_types_leave_it_open(rule_id, a, b):
    assert RULES[rule_id].requirement.judge((a, b)).status is not Status.VIOLATED


@pytest.mark.satisfies("Div.typed.int")
@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_smallest_by_minus_one_is_an_offence(element_type):
    smallest = int(np.iinfo(element_type.dtype).min)
    found = violation(
        REPRESENTABLE, [[5, smallest], [smallest, 1]], [[-1, 1], [-1, 1]], element_type
    )
    reason = f"a quotient beyond the type: A[1, 0] = {smallest}, B[1, 0] = -1"
    assert found == Violation(reason, (1, 0), (smallest, -1))


@pytest.mark.parametrize(
    ("rule_id", "hint"),
    [
        (NONZERO, "keep zeros out of the divisor, for example with Where or Max"),
        (INFINITY, "keep zeros out of the divisor, for example with Where or Max"),
        (REPRESENTABLE, "widen the type with Cast, or keep -1 out of the divisor"),
    ],
)
def test_hint(rule_id, hint):
    assert RULES[rule_id].hint((operand("A"), operand("B"))) == hint


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


LIMITS = {
    np.int64: (1 - 2**53, 2**53 - 1),
    np.uint64: (0, 2**53 - 1),
    np.int32: (-(2**31), 2**31 - 1),
    np.int8: (-128, 127),
    np.uint8: (0, 255),
}


def root(power: int, exponent: int) -> int:
    """The largest number whose power is not above another."""
    low, high = 0, 1 << 64
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**exponent <= power else (low, middle - 1)
    return low


def is_exact(x: int, y: int, dtype: type) -> bool:
    """The rule in Python's integers."""
    lower, upper = LIMITS[dtype]
    if y < 0:
        return x != 0
    if np.dtype(dtype).itemsize == 8 and y >= 2**53:
        return False
    return abs(x) < 2 or (y < 65 and lower <= x**y <= upper)


def bases_near_the_limit(dtype: type) -> list[tuple[int, int]]:
    """All exponents up to 65, with the bases of either sign around the root of each limit."""
    numbers = np.iinfo(dtype)
    pairs = {
        (sign * base, exponent)
        for limit in LIMITS[dtype]
        for exponent in range(1, 66)
        for near in range(-2, 3)
        for sign in (1, -1)
        for base in [root(abs(limit) + 1, exponent) + near]
    }
    return sorted(p for p in pairs if numbers.min <= p[0] <= numbers.max and p[1] <= numbers.max)


def small_pairs(dtype: type) -> list[tuple[int, int]]:
    least = max(-40, int(np.iinfo(dtype).min))
    return [(x, y) for x in range(least, 41) for y in range(max(least, -3), 67)]


def edges(dtype: type) -> list[tuple[int, int]]:
    limits = np.iinfo(dtype)
    ends = (limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 2)
    ends += (-1, -2) if limits.min else ()
    wide = (2**53 - 1, 2**53, 2**53 + 1) if limits.bits == 64 else ()
    return [(int(x), int(y)) for x in ends + wide for y in ends + wide]


@pytest.mark.parametrize("dtype", LIMITS)
def test_powers_are_judged_as_python_computes_them(dtype: type) -> None:
    pairs = [*bases_near_the_limit(dtype), *small_pairs(dtype), *edges(dtype)]
    found = set()
    for x, y in pairs:
        violation = ExactPower().violation([np.array([x], dtype), np.array([y], dtype)])
        assert (violation is None) is is_exact(x, y, dtype), (x, y)
        found.add(violation is None)
    assert found == {True, False}


def test_no_power_is_close_below_the_limit() -> None:
    """Of double, the limit may be a little off: there is nothing between."""
    for exponent in range(2, 54):
        base = root(EXACT_IN_DOUBLE - 1, exponent)
        assert base**exponent < EXACT_IN_DOUBLE - (1 << 25)
        above = (base + 1) ** exponent
        assert above == EXACT_IN_DOUBLE or above > EXACT_IN_DOUBLE + (1 << 25)
    assert isqrt(EXACT_IN_DOUBLE) == 94906265


def test_first_power_is_told() -> None:
    x, y = np.array([[3, 3], [3, 2]]), np.array([[33, 39], [40, 53]])
    violation = ExactPower().violation([x, y])
    assert violation is not None
    assert (violation.index, violation.values) == ((0, 1), (3, 39))
    assert violation.reason == "a power that may not be exact: X[0, 1] = 3, Y[0, 1] = 39"


def test_nothing_breaks_no_rule() -> None:
    nothing = np.zeros((2, 0), np.int64)
    assert ExactPower().violation([nothing, nothing]) is None


DIFFERENCE = DifferenceWithinInt32()
SMALLEST, LARGEST = -(2**31), 2**31 - 1

DIFFERENCES = """
difference
  X ?, int32 -> proved: nothing is subtracted
  X ?, Z 0, both int32 -> proved: Z 'z' is 0
  X ?, Z [0, 0], both int32 -> proved: Z 'z' is 0
  X ?, Z 1, both int32 -> runtime: the elements of X depend on the inputs
  X ?, Z ?, both int32 -> runtime: the elements of X and Z depend on the inputs
  X ? in 0..255, Z ?, both int32 -> runtime: the elements of Z depend on the inputs
  X ? in 0..255, Z 128, both int32 -> proved: every difference lies in -128 to 127
  X ? in 0..255, Z -2147483648, both int32 -> runtime: the differences lie in 2147483648 to
      2147483903
  X [5, -2147483648], Z 1, both int32 -> violated: of the constants, -2147483648 - 1 at [1] is
      beyond int32
  X [-1, 2147483647], Z 0, both int32 -> proved: Z 'z' is 0
  X [], Z 1, both int32 -> runtime: the elements of X depend on the inputs
"""


@pytest.mark.parametrize(
    ("requirement", "operands", "judgement"), judged(DIFFERENCES, {"difference": DIFFERENCE})
)
def test_what_is_known_of_a_difference(requirement, operands, judgement):
    assert requirement.judge(operands) == judgement


@pytest.mark.parametrize(
    ("x", "zero_point", "index", "values"),
    [
        ([SMALLEST, LARGEST], 0, None, None),
        ([SMALLEST, LARGEST - 1], -1, None, None),
        ([SMALLEST + 1, LARGEST], 1, None, None),
        ([0, LARGEST], -1, (1,), (LARGEST, -1)),
        ([[SMALLEST]], 1, (0, 0), (SMALLEST, 1)),
        ([-1, 0], SMALLEST, (1,), (0, SMALLEST)),
        ([-1], LARGEST, None, None),
        (SMALLEST, LARGEST, (), (SMALLEST, LARGEST)),
        ([], SMALLEST, None, None),
        ([SMALLEST], [], None, None),
        ([5, SMALLEST], [0, 1], (1,), (SMALLEST, 1)),
    ],
)
def test_difference_in_a_run(
    x: object, zero_point: object, index: tuple[int, ...] | None, values: tuple[int, int] | None
) -> None:
    arrays = [np.array(operand, np.int32) for operand in (x, zero_point)]
    found = DIFFERENCE.violation(arrays)
    if values is None:
        assert found is None
    else:
        reason = f"{values[0]} - {values[1]} at {list(index)} is beyond int32"
        assert found == Violation(reason, index, values)


def test_nothing_is_subtracted_in_a_run() -> None:
    assert DIFFERENCE.violation([np.array([SMALLEST], np.int32)]) is None


def test_hint_of_a_difference() -> None:
    assert (
        RULES["DequantizeLinear.C1"].hint()
        == "keep X or the zero point small, for example with Clip"
    )

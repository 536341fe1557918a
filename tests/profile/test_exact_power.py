"""`ExactPower` before a run and in it."""

from math import isqrt

import numpy as np
import pytest

from sonnx_ort.profile.requirements.arithmetic import EXACT_IN_DOUBLE, ExactPower
from sonnx_ort.profile.rule import Judgement, Requirement
from sonnx_ort.terms.operand import Operand
from support.decisions import judged

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


DECIDED = """
Pow.int.C2
  X ?, Y ?, both int64 -> runtime: the elements are known only in a run
  X [2], Y [2], unknown types -> runtime: the elements are known only in a run
  X [2.5], Y [2.0] -> runtime: the elements are known only in a run
  X ? in -9..7, Y [2, 3] -> proved: no power is beyond 729 in magnitude
  X ? in -9..7, Y [17] -> runtime: the elements are known only in a run
  X ? in -9..7, Y [-1] -> runtime: the elements are known only in a run
  X ? in 1..1, Y ? in -1152921504606846976..9007199254740991 -> proved: no power is beyond 1 in
      magnitude
  X ? in -1..1, Y ? in 0..9007199254740992 -> runtime: the elements are known only in a run
  X ? in -1..1, Y ? in 0..2147483647, both int32 -> proved: no power is beyond 1 in magnitude
  X [-2, 100], Y [50, 3] -> proved: every power of the constants is exact
  X [2, 100], Y [3, 50] -> violated: a power of the constants may not be exact, at [1]
  X [2, 3, 4], Y [39] -> violated: a power of the constants may not be exact, at [1]
  X [[2, 9]], Y [39, 2] -> runtime: the elements are known only in a run
"""


@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_judgement(requirement: Requirement, operands: list[Operand], judgement: Judgement) -> None:
    assert requirement.judge(operands) == judgement

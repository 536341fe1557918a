"""Differences that have to be numbers of int32."""

from collections.abc import Sequence

import numpy as np
import pytest

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.requirements.arithmetic import DifferenceWithinInt32
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand

DIFFERENCE = DifferenceWithinInt32()
SMALLEST, LARGEST = -(2**31), 2**31 - 1


def integers(name: str, constant: object = None, bounds: Bounds | None = None) -> Operand:
    array = None if constant is None else np.array(constant, np.int32)
    return Operand(name, name.lower(), "input", "int32", constant=array, bounds=bounds)


UNKNOWN, BYTES = integers("X"), integers("X", bounds=Bounds(0, 255))


@pytest.mark.parametrize(
    ("operands", "status", "evidence"),
    [
        ([UNKNOWN], "proved", "nothing is subtracted"),
        ([UNKNOWN, integers("Z", 0)], "proved", "Z 'z' is 0"),
        ([UNKNOWN, integers("Z", [0, 0])], "proved", "Z 'z' is 0"),
        ([UNKNOWN, integers("Z", 1)], "runtime", "the elements of X are known only in a run"),
        ([UNKNOWN, integers("Z")], "runtime", "the elements of X and Z are known only in a run"),
        ([BYTES, integers("Z")], "runtime", "the elements of Z are known only in a run"),
        ([BYTES, integers("Z", 128)], "proved", "every difference lies in -128 to 127"),
        ([BYTES, integers("Z", SMALLEST)], "runtime",
         "the differences lie in 2147483648 to 2147483903"),
        ([integers("X", [5, SMALLEST]), integers("Z", 1)], "violated",
         "of the constants, -2147483648 - 1 at [1] is beyond int32"),
        ([integers("X", [-1, LARGEST]), integers("Z", 0)], "proved", "Z 'z' is 0"),
        ([integers("X", []), integers("Z", 1)], "runtime",
         "the elements of X are known only in a run"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_known_of_a_difference(
    operands: Sequence[Operand], status: str, evidence: str
) -> None:
    assert DIFFERENCE.judge(operands) == Judgement(Status(status), evidence)


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


def test_hint() -> None:
    assert DIFFERENCE.hint([]) == "keep X or the zero point small, for example with Clip"

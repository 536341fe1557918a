"""`WithinInt32` before a run and in it."""

import numpy as np
import pytest

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.requirements.elements import WithinInt32
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand

LARGEST = 2**31 - 1


def operand(name: str, kind: str | None, numbers=None, bounds=None) -> Operand:
    constant = None if numbers is None else np.array(numbers, kind)
    return Operand(name, name.lower(), "input", kind, (2,), constant=constant, bounds=bounds)


@pytest.mark.parametrize(
    ("operands", "status", "evidence"),
    [
        ([operand("A", "int32"), operand("B", "int32")], "proved", "no operand is int64"),
        (
            [operand("A", "int64", [LARGEST, -LARGEST - 1])],
            "proved",
            "every number is one that int32 can hold",
        ),
        (
            [operand("A", "int64", [1, 2]), operand("B", "int64", bounds=Bounds(0, LARGEST))],
            "proved",
            "every number is one that int32 can hold",
        ),
        (
            [operand("A", "int64", [1, 2]), operand("B", "int64", bounds=Bounds(0, LARGEST + 1))],
            "runtime",
            "the elements of B are known only in a run",
        ),
        (
            [operand("A", "int64"), operand("B", "int64")],
            "runtime",
            "the elements of A and B are known only in a run",
        ),
        ([operand("A", None)], "runtime", "the elements of A are known only in a run"),
        (
            [operand("A", "int64"), operand("B", "int64", [0, LARGEST + 1])],
            "violated",
            "B is a constant that holds 2147483648",
        ),
    ],
)
def test_judgement(operands: list[Operand], status: str, evidence: str) -> None:
    judgement = WithinInt32().judge(operands)
    assert (judgement.status, judgement.evidence) == (Status(status), evidence)


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 2, 2**63 - 1, -(2**63)])
def test_violation_tells_the_first_number(number: int) -> None:
    arrays = [np.array([1, 2]), np.array([[LARGEST, number], [number, 0]])]
    violation = WithinInt32().violation(arrays)
    assert violation is not None
    assert (violation.index, violation.values) == ((0, 1), (number,))
    assert violation.reason == f"operand 1 has {number} at [0, 1], which is beyond int32"


def test_other_types_are_kept() -> None:
    arrays = [np.array([LARGEST, -LARGEST - 1]), np.array([2**64 - 1], np.uint64)]
    assert WithinInt32().violation(arrays) is None

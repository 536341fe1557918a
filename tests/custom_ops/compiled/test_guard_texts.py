"""The text of a compiled guard says what the rule demands, and there is none of what it cannot."""

from typing import Any

import numpy as np
import pytest

from sonnx_ort.custom_ops.compiled.guards import GuardOperand, guard_text, guarded_rules
from sonnx_ort.profile.contract import ValueContract
from sonnx_ort.profile.contract_rules import contract_requirement
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.axes import AxesNamedOnce
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.elements import (
    NumbersUnderCrossedBounds,
    OnElements,
    on_elements,
)
from sonnx_ort.profile.requirements.exact_powers import ExactPower
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.requirements.shapes import on_shapes
from sonnx_ort.profile.rule import Requirement, Rule
from sonnx_ort.terms.language import All, Compare, Decided, Either, IfGiven, Relation, Tensor, Times
from sonnx_ort.terms.numbers import NumberSet

BOOL, DOUBLE, FLOAT = ElementType.BOOL, ElementType.DOUBLE, ElementType.FLOAT
INT8, INT32, INT64 = ElementType.INT8, ElementType.INT32, ElementType.INT64
CODE = next(guarded_rules()).code
X, Y = Tensor("X"), Tensor("Y")


def within(lower: float, upper: float) -> NumberSet:
    return NumberSet("far", lambda _: (lower, upper), admits_nan=False)


def operand(place: int | None, kind: ElementType | None, name: str = "X", **known: Any) -> Any:
    return GuardOperand(place, name, kind, **known)


def text(requirement: Requirement, *operands: GuardOperand) -> str | None:
    rule = Rule("Op.C1", CODE, requirement)
    made = guard_text(rule, operands, operands[0].element_type or FLOAT)
    return None if made is None else made.replace(f"{CODE} ", "")


def of_each(numbers: NumberSet) -> OnElements:
    return OnElements((), "", lambda _: numbers)


def on_sizes(term: Any) -> Requirement:
    return on_shapes(("X", "Y"), lambda _: term)


TWO = (operand(0, FLOAT), operand(1, FLOAT, "Y"))
MINUS = Compare(Times(-1, X.rank), Relation.AT_LEAST, 0)

TEXTS: dict[str, tuple[Requirement, tuple[GuardOperand, ...], str | None]] = {
    "numbers": (on_elements("X", within(-1, 2)), (operand(0, INT8),), "within 0 3 ff 2 0 1"),
    "whole ends": (on_elements("X", within(-1.5, 2.5)), (operand(0, INT8),), "within 0 3 ff 2 0 1"),
    # No number is within where the smallest is above the largest.
    "no number of the type, above": (
        on_elements("X", within(300, 400)), (operand(0, INT8),), "within 0 3 7f 80 0 1",
    ),
    "no number of the type, below": (
        on_elements("X", within(-400, -300)), (operand(0, INT8),), "within 0 3 7f 80 0 1",
    ),
    "no number between": (
        on_elements("X", within(0.2, 0.4)), (operand(0, INT8),), "within 0 3 7f 80 0 1",
    ),
    "ends that floats do not have": (
        on_elements("X", within(0.1, 0.1)), (operand(0, FLOAT),),
        "within 0 1 3dcccccd 3dcccccc 0 1",
    ),
    "another operand": (
        on_elements("Y", within(0, 1), operands=("X", "Y")),
        (operand(0, INT8), operand(1, INT8, "Y")), "within 1 3 0 1 0 1",
    ),
    "each operand": (
        of_each(within(0, 1)), (operand(0, INT8), operand(1, INT8, "Y")),
        "within 0 3 0 1 0 1;within 1 3 0 1 0 1",
    ),
    "an operand that the guard has not": (on_elements("X", within(0, 1)), (operand(None, INT8),),
                                          None),
    "conditions": (on_elements("X", within(0, 1)), (operand(0, BOOL),), None),
    "no known type": (on_elements("X", within(0, 1)), (operand(0, None),), None),
    "a range for each index": (
        contract_requirement(ValueContract("X", ((0, 1), (1, 2)), axis=0, whole=True)),
        (operand(0, FLOAT),), None,
    ),
    "whole integers": (
        contract_requirement(ValueContract("X", whole=True)), (operand(0, INT64),), None,
    ),
    "crossed bounds": (
        NumbersUnderCrossedBounds(),
        (operand(0, FLOAT), operand(1, FLOAT, "L"), operand(2, FLOAT, "U")),
        "crossed 1 ff800000 7f800000",
    ),
    "crossed bounds of two types": (
        NumbersUnderCrossedBounds(),
        (operand(0, FLOAT), operand(1, DOUBLE, "L"), operand(2, FLOAT, "U")), None,
    ),
    "crossed bounds without one": (
        NumbersUnderCrossedBounds(), (operand(0, FLOAT), operand(1, FLOAT, "L")), None,
    ),
    "lines": (LinesAboveNegativeInfinity(1), (operand(0, FLOAT),), "lines 1 1"),
    "lines of another operand": (LinesAboveNegativeInfinity(1), (operand(1, FLOAT),), None),
    "powers": (
        ExactPower(), (operand(0, INT64), operand(1, INT64, "Y")),
        "power 7 c340000000000000 4340000000000000 4340000000000000",
    ),
    "powers of a narrow type": (
        ExactPower(), (operand(0, INT8), operand(1, INT8, "Y")),
        "power 3 c060100000000000 405fe00000000000 7ff0000000000000",
    ),
    "powers of two types": (ExactPower(), (operand(0, INT8), operand(1, INT64, "Y")), None),
    "powers of floats": (ExactPower(), TWO, None),
    "powers in another order": (ExactPower(), (operand(1, INT8), operand(0, INT8, "Y")), None),
    "a difference": (
        DifferenceWithinInt32(), (operand(0, INT32), operand(2, INT32, "Z")), "difference 0 2",
    ),
    "a difference to nothing": (DifferenceWithinInt32(), (operand(0, INT32),), None),
    "a difference of narrow integers": (
        DifferenceWithinInt32(), (operand(0, INT8), operand(1, INT32, "Z")), None,
    ),
    "a difference that the guard has not": (
        DifferenceWithinInt32(), (operand(0, INT32), operand(None, INT32, "Z")), None,
    ),
    "axes": (AxesNamedOnce(), (operand(0, FLOAT), operand(1, INT64, "A")), "once"),
    "axes that the guard has not": (
        AxesNamedOnce(), (operand(0, FLOAT), operand(None, INT64, "A")), None,
    ),
    "axes of an attribute": (AxesNamedOnce(axes=(0, -1)), (operand(0, FLOAT),), "once 0 -1"),
    "equal shapes in another order": (SameShape(), TWO[::-1], None),
    "sizes": (on_sizes(X.size(1) == Y.size(0)), TWO, "shapes is size 0 1 size 1 0"),
    "several sizes": (
        on_sizes(All((X.rank == 1, Y.rank == 2))), TWO,
        "shapes all 2 is rank 0 number 1 is rank 1 number 2",
    ),
    "one of several": (
        on_sizes(Either((X.rank == 1, Y.rank == 2))), TWO,
        "shapes any 2 is rank 0 number 1 is rank 1 number 2",
    ),
    "known sizes": (
        on_sizes(X.size(-1) == Y.size(0)), (operand(0, FLOAT, shape=(2, 3)), TWO[1]),
        "shapes is number 3 size 1 0",
    ),
    "a size that a known shape has not": (
        on_sizes(X.size(-3) == Y.size(0)), (operand(0, FLOAT, shape=(2, 3)), TWO[1]),
        "shapes is size 0 -3 size 1 0",
    ),
    "what is not given": (on_sizes(IfGiven(Tensor("Z"), MINUS)), TWO,
                          "shapes is number 0 number 0"),
    "what attributes decide": (on_sizes(Decided(holds=True, words="")), TWO,
                               "shapes is number 0 number 0"),
    "what attributes exclude": (on_sizes(Decided(holds=False, words="")), TWO, None),
    "what attributes leave open": (on_sizes(Decided(holds=None, words="")), TWO, None),
    "a negative multiple": (on_sizes(MINUS), TWO, None),
}  # fmt: skip
"""What a rule demands, of which operands, and the text without the code of the rule."""


@pytest.mark.parametrize(("requirement", "operands", "expected"), TEXTS.values(), ids=list(TEXTS))
def test_text_says_what_is_demanded_or_there_is_none(
    requirement: Requirement, operands: tuple[GuardOperand, ...], expected: str | None
) -> None:
    assert text(requirement, *operands) == expected


def test_ends_hold_every_number_within_and_no_other() -> None:
    """The text of a third names the floats next to it, on both sides."""
    made = text(on_elements("X", within(1 / 3, 2 / 3)), operand(0, FLOAT))
    assert made is not None
    ends = np.array([int(each, 16) for each in made.split()[3:5]], np.uint32).view(np.float32)
    below = np.nextafter(ends, np.float32([-np.inf, np.inf]))
    assert [float(e) >= 1 / 3 and float(e) <= 2 / 3 for e in ends] == [True, True]
    assert [float(e) < 1 / 3 or float(e) > 2 / 3 for e in below] == [True, True]


@pytest.mark.parametrize(("lower", "upper", "ends"), [
    (300, 400, "7f 80"), (-400, -300, "7f 80"), (-400, 3, "80 3"), (3, 400, "3 7f"),
])  # fmt: skip
def test_limits_of_a_wider_type_are_those_that_the_narrow_one_has(
    lower: int, upper: int, ends: str
) -> None:
    rule = Rule("Op.C1", CODE, on_elements("X", within(lower, upper)))
    assert guard_text(rule, [operand(0, INT8)], INT64) == f"{CODE} within 0 3 {ends} 0 1"

"""What is decided before runs about the shapes, places and attributes of single operands."""

from collections.abc import Mapping

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Operand, Shape
from sonnx_ort.profile.rule import AttributeValue


def operand(name: str, shape: Shape | None, constant: list[int] | None = None, **known) -> Operand:
    elements = None if constant is None else np.array(constant)
    return Operand(name, name.lower(), "input", "int64", shape, constant=elements, **known)


def places(start: int, end: int, axis: int, step: int | None = 1) -> list[Operand]:
    numbers = {"starts": start, "ends": end, "axes": axis, "steps": step}
    return [operand(n, (1,), None if x is None else [x]) for n, x in numbers.items()]


A, B = operand("A", (2, 3)), operand("B", (3, "n"))
STACK, OPEN = operand("B", (5, 3, 4)), operand("B", None)
LINE, SOME = operand("X", (4,)), operand("X", ("n",))

CASES = [
    ("MatMul.C1", [A, B], {}, "proved", "A and B of rank 2"),
    ("MatMul.C1", [A, OPEN], {}, "runtime", "the rank of B is unknown"),
    (
        "MatMul.C1",
        [OPEN, STACK],
        {},
        "violated",
        "B has shape (5, 3, 4), which is not of rank 2",
    ),
    (
        "MatMul.C1",
        [operand("A", (2, 3), scalar_inputs=True), B],
        {},
        "runtime",
        "the declared shapes fit, but an input of the model is declared as a scalar",
    ),
    ("Clip.C1", [], {}, "proved", "no such operand is given"),
    ("Clip.C1", [operand("max", ())], {}, "proved", "max of rank 0"),
    (
        "Clip.C1",
        [operand("min", ()), operand("max", (1,))],
        {},
        "violated",
        "max has shape (1,), which is not of rank 0",
    ),
    ("ArgMax.R4", [A], {}, "proved", "the attribute axis is 0"),
    ("ArgMax.R4", [A], {"axis": -1}, "violated", "the attribute axis is -1"),
    ("ArgMax.R5", [A], {}, "proved", "axis 0 of A (2, 3) is not empty"),
    ("ArgMax.R5", [B], {"axis": -1}, "runtime", "the size of axis -1 of B (3, n) is known only"),
    ("ArgMax.R5", [operand("X", (2, 0))], {"axis": 1}, "violated", "axis 1 of X (2, 0) is empty"),
    ("ArgMax.R5", [A], {"axis": 2}, "violated", "A (2, 3) has no axis 2"),
    ("ArgMax.R5", [OPEN], {"axis": 2}, "runtime", "the rank of B is unknown"),
    ("BatchNormalization.R1", [], {}, "proved", "the attribute training_mode is 0"),
    ("BatchNormalization.R1", [], {"training_mode": 1}, "violated", "training_mode is 1"),
    ("BatchNormalization.C1", [], {}, "proved", "the attribute epsilon is 1e-05"),
    ("BatchNormalization.C1", [], {"epsilon": 0.0}, "violated", "the attribute epsilon is 0.0"),
    (
        "BatchNormalization.C1",
        [],
        {"epsilon": float("nan")},
        "violated",
        "the attribute epsilon is nan",
    ),
    ("Slice.R1", [operand("axes", (1,))], {}, "proved", "axes is given"),
    ("Slice.R1", [], {}, "violated", "axes is left out"),
    ("Slice.R3", [], {}, "violated", "steps is left out"),
    ("Slice.R2", [A, operand("axes", (2,))], {}, "proved", "2 of 2 axes are named"),
    ("Slice.R2", [A, operand("axes", (1,))], {}, "violated", "1 of 2 axes are named"),
    ("Slice.R2", [A, operand("axes", ("n",))], {}, "runtime", "the number of axes is known only"),
    ("Slice.R2", [A], {}, "runtime", "the rank or the number of axes is known only in a run"),
    ("Slice.R8", [LINE, *places(3, 4, 0)], {}, "proved", "the constants are within the sizes"),
    ("Slice.R8", [LINE, *places(-4, 4, -1)], {}, "proved", "the constants are within the sizes"),
    ("Slice.R8", [LINE, *places(4, 4, 0)], {}, "violated", "start 4 is no place on an axis of"),
    ("Slice.R8", [LINE, *places(-5, 4, 0)], {}, "violated", "start -5 is no place on an axis of"),
    ("Slice.R8", [SOME, *places(0, 4, 0)], {}, "runtime", "the sizes of X are known only in a run"),
    ("Slice.R8", [OPEN, *places(0, 4, 0)], {}, "runtime", "the rank of B is unknown"),
    ("Slice.R8", [LINE, *places(0, 4, 7)], {}, "runtime", "the sizes of X are known only in a run"),
    ("Slice.R8", [LINE, *places(0, 4, 0, None)], {}, "runtime", "the elements of steps are known"),
    ("Slice.R8", [LINE, *places(0, 4, 0)[:2]], {}, "runtime", "not all that decides it is given"),
    ("Slice.C2", [LINE, *places(0, 5, 0)], {}, "violated", "end 5 is beyond an axis of size 4"),
    ("Slice.C2", [LINE, *places(3, -5, 0, -1)], {}, "proved", "the constants are within"),
    ("Slice.C2", [LINE, *places(3, 4, 0, -1)], {}, "violated", "end 4 is beyond an axis of size 4"),
    ("Slice.R6", [LINE, *places(2, 2, 0)], {}, "proved", "the constants are within the sizes"),
    ("Slice.R6", [LINE, *places(-1, 2, 0)], {}, "violated", "start -1 lies behind end 2 in steps"),
    ("Slice.R6", [LINE, *places(0, 2, 0, -1)], {}, "violated", "start 0 lies behind end 2 in"),
]


@pytest.mark.satisfies(
    "MatMul.draft.matrices",
    "Clip.draft.scalars",
    "ArgMax.draft.axis",
    "ArgMax.draft.not_empty",
    "BatchNormalization.draft.inference",
    "BatchNormalization.draft.epsilon",
    "Slice.draft.R1",
    "Slice.draft.R2",
    "Slice.draft.R3",
    "Slice.draft.R6",
    "Slice.draft.R7",
    "Slice.draft.R8",
    "Slice.draft.ends",
)
@pytest.mark.parametrize(("rule", "operands", "attributes", "status", "evidence"), CASES)
def test_judgement(
    rule: str,
    operands: list[Operand],
    attributes: Mapping[str, AttributeValue],
    status: str,
    evidence: str,
) -> None:
    bound = RULES[rule]
    said = {name: attributes.get(name) for name in bound.attributes}
    judgement = bound.of_node(said).requirement.judge(operands)
    assert judgement.status is Status(status)
    assert evidence in judgement.evidence


def test_nothing_is_said_of_attributes_that_are_not_known() -> None:
    requirement = RULES["BatchNormalization.C1"].requirement
    assert requirement.judge([]).status is Status.RUNTIME
    assert requirement.violation([]) is None

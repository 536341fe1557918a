"""Lines of floats along an axis that an attribute names."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort.profile.requirements.axes import LinesAboveNegativeInfinity
from sonnx_ort.profile.rule import (
    VERSION,
    AttributeValue,
    Judgement,
    Requirement,
    Status,
    Violation,
)
from sonnx_ort.terms.operand import Operand
from support.decisions import judged

INF, NAN = np.inf, np.nan


LINES = [
    ([[-INF, 0]], 1, None),
    ([[-INF, NAN]], 1, None),
    ([[INF, -INF]], 1, None),
    ([[1, 2], [-INF, -INF]], 1, (1, 0)),
    ([[1, -INF], [2, -INF]], 0, (0, 1)),
    ([[1, -INF], [2, -INF]], -2, (0, 1)),
    ([[1, -INF], [2, -INF]], 1, None),
    ([-INF], 0, (0,)),
    ([], 0, None),
    ([[], []], 1, None),
    ([-INF], 1, None),
    (-INF, 0, None),
]


@pytest.mark.parametrize(("elements", "axis", "index"), LINES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_first_line_that_is_negative_infinity_throughout(
    elements: list[float], axis: int, index: tuple[int, ...] | None, dtype: type
) -> None:
    requirement, array = LinesAboveNegativeInfinity(axis), np.array(elements, dtype)
    found = requirement.violation([array])
    status = requirement.judge([Operand("X", "x", "input", "float", constant=array)]).status
    if index is None:
        assert (found, status) == (None, Status.PROVED)
    else:
        reason = f"the line at {list(index)} along axis {axis} is -inf throughout"
        assert (found, status) == (Violation(reason, index, (-INF,)), Status.VIOLATED)


DECIDED = """
Softmax.float.C6
  X (2,), axis=0 -> runtime: the elements of X are known only in a run
  X [0.0], axis=0 -> proved: no line of the constant X 'x' is -inf throughout
  X [-inf], axis=0 -> violated: the constant X 'x': the line at [0] along axis 0 is -inf throughout
"""


@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_lines_of_a_constant(
    requirement: Requirement, operands: list[Operand], judgement: Judgement
) -> None:
    assert requirement.judge(operands) == judgement


@pytest.mark.parametrize(
    ("attributes", "axis"),
    [
        ({"axis": 3, VERSION: 9}, 3),
        ({"axis": 3}, 3),
        ({VERSION: 12}, 1),
        ({VERSION: 13}, -1),
        ({VERSION: 28}, -1),
        ({"axis": None, VERSION: 13}, -1),
    ],
    ids=str,
)
def test_axis_is_that_of_the_node_or_of_its_version(
    attributes: Mapping[str, AttributeValue], axis: int
) -> None:
    lines = LinesAboveNegativeInfinity(assumed=((1, 1), (13, -1)))
    assert lines.of_node(attributes) == replace(lines, axis=axis)


@pytest.mark.parametrize("attributes", [{}, {VERSION: 13}, {"axis": "1", VERSION: 13}], ids=str)
def test_node_without_an_axis_breaks_the_rule(attributes: Mapping[str, AttributeValue]) -> None:
    demanded = LinesAboveNegativeInfinity().of_node(attributes)
    assert demanded.judge([]) == Judgement(Status.VIOLATED, "the attribute axis is left out")
    assert demanded.violation([]) is None


def test_hint() -> None:
    assert LinesAboveNegativeInfinity().hint([]) == LinesAboveNegativeInfinity.example.remedy

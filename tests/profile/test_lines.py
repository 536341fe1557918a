"""An axis that an attribute names: whether it is there, what lies behind it, and lines along it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from sonnx_ort.profile.operand import Operand, Shape
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.requirements.lines import (
    HasAxis,
    LinesAboveNegativeInfinity,
    ShortBehindAxis,
)
from sonnx_ort.profile.rule import VERSION, AttributeValue, Judgement, Status, Violation

KINDS = (HasAxis, ShortBehindAxis, LinesAboveNegativeInfinity)
INF, NAN = np.inf, np.nan


def of_shape(shape: Shape | None, **known: bool) -> Operand:
    return Operand("X", "x", "input", "float", shape, **known)


@pytest.mark.parametrize(
    ("axis", "shape", "status", "evidence"),
    [
        (1, (2, "n"), "proved", "X (2, n) has axis 1"),
        (-2, (2, "n"), "proved", "X (2, n) has axis -2"),
        (2, (2, "n"), "violated", "X (2, n) has no axis 2"),
        (-3, (2, "n"), "violated", "X (2, n) has no axis -3"),
        (0, (), "violated", "X () has no axis 0"),
        (0, None, "runtime", "the rank of X is unknown"),
    ],
)
def test_axis_exists_by_the_rank(
    axis: int, shape: Shape | None, status: str, evidence: str
) -> None:
    assert HasAxis(axis).judge([of_shape(shape)]) == Judgement(Status(status), evidence)


@pytest.mark.parametrize(
    ("axis", "shape", "status", "evidence"),
    [
        (1, (2, 3), "proved", "no axis of X (2, 3) behind axis 1 is longer than 1"),
        (-1, ("n", "m"), "proved", "no axis of X (n, m) behind axis -1 is longer than 1"),
        (0, (2, 1, 0), "proved", "no axis of X (2, 1, 0) behind axis 0 is longer than 1"),
        (-3, (2, 1, 4), "violated", "axis 2 of X (2, 1, 4) is longer than 1"),
        (0, (2, "n", 4), "violated", "axis 2 of X (2, n, 4) is longer than 1"),
        (0, (2, 1, None), "runtime", "the size of axis 2 of X (2, 1, ?) is known only in a run"),
        (2, (2, 3), "violated", "X (2, 3) has no axis 2"),
        (0, (), "violated", "X () has no axis 0"),
        (0, None, "runtime", "the rank of X is unknown"),
    ],
)
def test_sizes_behind_an_axis(axis: int, shape: Shape | None, status: str, evidence: str) -> None:
    assert ShortBehindAxis(axis).judge([of_shape(shape)]) == Judgement(Status(status), evidence)


@pytest.mark.parametrize("requirement", [HasAxis(1), ShortBehindAxis(1)], ids=repr)
def test_nothing_is_certain_of_shapes_behind_scalars(requirement: HasAxis) -> None:
    judged = requirement.judge([of_shape((2, 3), scalar_inputs=True)])
    assert judged == Judgement(Status.RUNTIME, SCALAR_INPUTS)


@pytest.mark.parametrize(
    ("requirement", "shape", "reason"),
    [
        (HasAxis(1), (2, 0), None),
        (HasAxis(1), (0,), "the operand (0,) has no axis 1"),
        (ShortBehindAxis(0), (2, 1), None),
        (ShortBehindAxis(0), (2, 3), "axis 1 of the operand (2, 3) is longer than 1"),
        (ShortBehindAxis(1), (2,), "the operand (2,) has no axis 1"),
    ],
    ids=repr,
)
def test_shape_of_a_run(requirement: HasAxis, shape: Sequence[int], reason: str | None) -> None:
    violation = requirement.violation([np.zeros(shape)])
    assert violation == (None if reason is None else Violation(reason))


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


@pytest.mark.parametrize(
    ("constant", "status", "evidence"),
    [
        (None, "runtime", "the elements of X are known only in a run"),
        ([0.0], "proved", "no line of the constant X 'x' is -inf throughout"),
        (
            [-INF],
            "violated",
            "the constant X 'x': the line at [0] along axis 0 is -inf throughout",
        ),
    ],
)
def test_lines_of_a_constant(constant: list[float] | None, status: str, evidence: str) -> None:
    array = None if constant is None else np.array(constant)
    operand = Operand("X", "x", "input", "float", constant=array)
    judged = LinesAboveNegativeInfinity(0).judge([operand])
    assert judged == Judgement(Status(status), evidence)


@pytest.mark.parametrize("kind", KINDS)
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
    kind: type[HasAxis], attributes: Mapping[str, AttributeValue], axis: int
) -> None:
    assumed = ((1, 1), (13, -1))
    assert kind(assumed=assumed).of_node(attributes) == kind(axis, assumed=assumed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attributes", [{}, {VERSION: 13}, {"axis": "1", VERSION: 13}], ids=str)
def test_node_without_an_axis_breaks_the_rule(
    kind: type[HasAxis], attributes: Mapping[str, AttributeValue]
) -> None:
    demanded = kind().of_node(attributes)
    assert demanded.judge([]) == Judgement(Status.VIOLATED, "the attribute axis is left out")
    assert demanded.violation([]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_hint(kind: type[HasAxis]) -> None:
    assert kind(1).hint([]) == kind.example.mended

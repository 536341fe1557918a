"""Sizes within limits, and shapes that follow from attributes and other operands."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from sonnx_ort.profile.operand import Operand, Shape
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.requirements.sizes import (
    LARGEST_SIZE,
    ShapeFrom,
    SizeOf,
    SizesWithin,
    at_least,
    exactly,
)
from sonnx_ort.profile.rule import AttributeValue, Illustration, Judgement, Status, Violation

EXAMPLE = Illustration("kept", "broken", "correct the shape")


def limits(attributes: Mapping[str, AttributeValue]) -> dict[int, object]:
    group = attributes.get("group", 1)
    return {} if group == 1 else {1: exactly(group), 2: at_least(3)}


LIMITS = SizesWithin(("group",), limits, EXAMPLE)
FOUR = LIMITS.of_node({"group": 4, "other": 7})

BIAS = ShapeFrom(("W", "B"), (), lambda _: (SizeOf(0, 0),), EXAMPLE)
ZERO_POINT = ShapeFrom(("W", "Z"), (), lambda _: (SizeOf(0, 0),), EXAMPLE, or_scalar=True)
SUM = ShapeFrom(("A", "B", "C"), (), lambda _: (SizeOf(0, 0), SizeOf(1, 1)), EXAMPLE)
WEIGHTS = ShapeFrom(
    ("X", "W"),
    ("size",),
    lambda given: None if "size" not in given else (1, given["size"], SizeOf(0, 2)),
    EXAMPLE,
)


def operands(*shapes: Shape | None, shared: str = "", scalar: bool = False) -> list[Operand]:
    return [
        Operand(
            name,
            name.lower(),
            "input",
            "float",
            s,
            shared_symbols=frozenset(shared),
            scalar_inputs=scalar,
        )
        for name, s in zip("XYZ", shapes, strict=False)
    ]


def test_sizes_are_limited_by_attributes() -> None:
    assert dict(LIMITS.by_axis) == {}
    assert dict(FOUR.by_axis) == {1: exactly(4), 2: at_least(3)}


def test_no_limit_is_beyond_the_largest_size() -> None:
    assert at_least(1 << 70).lower == LARGEST_SIZE


@pytest.mark.parametrize(
    ("requirement", "shape", "status", "evidence"),
    [
        (LIMITS, None, "proved", "every shape of X is allowed"),
        (FOUR, None, "runtime", "the rank of X is unknown"),
        (
            FOUR,
            (1, 4, 3),
            "proved",
            "X (1, 4, 3): axis 1 is of size 4 and axis 2 is at least of size 3",
        ),
        (FOUR, (1, 5, 3), "violated", "axis 1 of X (1, 5, 3) is not of size 4"),
        (FOUR, (1, "n", 2), "violated", "axis 2 of X (1, n, 2) is not at least of size 3"),
        (FOUR, (1, "n", 3), "runtime", "whether axis 1 of X (1, n, 3) is of size 4 is unknown"),
        (
            FOUR,
            (1, 4, None),
            "runtime",
            "whether axis 2 of X (1, 4, ?) is at least of size 3 is unknown",
        ),
        (FOUR, (1, 4), "violated", "X (1, 4) has no axis 2"),
    ],
)
def test_sizes_are_judged(
    requirement: SizesWithin, shape: Shape | None, status: str, evidence: str
) -> None:
    assert requirement.judge(operands(shape)) == Judgement(Status(status), evidence)


@pytest.mark.parametrize(
    ("requirement", "given", "evidence"),
    [(FOUR, [(1, 4, 3)], SCALAR_INPUTS), (BIAS, [(6, 1), (6,)], SCALAR_INPUTS)],
)
def test_no_shape_is_certain_where_inputs_are_declared_as_scalars(
    requirement: SizesWithin | ShapeFrom, given: Sequence[Shape], evidence: str
) -> None:
    judgement = requirement.judge(operands(*given, scalar=True))
    assert judgement == Judgement(Status.RUNTIME, evidence)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((1, 4, 3), None),
        ((0, 4, 9, 9), None),
        ((1, 5, 3), "axis 1 of the operand (1, 5, 3) is not of size 4"),
        ((1, 4, 2), "axis 2 of the operand (1, 4, 2) is not at least of size 3"),
        ((1, 4), "the operand (1, 4) has no axis 2"),
        ((), "the operand () has no axis 1"),
    ],
)
def test_sizes_are_checked_in_a_run(shape: tuple[int, ...], reason: str | None) -> None:
    found = FOUR.violation([np.zeros(shape)])
    assert found == (None if reason is None else Violation(reason))
    assert LIMITS.violation([np.zeros(shape)]) is None


SAME_SYMBOL = "whether axis 0 of Y (n,) is as long as axis 0 of W is unknown"


@pytest.mark.parametrize(
    ("requirement", "shapes", "status", "evidence"),
    [
        (BIAS, [(6, 1)], "proved", "B is left out"),
        (BIAS, [(6, 1), None], "runtime", "the rank of Y is unknown"),
        (BIAS, [(6, 1), (6,)], "proved", "Y (6,) is as demanded"),
        (BIAS, [("n", 1), ("n",)], "proved", "Y (n,) is as demanded"),
        (BIAS, [(6, 1), (1,)], "violated", "axis 0 of Y (1,) is not as long as axis 0 of W, 6"),
        (BIAS, [(6, 1), (6, 1)], "violated", "Y (6, 1) is not of rank 1"),
        (BIAS, [(), (6,)], "violated", "W has no axis 0"),
        (
            BIAS,
            [None, (6,)],
            "runtime",
            "whether axis 0 of Y (6,) is as long as axis 0 of W is unknown",
        ),
        (
            BIAS,
            [(6, 1), ("n",)],
            "runtime",
            "whether axis 0 of Y (n,) is as long as axis 0 of W, 6 is unknown",
        ),
        (BIAS, [(None, 1), (None,)], "runtime", SAME_SYMBOL.replace("n,", "?,")),
        (ZERO_POINT, [(6, 1), ()], "proved", "Y () is as demanded"),
        (ZERO_POINT, [(6, 1), (6,)], "proved", "Y (6,) is as demanded"),
        (ZERO_POINT, [(6, 1), (6, 1)], "violated", "Y (6, 1) is not of rank 1 or a scalar"),
        (SUM, [(2, 3), (3, 4), (2, 4)], "proved", "Z (2, 4) is as demanded"),
        (
            SUM,
            [(2, 3), (3, 4), (2, 1)],
            "violated",
            "axis 1 of Z (2, 1) is not as long as axis 1 of B, 4",
        ),
        (WEIGHTS, [(5, 2, 4), None], "proved", "every shape of Y is allowed"),
    ],
)
def test_shapes_are_judged(
    requirement: ShapeFrom, shapes: Sequence[Shape | None], status: str, evidence: str
) -> None:
    assert requirement.judge(operands(*shapes)) == Judgement(Status(status), evidence)


def test_equal_symbols_prove_nothing_if_several_inputs_are_declared_by_them() -> None:
    judgement = BIAS.judge(operands(("n", 1), ("n",), shared="n"))
    assert judgement == Judgement(Status.RUNTIME, SAME_SYMBOL)


@pytest.mark.parametrize(
    ("requirement", "shapes", "reason"),
    [
        (BIAS, [(6, 1)], None),
        (BIAS, [(6, 1), (6,)], None),
        (BIAS, [(6, 1), (5,)], "axis 0 of B (5,) is not as long as axis 0 of W, 6"),
        (BIAS, [(), (0,)], "W has no axis 0"),
        (BIAS, [(6, 1), ()], "B () is not of rank 1"),
        (ZERO_POINT, [(6, 1), ()], None),
        (ZERO_POINT, [(6, 1), (1,)], "axis 0 of Z (1,) is not as long as axis 0 of W, 6"),
        (SUM, [(2, 3), (3, 4), (2, 4)], None),
        (SUM, [(2, 3), (3, 4), (1, 4)], "axis 0 of C (1, 4) is not as long as axis 0 of A, 2"),
        (WEIGHTS.of_node({"size": 8}), [(5, 2, 4), (1, 8, 4)], None),
        (
            WEIGHTS.of_node({"size": 8}),
            [(5, 2, 4), (1, 9, 4)],
            "axis 1 of W (1, 9, 4) is not of size 8",
        ),
        (
            WEIGHTS.of_node({"size": 8}),
            [(5, 2), (1, 8, 4)],
            "X has no axis 2",
        ),
        (WEIGHTS, [(5, 2, 4), (7,)], None),
    ],
)
def test_shapes_are_checked_in_a_run(
    requirement: ShapeFrom, shapes: Sequence[tuple[int, ...]], reason: str | None
) -> None:
    found = requirement.violation([np.zeros(shape) for shape in shapes])
    assert found == (None if reason is None else Violation(reason))


@pytest.mark.parametrize("requirement", [FOUR, BIAS])
def test_hint_is_that_of_the_example(requirement: SizesWithin | ShapeFrom) -> None:
    assert requirement.hint([]) == "correct the shape"

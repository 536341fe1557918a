"""What is decided before runs about the shapes, places and attributes of single operands."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import AttributeValue, Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand, Shape


def operand(name: str, shape: Shape | None, constant: list[int] | None = None, **known) -> Operand:
    elements = None if constant is None else np.array(constant)
    return Operand(name, name.lower(), "input", "int64", shape, constant=elements, **known)


def places(start: int, end: int, axis: int, step: int | None = 1) -> list[Operand]:
    numbers = {"starts": start, "ends": end, "axes": axis, "steps": step}
    return [operand(n, (1,), None if x is None else [x]) for n, x in numbers.items()]


def several(starts: list[int], axes: list[int]) -> list[Operand]:
    ends = [1] * len(starts)
    return [
        operand("starts", (len(starts),), starts),
        operand("ends", (len(ends),), ends),
        operand("axes", (len(axes),), axes),
        operand("steps", (len(ends),), ends),
    ]


A, B, X = operand("A", (2, 3)), operand("B", (3, "n")), operand("X", (2, 3))
STACK, OPEN = operand("B", (5, 3, 4)), operand("B", None)
LINE, SOME = operand("X", (4,)), operand("X", ("n",))

MATRICES = "multiply each matrix of a stack separately, or fold the stack into rows with Reshape"
BEFORE = "end -6 is beyond an axis of size 4 (entry 0)"
SIZES = "the sizes of X are known only in a run"
RANK = "the rank of X is unknown"
NO_PLACE = "start 0 is no place on an axis of size 0 (entry 0)"
NO_PLACE_ON_THE_SECOND = "start 3 is no place on an axis of size 3 (entry 1)"
WITHIN = "the constants are within the sizes"
TWO = "the elements of starts and steps are known only in a run"
UPWARDS = "start 1 lies behind end -2 in steps of -1 on an axis of size 4 (entry 0)"

CASES = [
    ("MatMul.C1", [A, B], {}, "proved", "the rank of A (2, 3) is 2 and the rank of B (3, n) is 2"),
    ("MatMul.C1", [A, OPEN], {}, "runtime", "the rank of B is unknown"),
    ("MatMul.C1", [A, STACK], {}, "violated", "the rank of B (5, 3, 4) is 3, not 2"),
    ("MatMul.C1", [operand("A", (2, 3), scalar_inputs=True), B], {}, "runtime", SCALAR_INPUTS),
    ("Clip.C1", [], {}, "proved", "no such operand is given"),
    ("Clip.C1", [operand("max", ())], {}, "proved", "the rank of max () is 0"),
    (
        "Clip.C1",
        [operand("min", ()), operand("max", (1,))],
        {},
        "violated",
        "the rank of max (1,) is 1, not 0",
    ),
    ("Clip.float.C3", [X], {}, "proved", "a bound is left out"),
    ("Clip.float.C3", [X, operand("max", ())], {}, "proved", "a bound is left out"),
    ("Clip.min.C2", [], {}, "proved", "the attribute min is left out"),
    ("Clip.min.C2", [], {"min": math.inf}, "proved", "the attribute min is inf"),
    ("Clip.max.C2", [], {"max": math.nan}, "violated", "the attribute max is nan"),
    ("ArgMax.keepdims.C1", [A], {}, "proved", "the attribute keepdims is 1"),
    ("ArgMax.keepdims.C1", [A], {"keepdims": 0}, "proved", "the attribute keepdims is 0"),
    ("ArgMax.keepdims.C1", [A], {"keepdims": 2}, "violated", "the attribute keepdims is 2"),
    ("ArgMax.select_last_index.C1", [A], {}, "proved", "the attribute select_last_index is 0"),
    (
        "ArgMax.select_last_index.C1",
        [A],
        {"select_last_index": -1},
        "violated",
        "the attribute select_last_index is -1",
    ),
    ("ArgMax.R4", [A], {}, "proved", "the attribute axis is 0"),
    ("ArgMax.R4", [A], {"axis": -1}, "violated", "the attribute axis is -1"),
    ("ArgMax.R5", [X], {}, "proved", "axis 0 of X (2, 3) is at least 1"),
    (
        "ArgMax.R5",
        [operand("X", (3, "n"))],
        {"axis": -1},
        "runtime",
        "whether axis -1 of X (3, n) is at least 1 is unknown",
    ),
    (
        "ArgMax.R5",
        [operand("X", (2, 0))],
        {"axis": 1},
        "violated",
        "axis 1 of X (2, 0) is 0, not at least 1",
    ),
    ("ArgMax.R5", [X], {"axis": 2}, "violated", "X (2, 3) has no axis 2"),
    ("ArgMax.R5", [operand("X", None)], {"axis": 2}, "runtime", RANK),
    ("ArgMax.R5", [X], {"axis": -2}, "proved", "axis -2 of X (2, 3) is at least 1"),
    ("ArgMax.R5", [X], {"axis": -3}, "violated", "X (2, 3) has no axis -3"),
    (
        "ArgMax.R5",
        [operand("X", (2, 3), scalar_inputs=True)],
        {"axis": 1},
        "runtime",
        SCALAR_INPUTS,
    ),
    (
        "Clip.C1",
        [operand("min", None), operand("max", None)],
        {},
        "runtime",
        "the rank of min is unknown",
    ),
    (
        "Clip.C1",
        [operand("min", ()), operand("max", ())],
        {},
        "proved",
        "the rank of min () is 0 and the rank of max () is 0",
    ),
    ("BatchNormalization.R1", [], {}, "proved", "the attribute training_mode is 0"),
    (
        "BatchNormalization.R1",
        [],
        {"training_mode": 1},
        "violated",
        "the attribute training_mode is 1",
    ),
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
    (
        "Slice.R2",
        [X, operand("axes", (2,))],
        {},
        "proved",
        "axis 0 of axes (2,) is the rank of X (2, 3)",
    ),
    (
        "Slice.R2",
        [X, operand("axes", (1,))],
        {},
        "violated",
        "axis 0 of axes (1,) is 1, and the rank of X (2, 3) is 2",
    ),
    (
        "Slice.R2",
        [X, operand("axes", ("n",))],
        {},
        "runtime",
        "whether axis 0 of axes (n,) is the rank of X (2, 3) is unknown",
    ),
    (
        "Slice.R2",
        [operand("X", (2, 3), scalar_inputs=True), operand("axes", (2,))],
        {},
        "runtime",
        (
            "the declared shapes fit, but an input of the model is declared as a "
            "scalar, and ONNX Runtime accepts tensors of any rank for it"
        ),
    ),
    (
        "Slice.R2",
        [operand("X", None), operand("axes", (2,))],
        {},
        "runtime",
        "the rank of X is unknown",
    ),
    ("Slice.R2", [X], {}, "runtime", "axes is left out"),
    ("Slice.R8", [LINE, *places(3, 4, 0)], {}, "proved", "the constants are within the sizes"),
    ("Slice.R8", [LINE, *places(-4, 4, -1)], {}, "proved", "the constants are within the sizes"),
    (
        "Slice.R8",
        [LINE, *places(4, 4, 0)],
        {},
        "violated",
        "start 4 is no place on an axis of size 4 (entry 0)",
    ),
    (
        "Slice.R8",
        [LINE, *places(-5, 4, 0)],
        {},
        "violated",
        "start -5 is no place on an axis of size 4 (entry 0)",
    ),
    ("Slice.R8", [SOME, *places(0, 4, 0)], {}, "runtime", "the sizes of X are known only in a run"),
    ("Slice.R8", [OPEN, *places(0, 4, 0)], {}, "runtime", "the rank of B is unknown"),
    ("Slice.R8", [LINE, *places(0, 4, 7)], {}, "runtime", "the sizes of X are known only in a run"),
    (
        "Slice.R8",
        [LINE, *places(0, 4, 0, None)],
        {},
        "runtime",
        "the elements of steps are known only in a run",
    ),
    (
        "Slice.R8",
        [LINE, *places(0, 4, 0)[:2]],
        {},
        "runtime",
        "not all inputs that decide it are given",
    ),
    (
        "Slice.C2",
        [LINE, *places(0, 5, 0)],
        {},
        "violated",
        "end 5 is beyond an axis of size 4 (entry 0)",
    ),
    ("Slice.C2", [LINE, *places(3, -5, 0, -1)], {}, "proved", "the constants are within the sizes"),
    (
        "Slice.C2",
        [LINE, *places(3, 4, 0, -1)],
        {},
        "violated",
        "end 4 is beyond an axis of size 4 (entry 0)",
    ),
    ("Slice.C2", [LINE, *places(3, -6, 0, -1)], {}, "violated", BEFORE),
    ("Slice.C2", [LINE, *places(3, 3, 0, -1)], {}, "proved", "the constants are within the sizes"),
    ("Slice.C2", [LINE, *places(3, -4, 0)], {}, "proved", "the constants are within the sizes"),
    ("Slice.C2", [LINE, *places(3, -5, 0)], {}, "violated", BEFORE.replace("-6", "-5")),
    ("Slice.C2", [LINE, *places(0, 4, -5)], {}, "runtime", SIZES),
    ("Slice.R8", [operand("X", (4,), scalar_inputs=True), *places(0, 4, 0)], {}, "runtime", RANK),
    ("Slice.R8", [operand("X", (0,)), *places(0, 0, 0)], {}, "violated", NO_PLACE),
    ("Slice.R8", [A, *several([1, 3], [0, 1])], {}, "violated", NO_PLACE_ON_THE_SECOND),
    (
        "Slice.R8",
        [A, *several([2, 1], [-1, -2])],
        {},
        "proved",
        "the constants are within the sizes",
    ),
    (
        "Slice.R8",
        [A, *several([0, 0], [0])],
        {},
        "runtime",
        "the sizes of A are known only in a run",
    ),
    ("Slice.R8", [operand("X", ("n", 3)), *places(0, 3, 1)], {}, "proved", WITHIN),
    ("Slice.R8", [LINE, operand("starts", (1,)), *places(0, 4, 0, None)[1:]], {}, "runtime", TWO),
    ("Slice.C2", [LINE, *places(0, 4, 0)], {}, "proved", WITHIN),
    ("Slice.C2", [LINE, *places(0, 4, 0, 0)], {}, "proved", WITHIN),
    ("Slice.R6", [LINE, *places(0, 2, 0, 0)], {}, "proved", WITHIN),
    ("Slice.R6", [LINE, *places(2, 0, 0, -1)], {}, "proved", WITHIN),
    ("Slice.R6", [LINE, *places(2, 2, 0, -1)], {}, "proved", WITHIN),
    ("Slice.R6", [LINE, *places(1, -3, 0, -1)], {}, "proved", "the constants are within the sizes"),
    ("Slice.R6", [LINE, *places(1, -2, 0, -1)], {}, "violated", UPWARDS),
    ("Slice.R6", [LINE, *places(2, 2, 0)], {}, "proved", "the constants are within the sizes"),
    (
        "Slice.R6",
        [LINE, *places(-1, 2, 0)],
        {},
        "violated",
        "start -1 lies behind end 2 in steps of 1 on an axis of size 4 (entry 0)",
    ),
    (
        "Slice.R6",
        [LINE, *places(0, 2, 0, -1)],
        {},
        "violated",
        "start 0 lies behind end 2 in steps of -1 on an axis of size 4 (entry 0)",
    ),
    ("LeakyRelu.R1", [SOME], {"alpha": 0.0}, "proved", "alpha is given"),
    ("LeakyRelu.R1", [SOME], {}, "violated", "alpha is left out"),
    ("Softmax.R3", [A], {"axis": -1}, "proved", "axis is given"),
    ("Softmax.R3", [A], {}, "violated", "axis is left out"),
    ("Softmax.R4", [A], {"axis": 0}, "proved", "the attribute axis is 0"),
    ("Softmax.R4", [A], {"axis": -1}, "violated", "the attribute axis is -1"),
    ("Softmax.R4", [A], {}, "proved", "the attribute axis is left out"),
    ("QuantizeLinear.R1", [], {}, "proved", "the attribute axis is 1"),
    ("QuantizeLinear.R1", [], {"axis": 1}, "proved", "the attribute axis is 1"),
    ("QuantizeLinear.R1", [], {"axis": 0}, "violated", "the attribute axis is 0"),
    ("QuantizeLinear.R2", [], {"block_size": 0}, "proved", "the attribute block_size is 0"),
    ("QuantizeLinear.R2", [], {"block_size": 2}, "violated", "the attribute block_size is 2"),
    ("QuantizeLinear.R3", [], {"output_dtype": 2}, "violated", "the attribute output_dtype is 2"),
    ("QuantizeLinear.R4", [], {}, "proved", "the attribute precision is 0"),
    ("QuantizeLinear.R4", [], {"precision": 1}, "violated", "the attribute precision is 1"),
    ("QuantizeLinear.given", [], {}, "violated", "y_zero_point is left out"),
    ("QuantizeLinear.given", [operand("y_zero_point", ())], {}, "proved", "y_zero_point is given"),
    ("DequantizeLinear.R1", [], {"axis": -1}, "violated", "the attribute axis is -1"),
    ("DequantizeLinear.R2", [], {"block_size": 1}, "violated", "the attribute block_size is 1"),
    ("DequantizeLinear.R3", [], {"output_dtype": 1}, "violated", "the attribute output_dtype is 1"),
    ("DequantizeLinear.R3", [], {}, "proved", "the attribute output_dtype is 0"),
    (
        "DequantizeLinear.signature",
        [operand("x_scale", ())],
        {},
        "proved",
        "the rank of x_scale () is 0",
    ),
    (
        "QuantizeLinear.signature",
        [operand("y_scale", ()), operand("y_zero_point", (1,))],
        {},
        "violated",
        "the rank of y_zero_point (1,) is 1, not 0",
    ),
]


@pytest.mark.satisfies(
    "Clip.min.C2",
    "Clip.max.C2",
    "MatMul.draft.matrices",
    "Clip.draft.scalars",
    "ArgMax.draft.axis",
    "ArgMax.draft.flags",
    "ArgMax.draft.not_empty",
    "BatchNormalization.draft.inference",
    "BatchNormalization.draft.epsilon",
    "DequantizeLinear.draft.axis",
    "DequantizeLinear.draft.block_size",
    "DequantizeLinear.draft.output_dtype",
    "LeakyRelu.draft.alpha",
    "QuantizeLinear.draft.axis",
    "QuantizeLinear.draft.block_size",
    "QuantizeLinear.draft.output_dtype",
    "QuantizeLinear.draft.precision",
    "QuantizeLinear.draft.zero_point",
    "Slice.draft.R1",
    "Slice.draft.R2",
    "Slice.draft.R3",
    "Slice.draft.R6",
    "Slice.draft.R7",
    "Slice.draft.R8",
    "Slice.draft.ends",
    "Softmax.draft.axis",
    "General.GR4",
    "Softmax.draft.axis.constraint",
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
    judgement = bound.of_node(attributes).requirement.judge(operands)
    assert judgement == Judgement(Status(status), evidence)


FLOATS = np.float32([7, math.nan])
ARRAYS = [
    ("Clip.float.C3", [FLOATS], {}, None),
    ("Clip.float.C3", [FLOATS, np.float32(5)], {}, None),
    ("Clip.float.C3", [FLOATS, np.float32(5), np.float32(5)], {}, None),
    ("Clip.float.C3", [FLOATS, np.float32(math.nan), np.float32(1)], {}, None),
    ("Clip.float.C3", [FLOATS, np.float32(5), np.float32(math.nan)], {}, None),
    ("Clip.float.C3", [FLOATS[:1], np.float32(5), np.float32(1)], {}, None),
    ("Clip.float.C3", [FLOATS, np.float32([5, 5]), np.float32([1, 1, 1])], {}, None),
    ("Clip.float.C3", [np.int8([7]), np.int8(5), np.int8(1)], {}, None),
    ("ArgMax.R5", [np.zeros((2, 1))], {"axis": 1}, None),
    ("ArgMax.R5", [np.zeros((2, 3))], {"axis": -2}, None),
    ("ArgMax.R5", [np.zeros((2, 0))], {"axis": 1}, "axis 1 of X (2, 0) is 0, not at least 1"),
    ("ArgMax.R5", [np.zeros((2, 3))], {"axis": 2}, "X (2, 3) has no axis 2"),
    ("ArgMax.R5", [np.zeros((2, 3))], {"axis": -3}, "X (2, 3) has no axis -3"),
    ("ArgMax.R5", [np.zeros((0, 2))], {}, "axis 0 of X (0, 2) is 0, not at least 1"),
    ("MatMul.C1", [np.zeros((2, 3)), np.zeros((3, 2))], {}, None),
    (
        "MatMul.C1",
        [np.zeros((2, 3)), np.zeros((3,))],
        {},
        "the rank of operand 1 (3,) is 1, not 2",
    ),
    ("Slice.R2", [np.zeros((2, 3)), np.array([0, 1])], {}, None),
    (
        "Slice.R2",
        [np.zeros((2, 3)), np.array([0])],
        {},
        "axis 0 of axes (1,) is 1, and the rank of X (2, 3) is 2",
    ),
    ("Slice.R8", [np.zeros(4), *map(np.array, ([3], [4], [0], [1]))], {}, None),
    ("Slice.R8", [np.zeros(4), *map(np.array, ([9], [4], [7], [1]))], {}, None),
    ("Slice.R8", [np.zeros(4), *map(np.array, ([9], [4], [1], [1]))], {}, None),
    ("Slice.R8", [np.zeros(4), *map(np.array, ([9], [4], [-2], [1]))], {}, None),
    (
        "Slice.R8",
        [np.zeros(4), *map(np.array, ([4], [4], [-1], [1]))],
        {},
        "start 4 is no place on an axis of size 4 (entry 0)",
    ),
    ("Slice.R8", [np.zeros(4), *map(np.array, (9, 4, 0, 1))], {}, None),
    ("Slice.R1", [np.zeros(4)], {}, None),
    ("BatchNormalization.R1", [np.zeros(4)], {"training_mode": 1}, None),
]


@pytest.mark.parametrize(("rule", "arrays", "attributes", "reason"), ARRAYS)
def test_violation(
    rule: str,
    arrays: list[np.ndarray],
    attributes: Mapping[str, AttributeValue],
    reason: str | None,
) -> None:
    bound = RULES[rule]
    said = {name: attributes.get(name) for name in bound.attributes}
    violation = bound.of_node(said).requirement.violation(arrays)
    assert violation == (None if reason is None else Violation(reason))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ElementType.BFLOAT16.dtype])
def test_nan_under_crossed_bounds_is_shown_with_its_place(dtype: np.dtype) -> None:
    arrays = [np.array(numbers, dtype) for numbers in ([7, math.nan], 5, 1)]
    violation = RULES["Clip.float.C3"].requirement.violation(arrays)
    told = "min 5.0 is above max 1.0, and input[1] is NaN"
    # NaN is not equal to itself.
    assert repr(violation) == repr(Violation(told, (1,), (math.nan,)))


@pytest.mark.parametrize(
    ("rule", "attributes", "hint"),
    [
        ("MatMul.C1", {}, MATRICES),
        ("ArgMax.R5", {"axis": 1}, "keep empty tensors out"),
        ("BatchNormalization.R1", {"training_mode": 1}, "export the model for inference"),
        ("BatchNormalization.C1", {"epsilon": 0.0}, "give a small positive number"),
        ("LeakyRelu.R1", {}, "write it into the model: ONNX assumes 0.01"),
        ("QuantizeLinear.R2", {"block_size": 2}, "set it to 0"),
        ("QuantizeLinear.signature", {}, "quantize the whole tensor with one scale"),
        ("Softmax.R4", {"axis": -1}, "count the axis from the front"),
        ("Slice.R1", {}, "give axes as an input"),
        ("Slice.R2", {}, "name every axis; one that is not cut starts at 0 and ends at its size"),
    ],
)
def test_hint(rule: str, attributes: Mapping[str, AttributeValue], hint: str) -> None:
    bound = RULES[rule]
    said = {name: attributes.get(name) for name in bound.attributes}
    assert bound.requirement.hint([]) == hint
    assert bound.of_node(said).requirement.hint([]) == hint


def test_nothing_is_said_of_attributes_that_are_not_known() -> None:
    requirement = RULES["BatchNormalization.C1"].requirement
    expected = Judgement(Status.RUNTIME, "what the attribute epsilon says is not known")
    assert requirement.judge([]) == expected
    assert requirement.violation([]) is None

"""What is decided before runs about the shapes, places and attributes of single operands."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import AttributeValue, Judgement, Requirement, Status, Violation
from sonnx_ort.terms.operand import Operand
from support.decisions import judged, violated

DECIDED = """
MatMul.C1
  A (2, 3), B (3, n) -> proved: the rank of A (2, 3) is 2 and the rank of B (3, n) is 2
  A (2, 3), B ? -> runtime: the rank of B is unknown
  A (2, 3), B (5, 3, 4) -> violated: the rank of B (5, 3, 4) is 3, not 2
  A (2, 3), B (3, n), scalars -> runtime: {scalars}
Clip.C1
  -> proved: no such operand is given
  max () -> proved: the rank of max () is 0
  min (), max (1,) -> violated: the rank of max (1,) is 1, not 0
  min ?, max ? -> runtime: the rank of min is unknown
  min (), max () -> proved: the rank of min () is 0 and the rank of max () is 0
Clip.float.C3
  X (2, 3) -> proved: a bound is left out
  X (2, 3), max () -> proved: a bound is left out
  input (2,), min 1.0, max 1.0 -> proved: the constant min 1.0 is not above the constant max 1.0
  input (2,), min NaN, max 1.0 -> proved: the constant min nan is not above the constant max 1.0
  input (2,), min 5.0, max 1.0 -> runtime: the elements depend on the inputs
  input (2,), min (), max 1.0 -> runtime: the elements depend on the inputs
  input (2,), min 5.0, max () -> runtime: the elements depend on the inputs
  input [7, NaN], min (), max 1.0, all float -> runtime: the elements depend on the inputs
  input [7, NaN], min 5.0, max 1.0 -> violated: the constant input 'input' is NaN at [1]
  input [7, 8], min 5, max 1, all float -> proved: no element of the constant input 'input' is NaN
  input [7, 8], min (), max (), all float -> proved: no element of the constant input 'input' is
      NaN
  input (2,), min (), max (), all int8 -> proved: no int8 is NaN
Clip.min.C2
  -> proved: the attribute min is left out
  min=inf -> proved: the attribute min is inf
Clip.max.C2
  max=NaN -> violated: the attribute max is nan
ArgMax.keepdims.C1
  A (2, 3) -> proved: the attribute keepdims is 1
  A (2, 3), keepdims=0 -> proved: the attribute keepdims is 0
  A (2, 3), keepdims=2 -> violated: the attribute keepdims is 2
ArgMax.select_last_index.C1
  A (2, 3) -> proved: the attribute select_last_index is 0
  A (2, 3), select_last_index=-1 -> violated: the attribute select_last_index is -1
ArgMax.R4
  A (2, 3) -> proved: the attribute axis is 0
  A (2, 3), axis=-1 -> violated: the attribute axis is -1
ArgMax.R5
  X (2, 3) -> proved: axis 0 of X (2, 3) is at least 1
  X (3, n), axis=-1 -> runtime: whether axis -1 of X (3, n) is at least 1 is unknown
  X (2, 0), axis=1 -> violated: axis 1 of X (2, 0) is 0, not at least 1
  X (2, 3), axis=2 -> violated: X (2, 3) has no axis 2
  X ?, axis=2 -> runtime: the rank of X is unknown
  X (2, 3), axis=-2 -> proved: axis -2 of X (2, 3) is at least 1
  X (2, 3), axis=-3 -> violated: X (2, 3) has no axis -3
  X (2, 3), axis=1, scalars -> runtime: {scalars}
BatchNormalization.R1
  -> proved: the attribute training_mode is 0
  training_mode=1 -> violated: the attribute training_mode is 1
BatchNormalization.C1
  -> proved: the attribute epsilon is 1e-05
  epsilon=0.0 -> violated: the attribute epsilon is 0.0
  epsilon=NaN -> violated: the attribute epsilon is nan
Slice.R1
  axes (1,) -> proved: axes is given
  -> violated: axes is left out
Slice.R3
  -> violated: steps is left out
Slice.R2
  X (2, 3), axes (2,) -> proved: axis 0 of axes (2,) is the rank of X (2, 3)
  X (2, 3), axes (1,) -> violated: axis 0 of axes (1,) is 1, and the rank of X (2, 3) is 2
  X (2, 3), axes (n,) -> runtime: whether axis 0 of axes (n,) is the rank of X (2, 3) is unknown
  X (2, 3), axes (2,), scalars -> runtime: {scalars}
  X ?, axes (2,) -> runtime: the rank of X is unknown
  X (2, 3) -> runtime: axes is left out
Slice.R8
  X (4,), starts [3], ends [4], axes [0], steps [1] -> proved: starts and ends are within the sizes
  X (4,), starts [-4], ends [4], axes [-1], steps [1] -> proved: starts and ends are within the
      sizes
  X (4,), starts [4], ends [4], axes [0], steps [1] -> violated: start 4 is no index of an axis of
      size 4 (entry 0)
  X (4,), starts [-5], ends [4], axes [0], steps [1] -> violated: start -5 is no index of an axis of
      size 4 (entry 0)
  X (n,), starts [0], ends [4], axes [0], steps [1] -> runtime: the sizes of X depend on the inputs
  B ?, starts [0], ends [4], axes [0], steps [1] -> runtime: the rank of B is unknown
  X (4,), starts [0], ends [4], axes [7], steps [1] -> runtime: the sizes of X depend on the inputs
  X (4,), starts [0], ends [4], axes [0], steps (1,) -> runtime: the elements of
      steps depend on the inputs
  X (4,) -> runtime: not all inputs that decide it are given
  X (4,), starts [0], ends [4] -> proved: starts and ends are within the sizes
  X (4,), starts [0], ends [4], axes [0], steps [1], scalars -> runtime: the rank of X is unknown
  X (0,), starts [0], ends [0], axes [0], steps [1] -> violated: start 0 is no index of an axis of
      size 0 (entry 0)
  A (2, 3), starts [1, 3], ends [1, 1], axes [0, 1], steps [1, 1] -> violated: start 3 is no index
      of an axis of size 3 (entry 1)
  A (2, 3), starts [2, 1], ends [1, 1], axes [-1, -2], steps [1, 1] -> proved: starts and ends are
      within the sizes
  A (2, 3), starts [0, 0], ends [1, 1], axes [0], steps [1, 1] -> runtime: the sizes of A
      depend on the inputs
  X (n, 3), starts [0], ends [3], axes [1], steps [1] -> proved: starts and ends are within the
      sizes
  X (4,), starts (1,), ends [4], axes [0], steps (1,) -> runtime: the elements of starts and steps
      depend on the inputs
Slice.C2
  X (4,), starts [0], ends [5], axes [0], steps [1] -> violated: end 5 is beyond an axis of size 4
      (entry 0)
  X (4,), starts [3], ends [-5], axes [0], steps [-1] -> proved: starts and ends are within the
      sizes
  X (4,), starts [3], ends [4], axes [0], steps [-1] -> violated: end 4 is beyond an axis of size 4
      (entry 0)
  X (4,), starts [3], ends [-6], axes [0], steps [-1] -> violated: end -6 is beyond an axis of size
      4 (entry 0)
  X (4,), starts [3], ends [3], axes [0], steps [-1] -> proved: starts and ends are within the sizes
  X (4,), starts [3], ends [-4], axes [0], steps [1] -> proved: starts and ends are within the sizes
  X (4,), starts [3], ends [-5], axes [0], steps [1] -> violated: end -5 is beyond an axis of size 4
      (entry 0)
  X (4,), starts [0], ends [4], axes [-5], steps [1] -> runtime: the sizes of X depend on the inputs
  X (4,), starts [0], ends [4], axes [0], steps [1] -> proved: starts and ends are within the sizes
  X (4,), starts [0], ends [4], axes [0], steps [0] -> proved: starts and ends are within the sizes
Slice.R6
  X (4,), starts [0], ends [2], axes [0], steps [0] -> proved: starts and ends are within the sizes
  X (4,), starts [2], ends [0], axes [0], steps [-1] -> proved: starts and ends are within the sizes
  X (4,), starts [2], ends [2], axes [0], steps [-1] -> proved: starts and ends are within the sizes
  X (4,), starts [1], ends [-3], axes [0], steps [-1] -> proved: starts and ends are within the
      sizes
  X (4,), starts [1], ends [-2], axes [0], steps [-1] -> violated: start 1 lies after end -2 in
      steps of -1 on an axis of size 4 (entry 0)
  X (4,), starts [2], ends [2], axes [0], steps [1] -> proved: starts and ends are within the sizes
  X (4,), starts [-1], ends [2], axes [0], steps [1] -> violated: start -1 lies after end 2 in
      steps of 1 on an axis of size 4 (entry 0)
  X (4,), starts [0], ends [2], axes [0], steps [-1] -> violated: start 0 lies after end 2 in steps
      of -1 on an axis of size 4 (entry 0)
LeakyRelu.R1
  X (n,), alpha=0.0 -> proved: alpha is given
  X (n,) -> violated: alpha is left out
Softmax.R3
  A (2, 3), axis=-1 -> proved: axis is given
  A (2, 3) -> violated: axis is left out
Softmax.R4
  A (2, 3), axis=0 -> proved: the attribute axis is 0
  A (2, 3), axis=-1 -> violated: the attribute axis is -1
  A (2, 3) -> proved: the attribute axis is left out
QuantizeLinear.R1
  -> proved: the attribute axis is 1
  axis=1 -> proved: the attribute axis is 1
  axis=0 -> violated: the attribute axis is 0
QuantizeLinear.R2
  block_size=0 -> proved: the attribute block_size is 0
  block_size=2 -> violated: the attribute block_size is 2
QuantizeLinear.R3
  output_dtype=2 -> violated: the attribute output_dtype is 2
QuantizeLinear.R4
  -> proved: the attribute precision is 0
  precision=1 -> violated: the attribute precision is 1
QuantizeLinear.given
  -> violated: y_zero_point is left out
  y_zero_point () -> proved: y_zero_point is given
DequantizeLinear.R1
  axis=-1 -> violated: the attribute axis is -1
DequantizeLinear.R2
  block_size=1 -> violated: the attribute block_size is 1
DequantizeLinear.R3
  output_dtype=1 -> violated: the attribute output_dtype is 1
  -> proved: the attribute output_dtype is 0
DequantizeLinear.signature
  x_scale () -> proved: the rank of x_scale () is 0
QuantizeLinear.signature
  y_scale (), y_zero_point (1,) -> violated: the rank of y_zero_point (1,) is 1, not 0
"""


@pytest.mark.satisfies(
    "Clip.min.C2 Clip.max.C2 MatMul.draft.matrices Clip.draft.scalars ArgMax.draft.axis",
    "ArgMax.draft.flags ArgMax.draft.not_empty BatchNormalization.draft.inference",
    "BatchNormalization.draft.epsilon BatchNormalization.draft.error Slice.draft.numbers",
    "DequantizeLinear.draft.axis",
    "DequantizeLinear.draft.block_size DequantizeLinear.draft.output_dtype LeakyRelu.draft.alpha",
    "QuantizeLinear.draft.axis QuantizeLinear.draft.block_size QuantizeLinear.draft.output_dtype",
    "QuantizeLinear.draft.precision QuantizeLinear.draft.zero_point Slice.draft.R1 Slice.draft.R2",
    "Slice.draft.R3 Slice.draft.R6 Slice.draft.R7 Slice.draft.R8 Slice.draft.ends",
    "Softmax.draft.axis General.GR4 Softmax.draft.axis.constraint",
)
@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_judgement(requirement: Requirement, operands: list[Operand], judgement: Judgement) -> None:
    assert requirement.judge(operands) == judgement


RUNS = """
ArgMax.R5
  X (2, 1), axis=1 -> kept
  X (2, 3), axis=-2 -> kept
  X (2, 0), axis=1 -> axis 1 of X (2, 0) is 0, not at least 1
  X (2, 3), axis=2 -> X (2, 3) has no axis 2
  X (2, 3), axis=-3 -> X (2, 3) has no axis -3
  X (0, 2) -> axis 0 of X (0, 2) is 0, not at least 1
MatMul.C1
  A (2, 3), B (3, 2) -> kept
  A (2, 3), B (3,) -> the rank of operand 1 (3,) is 1, not 2
Slice.R2
  X (2, 3), axes [0, 1] -> kept
  X (2, 3), axes [0] -> axis 0 of axes (1,) is 1, and the rank of X (2, 3) is 2
Slice.R8
  X (4,), starts [3], ends [4], axes [0], steps [1] -> kept
  X (4,), starts [9], ends [4], axes [7], steps [1] -> kept
  X (4,), starts [9], ends [4], axes [1], steps [1] -> kept
  X (4,), starts [9], ends [4], axes [-2], steps [1] -> kept
  X (4,), starts [4], ends [4], axes [-1], steps [1] -> start 4 is no index of an axis of size 4
      (entry 0) @ 0: 4, 4, -1, 1
  X (4,), starts 9, ends 4, axes 0, steps 1 -> kept
Slice.R1
  axes (4,) -> kept
BatchNormalization.R1
  X (4,), training_mode=1 -> kept
"""


@pytest.mark.parametrize(("requirement", "arrays", "violation"), violated(RUNS))
def test_violation(
    requirement: Requirement, arrays: list[np.ndarray], violation: Violation | None
) -> None:
    assert requirement.violation(arrays) == violation


FLOATS = np.float32([7, math.nan])


@pytest.mark.parametrize(
    "arrays",
    [
        [FLOATS],
        [FLOATS, np.float32(5)],
        [FLOATS, np.float32(5), np.float32(5)],
        [FLOATS, np.float32(math.nan), np.float32(1)],
        [FLOATS, np.float32(5), np.float32(math.nan)],
        [FLOATS[:1], np.float32(5), np.float32(1)],
        [FLOATS, np.float32([5, 5]), np.float32([1, 1, 1])],
        [np.int8([7]), np.int8(5), np.int8(1)],
    ],
)
def test_nan_is_admitted_where_bounds_are_not_crossed(arrays: list[np.ndarray]) -> None:
    assert RULES["Clip.float.C3"].requirement.violation(arrays) is None


MATRICES = "multiply each matrix of a batch separately, or fold the batch into rows with Reshape"


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
    assert bound.hint() == hint
    assert bound.of_node(said).hint() == hint


def test_nothing_is_said_of_attributes_that_are_not_known() -> None:
    requirement = RULES["BatchNormalization.C1"].requirement
    expected = Judgement(Status.RUNTIME, "what the attribute epsilon says is not known")
    assert requirement.judge([]) == expected
    assert requirement.violation([]) is None

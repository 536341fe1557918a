"""What is decided before runs, and in runs, of the shapes, sizes and axes of layout operators."""

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Judgement, Requirement, Violation
from sonnx_ort.terms.operand import Operand
from support.decisions import judged, violated

DECIDED = """
Concat.C3
  X0 (2,), X1 (n,) -> proved: the rank of X0 (2,) is at least 1 and the rank of X1 (n,) is at least
      1
  X0 (2,), X1 () -> violated: the rank of X1 () is 0, not at least 1
  X0 (2,), X1 ? -> held: the rank of X1 is unknown
  X0 (2,), scalars -> held: {scalars}
Concat.axis.C1
  X0 (2, 3), X1 (2, 3), axis=1 -> proved: X0 (2, 3) has axis 1 and X1 (2, 3) has axis 1
  X0 (2, 3), axis=-2 -> proved: X0 (2, 3) has axis -2
  X0 (2, 3), axis=2 -> violated: X0 (2, 3) has no axis 2
  X0 ?, X1 (2,), axis=-2 -> violated: X1 (2,) has no axis -2
  X0 (2,), X1 ?, axis=0 -> held: the rank of X1 is unknown
  X0 (2,), axis="0" -> violated: the attribute axis is left out
Concat.C2
  X0 (2, 3), axis=0 -> proved: there is one operand alone
  X0 ?, axis=0 -> proved: there is one operand alone
  X0 (2,), axis=0, scalars -> proved: there is one operand alone
  X0 (2, 3), X1 (0, 3), axis=0 -> proved: the shapes differ on axis 0 at most
  X0 (3, 2), X1 (3, 0), axis=-1 -> proved: the shapes differ on axis -1 at most
  X0 (n, 3), X1 (n, 4), axis=1 -> proved: the shapes differ on axis 1 at most
  X0 (n, 3), X1 (n, 4), axis=1, shared n -> runtime: axis 0 is n
  X0 (n, 3), X1 (m, 4), axis=1 -> runtime: axis 0 is n and m
  X0 (n, 3), X1 (?, 4), axis=1 -> runtime: axis 0 is n and unknown
  X0 (2, 3), X1 (2, 5), axis=0 -> violated: axis 1 has size 3 in X0 and 5 in X1
  X0 (2, n), X1 (2, 4), X2 (2, 5), X3 ?, axis=0 -> violated: axis 1 has size 4 in X1 and 5 in X2
  X0 (2,), X1 ?, X2 (2, 3), axis=0 -> violated: rank 1 of X0 is not rank 2 of X2
  X0 (2,), X1 ?, axis=0 -> runtime: the rank of X1 is unknown
  X0 (2,), X1 (3,), axis=0, scalars -> runtime: {scalars}
  X0 (2,), X1 (3,), axis=4 -> violated: axis 0 has size 2 in X0 and 3 in X1
  X0 (2,), X1 (3,), axis=-4 -> violated: axis 0 has size 2 in X0 and 3 in X1
Reshape.S.rank
  S (k,) -> proved: the rank of S (k,) is 1
  S () -> violated: the rank of S () is 0, not 1
  S ? -> held: the rank of S is unknown
Reshape.S.C3
  S [-1, 0, 4] -> proved: no size is below -1
  S [4, -2] -> violated: a size is -2
  S [inf, NaN] -> held: the elements of S depend on the inputs
  S (k,) -> held: the elements of S depend on the inputs
  S (k,) in 1..9 -> proved: no size is below -1
Reshape.S.C1
  S [inf, NaN] -> held: the elements of S depend on the inputs
  S [-1, 4] -> proved: one size is -1
  S [4] -> proved: no sizes are -1
  S [-1, 4, -1] -> violated: 2 sizes are -1
  S (k,) in 1..9 -> proved: no size is negative
  S (1,) -> proved: there is one size at most
  S (2,) -> held: the elements of S depend on the inputs
Reshape.allowzero.C2
  X ?, S [2, 3] -> proved: no size is 0
  X ?, S (k,) in 1..9 -> proved: no size is 0
  X ?, S (k,), allowzero=1 -> proved: a 0 copies nothing
  X ?, S (k,) -> held: the elements of S depend on the inputs
  X (n, 3), S [0, 0] -> proved: each 0 copies a size
  X (2,), S [2, 0] -> violated: entry 1 is 0, and X has 1 axes
  X ?, S [0] -> held: the rank of X is unknown
  X (2,), S [0], scalars -> held: {scalars}
Reshape.X.C1
  X (2, 3), S [3, 2] -> proved: X (2, 3) has the elements of [3, 2]
  X (2, 3), S [3, -1] -> proved: X (2, 3) has the elements of [3, -1]
  X (n, 3, 4), S [0, 12] -> proved: X (n, 3, 4) has the elements of [0, 12]
  X (n, 3, 4), S [0, -1] -> proved: X (n, 3, 4) has the elements of [0, -1]
  X (), S [1] -> proved: X () has the elements of [1]
  X (0, 3), S [0, 7] -> proved: X (0, 3) has the elements of [0, 7]
  X (0, 3), S [0, -1] -> proved: X (0, 3) has the elements of [0, -1]
  X (2, 3), S [4, 2] -> violated: X (2, 3) does not have the elements of [4, 2]
  X (2, 3), S [4, -1] -> violated: X (2, 3) does not have the elements of [4, -1]
  X (2, 3), S [0, 3], allowzero=1 -> violated: X (2, 3) does not have the elements of [0, 3]
  X (n, 3), S [6] -> held: the sizes of X depend on the inputs
  X (?, 3), S [0, 3] -> held: the sizes of X depend on the inputs
  X ?, S [6] -> held: the rank of X is unknown
  X (6,), S (k,) -> held: the elements of S depend on the inputs
  X (6,), S [6], scalars -> held: {scalars}
Reshape.allowzero.C3
  X (n,), S [0, 3] -> proved: no size is -1
  X (n,), S (k,) in 1..9 -> proved: no size is -1
  X (2, 3), S [-1] -> proved: X (2, 3) is not empty
  X (), S [-1] -> proved: X () is not empty
  X (2,), S (k,) -> proved: X (2,) is not empty
  X (2,), S [-1], scalars -> runtime: {scalars}
  X (0, n), S [-1] -> violated: a size is -1, and X (0, n) is empty
  X (0,), S (k,) -> runtime: the elements of S depend on the inputs
  X (n,), S [-1] -> runtime: the sizes of X depend on the inputs
  X ?, S [-1] -> runtime: the sizes of X depend on the inputs
  X (n,), S [-1], allowzero=1 -> proved: no size is 0
  X (2,), S [0, -1], allowzero=1 -> violated: a size is 0, and one is -1
  X (2,), S (k,), allowzero=1 -> runtime: the elements of S depend on the inputs
Flatten.axis.C1
  X (2, n), axis=2 -> proved: X (2, n) has axis 2
  X (2, n), axis=-2 -> proved: X (2, n) has axis -2
  X () -> violated: X () has no axis 1
  X (2,), axis=-2 -> violated: X (2,) has no axis -2
  X ?, axis=0 -> held: the rank of X is unknown
Squeeze.A.names
  A (0,) -> violated: axis 0 of A (0,) is 0, not at least 1
  -> proved: A is left out
Squeeze.A.rank
  -> proved: no such operand is given
Squeeze.axes.names
  axes=[] -> violated: the attribute axes is []
  axes=[0] -> proved: the attribute axes is [0]
Squeeze.A.C1
  X (1, 3), A [0, -2] -> proved: all named axes are among 2 axes
  X (1, 3), axes=[0, 2] -> violated: axis 2 is none of 2 axes
  X (1, 3), A [-3] -> violated: axis -3 is none of 2 axes
  X ? -> proved: no axis is named
  X ?, A [0] -> held: the rank of X is unknown
  X (1,), A (k,) -> held: the elements of A depend on the inputs
  X (1,), A [0], scalars -> held: {scalars}
Squeeze.size
  X (1, 3, 1), A [0, -1] -> proved: all named axes have the size 1
  X (1, 3, 1), A [-2] -> violated: axis -2 of X (1, 3, 1) is 3
  X (1, 0), axes=[1] -> violated: axis 1 of X (1, 0) is 0
  X (1, n), A [1] -> held: the sizes of X depend on the inputs
  X (1, n), A [7] -> proved: all named axes have the size 1
  X ?, A [0] -> held: the rank of X is unknown
  X (1,), A (k,) -> held: the elements of A depend on the inputs
Squeeze.A.C2
  X ?, A [0, 2] -> proved: no axis is named twice
  X ?, A [-1, -3] -> proved: no axis is named twice
  X ?, A [0, 0] -> violated: 0 and 0 name one axis
  X (1, 3, 1), A [0, -3] -> violated: 0 and -3 name one axis
  X (1, 3, 1), A [0, -1] -> proved: no axis is named twice
  X (1, 3, 1), A [0, -1], scalars -> runtime: {scalars}
  X ?, A [0, -1] -> runtime: the rank of X is unknown
  X (1, 3, 1), axes=[2, -1] -> violated: 2 and -1 name one axis
  X ? -> proved: no axis is named twice
  X ?, A (k,) -> runtime: the elements of A depend on the inputs
  X ?, A (1,) -> proved: one axis is named at most
Unsqueeze.A.rank
  A () -> violated: the rank of A () is 0, not 1
Unsqueeze.A.C1
  X (3,), A [0, -2] -> proved: all named axes are among 3 axes
  X (3,), A [0, 3] -> violated: axis 3 is none of 3 axes
Unsqueeze.A.C2
  X (3,), A [0, -2] -> proved: no axis is named twice
  X (3,), A [0, -3] -> violated: 0 and -3 name one axis
  X (3,), axes=[1, 1] -> violated: 1 and 1 name one axis
  X ?, A [0, -1] -> held: the rank of X is unknown
  X (3,), A (k,) -> held: the elements of A depend on the inputs
Constant.R1
  value=None -> proved: value is given
  value_float=1.5 -> violated: value is left out
Range.scalars
  S (), L (1,) -> violated: the rank of L (1,) is 1, not 0
Range.D.C1
  D -0.0 -> violated: D is -0.0
  D 0.5 -> proved: D is 0.5
  D () in 1..7 -> proved: D is between 1 to 7
  D () in 0..7 -> held: the elements of D depend on the inputs
MatMul.C2
  A (2, n), B (n, 4) -> proved: axis -1 of A (2, n) is axis -2 of B (n, 4)
  A (2, 3), B (4, 4) -> violated: axis -1 of A (2, 3) is 3, and axis -2 of B (4, 4) is 4, and the
      rank of B is 2, not 1
  A (5, 2, 3), B (3, 4) -> proved: axis -1 of A (5, 2, 3) is axis -2 of B (3, 4)
  A ?, B (3, 4) -> held: the rank of A is unknown
BatchNormalization.X.C3
  X () -> violated: the rank of X () is 0, not at least 1
  X (2,) -> proved: the rank of X (2,) is at least 1
BatchNormalization.scale.C1
  X (2, 3, 4), scale (2,), B (2,), input_mean (2,), input_var (2,) -> violated: axis 0 of scale (2,)
      is 2, and axis 1 of X (2, 3, 4) is 3, and the rank of X is 3, not 1
  X (2, 3), scale (3,), B (3,), input_mean (3,), input_var (1, 3) -> violated: the rank of input_var
      (1, 3) is 2, not 1
  X ?, scale (3,), B (3,), input_mean (4,), input_var (3,) -> violated: axis 0 of input_mean (4,) is
      4, and axis 0 of scale (3,) is 3
  X (4,), scale (4,), B (4,), input_mean (4,), input_var (4,) -> violated: X (4,) has no axis 1, and
      axis 0 of scale (4,) is 4, not 1
  X (2, c), scale (3,), B (3,), input_mean (3,), input_var (3,) -> held: whether axis 0 of scale
      (3,) is axis 1 of X (2, c) is unknown
  X ?, scale (3,), B (3,), input_mean (3,), input_var (3,) -> held: the rank of X is unknown
Slice.C1
  starts (2,), ends (1,), axes (2,), steps (2,) -> violated: axis 0 of ends (1,) is 1, and axis 0 of
      starts (2,) is 2
  starts (2,), ends (2,), axes (2,), steps (1, 2) -> violated: the rank of steps (1, 2) is 2, not 1
  starts (2,), ends (2,), axes (k,), steps (2,) -> held: whether axis 0 of axes (k,) is axis 0 of
      starts (2,) is unknown
  starts (2,), ends (2,) -> proved: the rank of starts (2,) is 1 and the rank of ends (2,) is 1 and
      axis 0 of ends is axis 0 of starts and axes is left out and steps is left out
Slice.C3
  X () -> violated: the rank of X () is 0, not at least 1
  X (n,) -> proved: the rank of X (n,) is at least 1
Slice.A.C2
  X (2, 3), axes [0, -2] -> proved: all named axes are among 2 axes
  X (2, 3), axes [0, 2] -> violated: axis 2 is none of 2 axes
  X (2, 3), axes [0, -3] -> violated: axis -3 is none of 2 axes
Slice.A.C3
  X (2, 3), axes [0, 1] -> proved: no axis is named twice
  X (2, 3), axes [0, -2] -> violated: 0 and -2 name one axis
  X (2, 3), axes [1, 1] -> violated: 1 and 1 name one axis
  X ?, axes [0, -1] -> held: the rank of X is unknown
Slice.K.C2
  steps [1, -1] -> proved: steps is [1, -1]
  steps [1, 0] -> violated: steps is [1, 0]
  steps (k,) -> held: the elements of steps depend on the inputs
  -> proved: no steps are given
"""


@pytest.mark.satisfies(
    "Concat.draft.equal Concat.draft.axis Reshape.draft.vector Reshape.draft.copied",
    "Reshape.draft.smallest Reshape.draft.inferable Reshape.draft.one Reshape.draft.count",
    "Flatten.draft.axis Unsqueeze.draft.vector Unsqueeze.draft.axes Unsqueeze.draft.once",
    "Constant.draft.value Range.draft.scalars Range.draft.step Slice.draft.numbers",
    "Slice.draft.rank Slice.draft.axes Slice.draft.once Slice.draft.steps MatMul.draft.inner",
    "BatchNormalization.draft.rank BatchNormalization.draft.sizes Squeeze.A.C1 Squeeze.A.rank",
    "Squeeze.size",
)
@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_judgement(requirement: Requirement, operands: list[Operand], judgement: Judgement) -> None:
    assert requirement.judge(operands) == judgement


RUNS = """
Concat.C2
  X0 (2, 3), X1 (1, 3), axis=0 -> kept
  X0 (2, 3), X1 (2, 0), axis=1 -> kept
  X0 (2, 3), X1 (2, 0), axis=-1 -> kept
  X0 (), X1 (3,), axis=0 -> kept
  X0 (2, 3), axis=5 -> kept
  X0 (2, 3), X1 (0, 5), axis=0 -> the shapes (2, 3) and (0, 5) differ beside axis 0
  X0 (2, 3), X1 (0, 5), axis=-2 -> the shapes (2, 3) and (0, 5) differ beside axis -2
  X0 (0,), X1 (2, 3), axis=0 -> the shapes (0,) and (2, 3) differ beside axis 0
  X0 (2, 3), X1 (2, 3), X2 (2, 3, 1), axis=0 -> the shapes (2, 3) and (2, 3, 1) differ beside axis 0
  X0 (3,), X1 (2,), axis=5 -> the shapes (3,) and (2,) differ beside axis 5
Reshape.allowzero.C3
  X (2, 3), S [-1, 2] -> kept
  X (0, 3), S [3, 0] -> kept
  X (0, 3), S [-1, 3] -> a size is -1, and X (0, 3) is empty @ 0: -1
  X (0, 3), S [-1, 3], allowzero=1 -> kept
  X (2, 3), S [0, -1], allowzero=1 -> a size is 0, and one is -1 @ 1: -1
Squeeze.A.C2
  X (1, 3, 1), A [0, 2] -> kept
  X (1, 3, 1), A [2, -1] -> 2 and -1 name one axis @ 1: -1
  X (1, 3, 1), axes=[0, -3] -> 0 and -3 name one axis
  X (1, 3, 1) -> kept
Squeeze.A.names
  -> kept
Flatten.axis.C1
  X (2, 3), axis=3 -> operand 0 (2, 3) has no axis 3
Range.D.C1
  D 0 -> operand 0 is 0
"""


@pytest.mark.parametrize(("requirement", "arrays", "violation"), violated(RUNS))
def test_violation(
    requirement: Requirement, arrays: list[np.ndarray], violation: Violation | None
) -> None:
    assert requirement.violation(arrays) == violation


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("Concat.C2", "give all inputs the same sizes on the other axes, empty ones too"),
        ("Reshape.allowzero.C3", "name every size, or keep empty tensors out"),
        ("Squeeze.A.C2", "name each axis once"),
        ("Unsqueeze.A.rank", "give the axes as a vector"),
        ("Reshape.S", "give S as an input"),
    ],
)
def test_hint(rule: str, hint: str) -> None:
    assert RULES[rule].hint() == hint


@pytest.mark.parametrize(
    ("rule", "version", "binds"),
    [
        ("Reshape.allowzero.C1", 13, False),
        ("Reshape.allowzero.C1", 14, True),
        ("Reshape.S", 1, True),
        ("Reshape.S.C1", 4, False),
        ("Squeeze.A", 12, False),
        ("Squeeze.A", 13, True),
        ("Squeeze.axes", 12, True),
        ("Squeeze.axes", 13, False),
        ("Squeeze.A.C2", 1, True),
    ],
)
def test_versions_that_a_rule_binds(rule: str, version: int, binds: bool) -> None:
    assert RULES[rule].binds_version(version) is binds

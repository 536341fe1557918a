"""Terms about shapes: what is known decides them, runs decide them, and words say why."""

import operator
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sonnx_ort.facts.sizes import Bounds, Symbolic
from sonnx_ort.profile.requirements.shapes import OnShapes, axis_of
from sonnx_ort.profile.rule import VERSION, Judgement, Status, Subject, Violation
from sonnx_ort.terms.evaluation import Answer, Shapes
from sonnx_ort.terms.language import (
    All,
    Decided,
    Each,
    Either,
    IfGiven,
    IsMultiple,
    SizesBehind,
    Tensor,
    Term,
)
from sonnx_ort.terms.operand import OpenSize, Operand
from sonnx_ort.vectors.examples import read
from support.decisions import judged

X, W = Tensor("X"), Tensor("W")

LIMITS = All((X.size(1) == 4, X.size(2) >= 3))
NARROW = X.size(0) <= 2
BIAS = IfGiven(W, W.is_of_shape(X.size(0)))
SCALAR_OR_BIAS = Either((W.rank == 0, W.is_of_shape(X.size(0))))
CHANNELS = 2 * W.size(1) == X.size(1)
MATRICES = Each(lambda tensor: tensor.rank == 2)
AXES = W.size(0) == X.rank


def of(term: Term, *, held: bool = False) -> OnShapes:
    """A requirement on X and W."""
    return OnShapes(("X", "W"), lambda _: term, held=held)


TERMS = {
    "limits": LIMITS,
    "narrow": NARROW,
    "bias": BIAS,
    "scalar_or_bias": SCALAR_OR_BIAS,
    "channels": CHANNELS,
    "matrices": MATRICES,
    "axes": AXES,
    "axis_1": X.has_axis(1),
    "axis_-2": X.has_axis(-2),
    "axis_2": X.has_axis(2),
    "axis_-3": X.has_axis(-3),
    "axis_2_or_end": X.has_axis(2, or_end=True),
    "axis_3_or_end": X.has_axis(3, or_end=True),
    "short_behind_-1": SizesBehind(X, -1, 1),
    "short_behind_-3": SizesBehind(X, -3, 1),
    "short_behind_0": SizesBehind(X, 0, 1),
    "multiple_of_1": IsMultiple(X.size(0), 1),
    "multiple_of_2": IsMultiple(X.size(0), 2),
    "nothing": All(()),
    "decided": Decided(False, "no axis is named"),
    "axis_1_or_end": X.has_axis(1, or_end=True),
    "short_behind_-2": SizesBehind(X, -2, 1),
    "kept": Decided(True, ""),
}

DECIDED = """
limits
  X ? -> runtime: the rank of X is unknown
  X (1, 4, 3) -> proved: axis 1 of X (1, 4, 3) is 4 and axis 2 of X is at least 3
  X (1, 5, 3) -> violated: axis 1 of X (1, 5, 3) is 5, not 4
  X (1, n, 2) -> violated: axis 2 of X (1, n, 2) is 2, not at least 3
  X (1, n, 3) -> runtime: whether axis 1 of X (1, n, 3) is 4 is unknown
  X (1, 4) -> violated: X (1, 4) has no axis 2
narrow
  X (2,) -> proved: axis 0 of X (2,) is at most 2
  X (3,) -> violated: axis 0 of X (3,) is 3, not at most 2
bias
  X (6, 1) -> proved: W is left out
  X (6, 1), W ? -> runtime: the rank of W is unknown
  X (6, 1), W (6,) -> proved: the shape of W (6,) is (axis 0 of X (6, 1),)
  X (n, 1), W (n,) -> proved: the shape of W (n,) is (axis 0 of X (n, 1),)
  X (6, 1), W (1,) -> violated: axis 0 of W (1,) is 1, and axis 0 of X (6, 1) is 6
  X (6, 1), W (6, 1) -> violated: the rank of W (6, 1) is 2, not 1
  X (n, 1), W (n,), shared n -> runtime: whether axis 0 of W (n,) is axis 0 of X (n, 1) is unknown
  X (6, 1), W (6,), scalars -> runtime: {scalars}
  X (6, 1), W (6, 1), scalars -> violated: the rank of W (6, 1) is 2, not 1
  X (6, 1), scalars -> proved: W is left out
  X (), W (6,) -> violated: X () has no axis 0
  X ?, W (6,) -> runtime: the rank of X is unknown
  X (?, 1), W (?,) -> runtime: whether axis 0 of W (?,) is axis 0 of X (?, 1) is unknown
scalar_or_bias
  X (6, 1), W () -> proved: the rank of W () is 0
  X (6, 1), W (6, 1) -> violated: the rank of W (6, 1) is 2, not 0, and the rank of W is 2, not 1
  X (6, 1), W ? -> runtime: the rank of W is unknown
channels
  X (1, 4), W (6, 2) -> proved: 2 times axis 1 of W (6, 2) is axis 1 of X (1, 4)
  X (1, 3), W (6, 2) -> violated: 2 times axis 1 of W (6, 2) is 4, and axis 1 of X (1, 3) is 3
  X (1, c), W (6, c) -> runtime: whether 2 times axis 1 of W (6, c) is axis 1 of X (1, c) is unknown
matrices
  X (2, 3), W (3, n) -> proved: the rank of X (2, 3) is 2 and the rank of W (3, n) is 2
  X (2, 3), W (3,) -> violated: the rank of W (3,) is 1, not 2
axes
  X (n, 2), W (2,) -> proved: axis 0 of W (2,) is the rank of X (n, 2)
  X (2, 2), W (1,) -> violated: axis 0 of W (1,) is 1, and the rank of X (2, 2) is 2
  X (2, 2) -> runtime: W is left out
axis_1
  X (2, n) -> proved: X (2, n) has axis 1
axis_-2
  X (2, n) -> proved: X (2, n) has axis -2
axis_2
  X (2, n) -> violated: X (2, n) has no axis 2
axis_-3
  X (2, n) -> violated: X (2, n) has no axis -3
axis_2_or_end
  X (2, n) -> proved: X (2, n) has axis 2
axis_3_or_end
  X (2, n) -> violated: X (2, n) has no axis 3
short_behind_-1
  X (n, m) -> proved: no axis of X (n, m) after axis -1 is longer than 1
short_behind_-3
  X (2, 1, 4) -> violated: axis 2 of X (2, 1, 4) is longer than 1
short_behind_0
  X (2, n, 4) -> violated: axis 2 of X (2, n, 4) is longer than 1
  X (2, 1, ?) -> runtime: whether axis 2 of X (2, 1, ?) is longer than 1 is unknown
  X () -> violated: X () has no axis 0
multiple_of_1
  X (n,) -> proved: axis 0 of X (n,) is a multiple of 1
multiple_of_2
  X (4,) -> proved: axis 0 of X (4,) is a multiple of 2
  X (5,) -> violated: axis 0 of X (5,) is 5, no multiple of 2
  X (n,) -> runtime: whether axis 0 of X (n,) is a multiple of 2 is unknown
nothing
  X ? -> proved: nothing is demanded
decided
  X (1,) -> violated: no axis is named
"""


@pytest.mark.parametrize(
    ("requirement", "operands", "judgement"),
    judged(DECIDED, {name: of(term) for name, term in TERMS.items()}),
)
def test_what_is_known_decides(
    requirement: OnShapes, operands: list[Operand], judgement: Judgement
) -> None:
    assert requirement.judge(operands) == judgement


@pytest.mark.parametrize(
    ("term", "shapes", "reason"),
    [
        (LIMITS, [(1, 4, 3)], None),
        (LIMITS, [(1, 5, 3)], "axis 1 of X (1, 5, 3) is 5, not 4"),
        (LIMITS, [()], "X () has no axis 1"),
        (BIAS, [(6, 1)], None),
        (BIAS, [(6, 1), (5,)], "axis 0 of W (5,) is 5, and axis 0 of X (6, 1) is 6"),
        (CHANNELS, [(1, 4), (6, 2)], None),
        (X.size(-1) >= 1, [(2, 0)], "axis -1 of X (2, 0) is 0, not at least 1"),
        (X.size(-2) >= 1, [(2, 0)], None),
    ],
)
def test_run_decides(term: Term, shapes: Sequence[tuple[int, ...]], reason: str | None) -> None:
    found = of(term).violation([np.zeros(shape) for shape in shapes])
    assert found == (None if reason is None else Violation(reason))


BOUNDED = [
    (X.size(0) >= 4, True, "axis 0 of X (n, m) is 4 to 12"),
    (X.size(0) <= 3, False, "axis 0 of X (n, m) is 4 to 12"),
    (X.size(0) == 13, False, "axis 0 of X (n, m) is 4 to 12"),
    (X.size(0) >= 5, None, "whether axis 0 of X (n, m) is at least 5 is unknown"),
    (
        X.size(1) >= 0,
        True,
        "axis 1 of X (n, m) is 0 to 9223372036854775807",
    ),
    (
        X.size(0) >= W.rank,
        True,
        "axis 0 of X (n, m) is 4 to 12 and the rank of W (n,) is 1",
    ),
    (
        3 * X.size(0) >= W.size(0),
        True,
        "3 times axis 0 of X (n, m) is 12 to 36 and axis 0 of W (n,) is 4 to 12",
    ),
    (
        2 * X.size(0) >= W.size(0),
        None,
        "whether 2 times axis 0 of X (n, m) is at least axis 0 of W (n,) is unknown",
    ),
    (IsMultiple(X.size(0), 4), True, "axis 0 of X (n, m) is a multiple of 4"),
    (IsMultiple(X.size(0), 8), None, "whether axis 0 of X (n, m) is a multiple of 8 is unknown"),
]
"""Terms of sizes of which bounds are known, and what these decide."""


@pytest.mark.parametrize(("term", "holds", "words"), BOUNDED)
def test_bounds_of_a_size_decide(term: Term, holds: bool | None, words: str) -> None:
    size = Symbolic.named("n", Bounds(4, 12), 4)
    assert isinstance(size, Symbolic)
    shapes = Shapes({"X": (OpenSize(size), "m"), "W": (OpenSize(size),)}, lambda _, __: True)
    assert shapes.answer(term) == Answer(holds, words)


def test_operands_without_names_are_numbered_in_a_run() -> None:
    found = OnShapes((), lambda _: MATRICES).violation([np.zeros((1, 1)), np.zeros(1)])
    assert found == Violation("the rank of operand 1 (1,) is 1, not 2")


def test_onnxruntime_decides_what_it_holds() -> None:
    requirement = of(LIMITS, held=True)
    assert (requirement.subject, of(LIMITS).subject) == (Subject.HELD, Subject.OWN_SHAPE)
    reason = "the rank of X is unknown; ONNX Runtime rejects a violation"
    assert requirement.judge(read("X ?")[0]) == Judgement(Status.RUNTIME, reason)


def test_term_follows_from_the_attributes_of_the_node() -> None:
    requirement = OnShapes(("X",), lambda said: X.size(0) == said.get("group", 1), ("group",))
    decided = requirement.of_node({"group": 3, "other": 5, VERSION: 13}).judge(read("X (2,)")[0])
    assert decided == Judgement(Status.VIOLATED, "axis 0 of X (2,) is 2, not 3")


@pytest.mark.parametrize(
    ("said", "axis"),
    [
        ({"axis": 3, VERSION: 9}, 3),
        ({"axis": None, VERSION: 13}, -1),
        ({VERSION: 12}, 1),
        ({VERSION: 28}, -1),
        ({}, 1),
        ({"axis": "1", VERSION: 13}, "1"),
    ],
    ids=str,
)
def test_axis_is_that_of_the_node_or_of_its_version(
    said: dict[str, int | str | None], axis: int | str
) -> None:
    assert axis_of(said, ((1, 1), (13, -1))) == axis


@pytest.mark.parametrize("compare", [operator.eq, operator.ge, operator.le])
def test_size_is_compared_with_numbers_and_sizes_only(
    compare: Callable[[object, object], object],
) -> None:
    with pytest.raises(
        TypeError, match=r"^a size is compared with a number or a size, and 'n' is neither$"
    ):
        compare(X.size(0), "n")


def test_numbers_are_hashed_by_identity() -> None:
    size = X.size(0)
    assert len({size, size, X.size(0)}) == 2


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("A B A B A", "A (2, n) and B (3,) and A and B and A"),
        ("A in:0 A in:0", "A (2, n) and in:0 (rank unknown) and A and in:0"),
        ("A BA A BA", "A (2, n) and BA (2, n) and A and BA"),
        ("D D", "D (2, n) and D (2, n)"),
    ],
)
def test_shape_of_an_operand_stands_where_it_is_named_first(names: str, words: str) -> None:
    shapes = Shapes({"A": (2, "n"), "B": (3,), "in:0": None, "BA": (2, "n")}, lambda *_: True)
    shown = {"A": "(2, n)", "B": "(3,)", "in:0": "(rank unknown)", "BA": "(2, n)", "D": "(2, n)"}
    given = " and ".join(f"{name} {shown[name]}" for name in names.split())
    assert shapes.answer(Decided(True, given)).words == words

"""Terms about shapes: what is known decides them, runs decide them, and words say why."""

import operator
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.requirements.shapes import OnShapes, axis_of
from sonnx_ort.profile.rule import VERSION, Illustration, Judgement, Status, Subject, Violation
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
from sonnx_ort.terms.operand import Operand, Shape
from sonnx_ort.terms.reading import Shapes, holds

EXAMPLE = Illustration("kept", "broken", "correct the shape")
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
    return OnShapes(("X", "W"), lambda _: term, EXAMPLE, held=held)


def operands(*shapes: Shape | None, shared: str = "", scalar: bool = False) -> list[Operand]:
    return [
        Operand(
            name,
            name.lower(),
            "input",
            "float",
            shape,
            shared_symbols=frozenset(shared),
            scalar_inputs=scalar,
        )
        for name, shape in zip("XW", shapes, strict=False)
    ]


@pytest.mark.parametrize(
    ("term", "shapes", "status", "evidence"),
    [
        (LIMITS, [None], "runtime", "the rank of X is unknown"),
        (
            LIMITS,
            [(1, 4, 3)],
            "proved",
            "axis 1 of X (1, 4, 3) is 4 and axis 2 of X is at least 3",
        ),
        (LIMITS, [(1, 5, 3)], "violated", "axis 1 of X (1, 5, 3) is 5, not 4"),
        (LIMITS, [(1, "n", 2)], "violated", "axis 2 of X (1, n, 2) is 2, not at least 3"),
        (LIMITS, [(1, "n", 3)], "runtime", "whether axis 1 of X (1, n, 3) is 4 is unknown"),
        (LIMITS, [(1, 4)], "violated", "X (1, 4) has no axis 2"),
        (NARROW, [(2,)], "proved", "axis 0 of X (2,) is at most 2"),
        (NARROW, [(3,)], "violated", "axis 0 of X (3,) is 3, not at most 2"),
        (BIAS, [(6, 1)], "proved", "W is left out"),
        (BIAS, [(6, 1), None], "runtime", "the rank of W is unknown"),
        (
            BIAS,
            [(6, 1), (6,)],
            "proved",
            "the shape of W (6,) is (axis 0 of X (6, 1),)",
        ),
        (
            BIAS,
            [("n", 1), ("n",)],
            "proved",
            "the shape of W (n,) is (axis 0 of X (n, 1),)",
        ),
        (
            BIAS,
            [(6, 1), (1,)],
            "violated",
            "axis 0 of W (1,) is 1, and axis 0 of X (6, 1) is 6",
        ),
        (BIAS, [(6, 1), (6, 1)], "violated", "the rank of W (6, 1) is 2, not 1"),
        (BIAS, [(), (6,)], "violated", "X () has no axis 0"),
        (BIAS, [None, (6,)], "runtime", "the rank of X is unknown"),
        (
            BIAS,
            [(None, 1), (None,)],
            "runtime",
            "whether axis 0 of W (?,) is axis 0 of X (?, 1) is unknown",
        ),
        (SCALAR_OR_BIAS, [(6, 1), ()], "proved", "the rank of W () is 0"),
        (
            SCALAR_OR_BIAS,
            [(6, 1), (6, 1)],
            "violated",
            "the rank of W (6, 1) is 2, not 0, and the rank of W is 2, not 1",
        ),
        (SCALAR_OR_BIAS, [(6, 1), None], "runtime", "the rank of W is unknown"),
        (
            CHANNELS,
            [(1, 4), (6, 2)],
            "proved",
            "2 times axis 1 of W (6, 2) is axis 1 of X (1, 4)",
        ),
        (
            CHANNELS,
            [(1, 3), (6, 2)],
            "violated",
            "2 times axis 1 of W (6, 2) is 4, and axis 1 of X (1, 3) is 3",
        ),
        (
            CHANNELS,
            [(1, "c"), (6, "c")],
            "runtime",
            "whether 2 times axis 1 of W (6, c) is axis 1 of X (1, c) is unknown",
        ),
        (
            MATRICES,
            [(2, 3), (3, "n")],
            "proved",
            "the rank of X (2, 3) is 2 and the rank of W (3, n) is 2",
        ),
        (MATRICES, [(2, 3), (3,)], "violated", "the rank of W (3,) is 1, not 2"),
        (AXES, [("n", 2), (2,)], "proved", "axis 0 of W (2,) is the rank of X (n, 2)"),
        (AXES, [(2, 2), (1,)], "violated", "axis 0 of W (1,) is 1, and the rank of X (2, 2) is 2"),
        (AXES, [(2, 2)], "runtime", "W is left out"),
        (X.has_axis(1), [(2, "n")], "proved", "X (2, n) has axis 1"),
        (X.has_axis(-2), [(2, "n")], "proved", "X (2, n) has axis -2"),
        (X.has_axis(2), [(2, "n")], "violated", "X (2, n) has no axis 2"),
        (X.has_axis(-3), [(2, "n")], "violated", "X (2, n) has no axis -3"),
        (X.has_axis(2, or_end=True), [(2, "n")], "proved", "X (2, n) has axis 2"),
        (X.has_axis(3, or_end=True), [(2, "n")], "violated", "X (2, n) has no axis 3"),
        (
            SizesBehind(X, -1, 1),
            [("n", "m")],
            "proved",
            "no axis of X (n, m) behind axis -1 is longer than 1",
        ),
        (SizesBehind(X, -3, 1), [(2, 1, 4)], "violated", "axis 2 of X (2, 1, 4) is longer than 1"),
        (SizesBehind(X, 0, 1), [(2, "n", 4)], "violated", "axis 2 of X (2, n, 4) is longer than 1"),
        (
            SizesBehind(X, 0, 1),
            [(2, 1, None)],
            "runtime",
            "whether axis 2 of X (2, 1, ?) is longer than 1 is unknown",
        ),
        (SizesBehind(X, 0, 1), [()], "violated", "X () has no axis 0"),
        (IsMultiple(X.size(0), 1), [("n",)], "proved", "axis 0 of X (n,) is a multiple of 1"),
        (IsMultiple(X.size(0), 2), [(4,)], "proved", "axis 0 of X (4,) is a multiple of 2"),
        (IsMultiple(X.size(0), 2), [(5,)], "violated", "axis 0 of X (5,) is 5, no multiple of 2"),
        (
            IsMultiple(X.size(0), 2),
            [("n",)],
            "runtime",
            "whether axis 0 of X (n,) is a multiple of 2 is unknown",
        ),
        (All(()), [None], "proved", "nothing is demanded"),
        (Decided(False, "no axis is named"), [(1,)], "violated", "no axis is named"),
    ],
)
def test_what_is_known_decides(
    term: Term, shapes: Sequence[Shape | None], status: str, evidence: str
) -> None:
    assert of(term).judge(operands(*shapes)) == Judgement(Status(status), evidence)


@pytest.mark.parametrize(
    "term",
    [
        LIMITS, NARROW, BIAS, SCALAR_OR_BIAS, CHANNELS, MATRICES, AXES, X.has_axis(1),
        X.has_axis(-2), X.has_axis(1, or_end=True), SizesBehind(X, 0, 1), SizesBehind(X, -2, 1),
        IsMultiple(X.size(0), 2), All(()), Decided(True, ""), Decided(False, ""),
    ],
)  # fmt: skip
def test_run_is_decided_as_known_shapes_are(term: Term) -> None:
    shapes = [shape for rank in range(4) for shape in product((0, 1, 2, 3), repeat=rank)]
    for one in shapes[::3]:
        for given in ([one], *([one, other] for other in shapes[::5])):
            names = "XW"[: len(given)]
            answer = Shapes(names, given, lambda _, __: True).answer(term)
            assert holds(term, dict(zip(names, given, strict=True))) is bool(answer.holds)


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


def test_operands_without_names_are_numbered_in_a_run() -> None:
    found = OnShapes((), lambda _: MATRICES, EXAMPLE).violation([np.zeros((1, 1)), np.zeros(1)])
    assert found == Violation("the rank of operand 1 (1,) is 1, not 2")


def test_equal_symbols_prove_nothing_if_several_inputs_are_declared_by_them() -> None:
    judgement = of(BIAS).judge(operands(("n", 1), ("n",), shared="n"))
    reason = "whether axis 0 of W (n,) is axis 0 of X (n, 1) is unknown"
    assert judgement == Judgement(Status.RUNTIME, reason)


@pytest.mark.parametrize(
    ("shapes", "status", "evidence"),
    [
        ([(6, 1), (6,)], "runtime", SCALAR_INPUTS),
        ([(6, 1), (6, 1)], "violated", "the rank of W (6, 1) is 2, not 1"),
        ([(6, 1)], "proved", "W is left out"),
    ],
)
def test_no_proof_rests_on_inputs_that_are_declared_as_scalars(
    shapes: Sequence[Shape], status: str, evidence: str
) -> None:
    assert of(BIAS).judge(operands(*shapes, scalar=True)) == Judgement(Status(status), evidence)


def test_onnxruntime_decides_what_it_holds() -> None:
    requirement = of(LIMITS, held=True)
    assert (requirement.subject, of(LIMITS).subject) == (Subject.HELD, Subject.OWN_SHAPE)
    reason = "the rank of X is unknown; ONNX Runtime rejects a violation"
    assert requirement.judge(operands(None)) == Judgement(Status.RUNTIME, reason)


def test_term_follows_from_the_attributes_of_the_node() -> None:
    requirement = OnShapes(
        ("X",), lambda said: X.size(0) == said.get("group", 1), EXAMPLE, ("group",)
    )
    judged = requirement.of_node({"group": 3, "other": 5, VERSION: 13}).judge(operands((2,)))
    assert judged == Judgement(Status.VIOLATED, "axis 0 of X (2,) is 2, not 3")
    assert requirement.hint([]) == "correct the shape"


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

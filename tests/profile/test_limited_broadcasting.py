"""What versions 1 and 6 line up: the second operand's shape with a part of the first one's."""

import pytest

from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import Violation
from sonnx_ort.terms.operand import Operand
from support.broadcasting import lines_up

A = (2, 3, 4, 5)


def judged(a_shape, b_shape, axis=None, **known):
    a, b = (
        Operand(letter, letter, "input", "float", shape, **known)
        for letter, shape in (("A", a_shape), ("B", b_shape))
    )
    judgement = LimitedBroadcasting(axis).judge(a, b)
    return judgement.status.value, judgement.evidence


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "axis", "axes"),
    [
        (A, (2,), 0, 3),
        (A, (2, 3), 0, 2),
        (A, A, 0, 0),
        (A, (3, 4), 1, 1),
        (A, (5,), 3, 0),
        (A, (5,), -1, 0),
        (A, (3, 4), -3, 1),
        (A, (2,), -4, 3),
        (A, (), None, 0),
        (A, (4, 5), None, 0),
        (A, (4, 5), 3, None),
        (A, (1,), 9, None),
        (A, (1,), -9, None),
    ],
    ids=str,
)
def test_axis_says_where_the_second_shape_starts(a_shape, b_shape, axis, axes):
    assert LimitedBroadcasting(axis).trailing_axes(len(a_shape), len(b_shape)) == axes


OPEN = "whether B lines up with A depends on the inputs"
UNKNOWN_RANK = "whether B lines up with A depends on a rank that depends on the inputs"


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "axis", "status", "evidence"),
    [
        (A, (3, 4), 1, "proved", "the shape of B is that of A from axis 1 on"),
        (("n", "m"), ("m",), None, "proved", "the shape of B is that of A from axis 1 on"),
        (A, (1, 1), 3, "proved", "B has one element"),
        (("n", "m"), (), 1, "proved", "B has one element"),
        (A, ("k",), 9, "runtime", OPEN),
        (("n", 4), ("k",), 0, "runtime", OPEN),
        (None, (1,), 1, "runtime", UNKNOWN_RANK),
        (A, None, None, "runtime", UNKNOWN_RANK),
    ],
    ids=str,
)
def test_judgement(a_shape, b_shape, axis, status, evidence):
    assert judged(a_shape, b_shape, axis) == (status, evidence)


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "shown"),
    [
        ((4, 5), (1, 5), ("(1, 5)", "(4, 5)")),
        ((1,), ("k", 1), ("(k, 1)", "(1,)")),
        (("n", 4), ("k", 5), ("(k, 5)", "(n, 4)")),
    ],
    ids=str,
)
def test_what_cannot_line_up_is_violated(a_shape, b_shape, shown):
    b, a = shown
    evidence = (
        f"B {b} has neither one element nor the shape of the part of A's {a} that it must match"
    )
    assert judged(a_shape, b_shape) == ("violated", evidence)


def test_offence_tells_both_shapes():
    assert LimitedBroadcasting().violation((4, 5), (1, 5)) == Violation(
        "B (1, 5) has neither one element nor the shape of the part of A's (4, 5) that it must "
        "match"
    )


@pytest.mark.parametrize(
    "known", [{"shared_symbols": frozenset("n")}, {"scalar_inputs": True}], ids=str
)
def test_what_a_run_may_contradict_is_not_proved(known):
    assert judged(("m", "n"), ("n",), None, **known)[0] == "runtime"


SHAPES = [(), (1,), (0,), (2,), (3,), (1, 1), (1, 3), (2, 3), (3, 2), (2, 1), (2, 3, 2)]


@pytest.mark.satisfies(
    "Div.onnx.legacy.limited Div.onnx.legacy.one_element Div.onnx.legacy.contiguous",
    "Div.onnx.legacy.axis Div.onnx.legacy.one_dimension Div.onnx.legacy.result",
)
@pytest.mark.parametrize("axis", [None, -4, -3, -2, -1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("a", SHAPES, ids=str)
def test_every_verdict_is_that_of_the_documents_words(a, axis):
    for b in SHAPES:
        allowed = lines_up(a, b, axis) is not None
        assert (LimitedBroadcasting(axis).violation(a, b) is None) == allowed, b
        assert judged(a, b, axis)[0] == ("proved" if allowed else "violated"), b


@pytest.mark.parametrize("axis", [None, -4, -3, -2, -1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("a", SHAPES, ids=str)
def test_no_verdict_on_open_sizes_is_contradicted_by_a_run(a, axis):
    for b in SHAPES:
        verdict, _ = judged(
            tuple(f"a{i}" for i in range(len(a))), tuple(f"b{i}" for i in range(len(b))), axis
        )
        assert verdict in {"runtime", "violated" if lines_up(a, b, axis) is None else "proved"}, b

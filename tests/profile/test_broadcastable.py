"""A common shape for all operands, and what versions 1 and 6 line up."""

from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcasting import (
    SCALAR_INPUTS,
    LimitedBroadcasting,
    aligned_axes,
)
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand
from support.broadcasting import lines_up

E1, C1 = RULES["Broadcast.E1"].requirement, RULES["Broadcast.C1"].requirement
KEPT = "on each axis every size is the largest or 1"


def operands(*shapes, shared=()):
    return [
        Operand(f"X{i}", f"x{i}", "input", "float", shape, shared_symbols=frozenset(shared))
        for i, shape in enumerate(shapes)
    ]


def arrays(*shapes):
    return [np.zeros(shape) for shape in shapes]


@pytest.mark.parametrize(
    "shapes",
    [
        [()],
        [("n", 3)],
        [(), ()],
        [(2, 3), (3,)],
        [(2, 1), (1, 3)],
        [(2, 3), (), (1, 1, 1)],
        [(1,), (2, 1), (3, 1, 1)],
        [(0, 3), (0, 1)],
        [(0,), (0,)],
    ],
    ids=str,
)
def test_known_sizes_that_fit_are_a_proof(shapes):
    assert E1.judge(operands(*shapes)) == Judgement(Status.PROVED, KEPT)


@pytest.mark.parametrize(
    ("shapes", "evidence"),
    [
        ([None, (3,)], "the rank of X0 is unknown"),
        ([(3,), None, None], "the rank of X1 and X2 is unknown"),
        ([("n",), (3,)], "axis 0 is n against 3"),
        ([("n",), (1,)], "axis 0 is n against 1"),
        ([("n", 3), (3,)], "axis 0 is n against 1"),
        ([("n", 3), ("m", 3)], "axis 0 is n against m"),
        ([(2, "n"), (2, 3), ("m", 3)], "axis 0 is 2 against 2 against m"),
        ([(2, None), (2, 3)], "axis 1 is unknown against 3"),
        ([(0, "n"), (0, 1)], "axis 1 is n against 1"),
    ],
    ids=str,
)
def test_what_is_open_is_left_to_the_run(shapes, evidence):
    assert E1.judge(operands(*shapes)) == Judgement(Status.RUNTIME, evidence)


@pytest.mark.parametrize("shapes", [[("n",), ("n",)], [("n", 3), ("n", 1)]], ids=str)
def test_symbol_that_one_dimension_alone_is_declared_with_is_a_proof(shapes):
    assert E1.judge(operands(*shapes)) == Judgement(Status.PROVED, KEPT)


@pytest.mark.parametrize("shapes", [[("n",), ("n",)], [("n + m", 3), ("n + m", 1)]], ids=str)
def test_symbol_that_several_dimensions_are_declared_with_proves_nothing(shapes):
    assert E1.judge(operands(*shapes, shared={"n"})).status is Status.RUNTIME


def test_two_unknown_sizes_prove_nothing():
    assert E1.judge(operands((None,), (None,))).status is Status.RUNTIME


CLASHES = [
    ([(3,), (2,)], "axis 0 has size 3 in X0 and 2 in X1"),
    ([(0,), (1,)], "axis 0 has size 0 in X0 and 1 in X1"),
    ([(), (0,)], "axis 0 has size 1 in X0 (which has no such axis) and 0 in X1"),
    ([(0, 3), (3,)], "axis 0 has size 0 in X0 and 1 in X1 (which has no such axis)"),
    ([(0,), (3,)], "axis 0 has size 0 in X0 and 3 in X1"),
    ([(4, 3), (2,)], "axis 1 has size 3 in X0 and 2 in X1"),
    ([(2,), (5, 3)], "axis 1 has size 2 in X0 and 3 in X1"),
    ([(2,), (1,), (3,)], "axis 0 has size 2 in X0 and 3 in X2"),
    ([(1,), (2,), (3,)], "axis 0 has size 2 in X1 and 3 in X2"),
    ([(2, 2), (3, 3)], "axis 0 has size 2 in X0 and 3 in X1"),
]


@pytest.mark.parametrize(("shapes", "reason"), CLASHES, ids=str)
def test_known_sizes_that_clash_are_a_violation(shapes, reason):
    assert E1.judge(operands(*shapes)) == Judgement(Status.VIOLATED, reason)


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        ([("n", 3), ("n", 2)], "axis 1 has size 3 in X0 and 2 in X1"),
        ([(2,), (None,), (3,)], "axis 0 has size 2 in X0 and 3 in X2"),
        ([("n", 2), ("m", 1), ("k", 3)], "axis 1 has size 2 in X0 and 3 in X2"),
    ],
    ids=str,
)
def test_clash_is_a_violation_whatever_else_is_open(shapes, reason):
    assert E1.judge(operands(*shapes)) == Judgement(Status.VIOLATED, reason)


@pytest.mark.satisfies("Broadcast.condition_2", "Broadcast.errors")
@pytest.mark.parametrize(("shapes", "reason"), CLASHES, ids=str)
def test_arrays_that_clash_are_an_offence(shapes, reason):
    assert E1.violation(arrays(*shapes)) == Violation(reason)


@pytest.mark.parametrize(
    "shapes",
    [[()], [(0,)], [(), ()], [(0, 3), (0, 1)], [(2, 3), (3,), ()], [(2, 1), (1, 3)]],
    ids=str,
)
def test_arrays_that_fit_are_no_offence(shapes):
    assert E1.violation(arrays(*shapes)) is None


def test_hint_says_that_nothing_can_make_the_shapes_equal():
    assert E1.hint(operands((2, "n"), (3, 1))) == (
        "the shapes (2, n) and (3, 1) have no common shape; correct the model"
    )


@pytest.mark.satisfies("Broadcast.C1")
def test_type_of_each_output_is_proved_to_be_its_own_inputs():
    assert C1.judge(operands((2,), (3,))) == Judgement(
        Status.PROVED, "each output repeats the elements of its own input"
    )


@pytest.mark.parametrize(
    ("declared", "evidence"),
    [
        (["float", None], None),
        (["float", "double"], "Z1 is declared as double, and X1 is float"),
        (["float"], None),
    ],
)
def test_declared_type_of_each_output_is_compared_with_its_own_inputs(declared, evidence):
    results = [Operand(f"Z{i}", f"z{i}", "declared", kind) for i, kind in enumerate(declared)]
    expected = None if evidence is None else Judgement(Status.VIOLATED, evidence)
    assert C1.judge_results(operands((2,), (3,)), results) == expected


def test_shapes_of_inputs_that_are_declared_as_scalars_prove_nothing():
    scalars = [replace(operand, scalar_inputs=True) for operand in operands((2,), (2,))]
    assert E1.judge(scalars) == Judgement(Status.RUNTIME, SCALAR_INPUTS)


def test_no_shapes_have_no_axes():
    assert list(aligned_axes([])) == []


def test_no_run_can_break_the_rule_about_types():
    assert C1.violation(arrays((2,), (3,))) is None


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


OPEN = "whether B lines up with A is known only in a run"
UNKNOWN_RANK = "whether B lines up with A depends on a rank that is known only in a run"


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
    "Div.onnx.legacy.axis Div.onnx.legacy.one_dimension",
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

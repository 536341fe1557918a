"""A common shape for all operands: what is known before a run, what a run shows, and the hints."""

from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS, aligned_axes
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand

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

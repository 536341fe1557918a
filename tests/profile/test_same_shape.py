"""One shape for all operands: what is known before a run, what a run shows, and the hints."""

from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.requirements.shapes import SameShape
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand

SAME_SHAPE = ["Div.float.R1", "Div.int.R1", "Div.R1", "Sub.float.R1", "Sub.int.R1", "Sub.R1"]


def operands(a_shape, b_shape):
    return Operand("A", "a", "input", "float", a_shape), Operand(
        "B", "b", "input", "float", b_shape
    )


@pytest.mark.satisfies(
    "Div.typed.float.R1 Div.preliminary.R1 Div.preliminary.same_dimensions Sub.preliminary.R1",
    "Sub.preliminary.same_dimensions Div.typed.int",
)
@pytest.mark.parametrize(
    ("a", "b", "status", "evidence"),
    [
        ((), (), "proved", "both shapes are ()"),
        ((2, 3), (2, 3), "proved", "both shapes are (2, 3)"),
        ((0,), (0,), "proved", "both shapes are (0,)"),
        (("n",), ("n",), "proved", "both shapes are (n,)"),
        (("n",), (3,), "runtime", "axis 0 is n in A and 3 in B"),
        ((2, None), (2, 3), "runtime", "axis 1 is unknown in A and 3 in B"),
        ((None,), (None,), "runtime", "axis 0 is unknown in A and unknown in B"),
        (None, (3,), "runtime", "the rank of A is unknown"),
        ((3,), None, "runtime", "the rank of B is unknown"),
        (None, None, "runtime", "the rank of A and B is unknown"),
        ((3,), (), "violated", "rank 1 is not rank 0"),
        ((None,), (None, None), "violated", "rank 1 is not rank 2"),
        ((3,), (1,), "violated", "axis 0 has size 3 in A and 1 in B"),
        (("n", 4), ("n", 5), "violated", "axis 1 has size 4 in A and 5 in B"),
        ((0,), (1,), "violated", "axis 0 has size 0 in A and 1 in B"),
    ],
)
@pytest.mark.parametrize("rule_id", SAME_SHAPE)
def test_judgement(rule_id, a, b, status, evidence):
    judgement = RULES[rule_id].requirement.judge(operands(a, b))
    assert judgement == Judgement(Status(status), evidence)


@pytest.mark.parametrize(
    ("a", "b", "status", "evidence"),
    [
        ((2, 3), (2, 3), "proved", "both shapes are (2, 3)"),
        (("n",), ("n",), "proved", "both shapes are (n,)"),
        ((3,), (1,), "violated", "axis 0 has size 3 in A and 1 in B; ONNX would broadcast to (3,)"),
        ((2, 3), (3,), "violated", "rank 2 is not rank 1; ONNX would broadcast to (2, 3)"),
        ((3,), (4,), "violated", "axis 0 has size 3 in A and 4 in B"),
        (None, (1,), "runtime", "the rank of A is unknown"),
    ],
)
def test_judgement_of_the_rule_against_broadcasting(a, b, status, evidence):
    judgement = RULES["Div.R4"].requirement.judge(operands(a, b))
    assert judgement == Judgement(Status(status), evidence)


@pytest.mark.parametrize("rule_id", [*SAME_SHAPE, "Div.R4"])
def test_symbol_of_several_dimensions_proves_nothing(rule_id):
    pair = [replace(o, shared_symbols=frozenset({"n"})) for o in operands(("n",), ("n",))]
    judgement = RULES[rule_id].requirement.judge(pair)
    assert judgement == Judgement(
        Status.RUNTIME,
        "axis 0 is n in both, but several dimensions of the inputs are declared so, and ONNX "
        "Runtime does not require them to be equal",
    )


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("rule_id", [*SAME_SHAPE, "Div.R4"])
def test_equal_shapes_are_no_offence(rule_id, shape):
    assert RULES[rule_id].requirement.violation([np.zeros(shape), np.zeros(shape)]) is None


@pytest.mark.satisfies(
    "Div.typed.float.R1 Div.preliminary.R1 Div.preliminary.R1.operands Div.preliminary.R4",
    "Div.preliminary.same_dimensions Sub.preliminary.R1 Sub.preliminary.same_dimensions",
    "Div.typed.int",
)
@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ((3,), (1,), "the shapes (3,) and (1,) differ"),
        ((3,), (), "the shapes (3,) and () differ"),
        ((0,), (1,), "the shapes (0,) and (1,) differ"),
        ((0, 2), (0, 3), "the shapes (0, 2) and (0, 3) differ"),
        ((2, 3), (3, 2), "the shapes (2, 3) and (3, 2) differ"),
    ],
)
@pytest.mark.parametrize("rule_id", [*SAME_SHAPE, "Div.R4"])
def test_unequal_shapes_are_an_offence(rule_id, a, b, reason):
    violation = RULES[rule_id].requirement.violation([np.zeros(a), np.zeros(b)])
    assert violation == Violation(reason)


@pytest.mark.parametrize(
    ("shapes", "status", "evidence"),
    [
        ([None], "proved", "there is one operand"),
        ([(2,), (2,), (2,)], "proved", "all shapes are (2,)"),
        ([("n",), (3,), (4,)], "violated", "axis 0 has size 3 in X1 and 4 in X2"),
        ([(3,), None, ("n",)], "runtime", "the rank of X1 is unknown"),
        ([(3,), (3,), ("n",)], "runtime", "axis 0 is 3 in X0 and n in X2"),
    ],
)
def test_judgement_of_any_number_of_operands(shapes, status, evidence):
    several = [Operand(f"X{i}", f"x{i}", "input", "float", s) for i, s in enumerate(shapes)]
    assert SameShape().judge(several) == Judgement(Status(status), evidence)


@pytest.mark.parametrize("rule_id", [*SAME_SHAPE, "Div.R4"])
def test_shapes_of_inputs_that_are_declared_as_scalars_prove_nothing(rule_id):
    pair = [replace(o, scalar_inputs=True) for o in operands((2,), (2,))]
    judgement = RULES[rule_id].requirement.judge(pair)
    assert judgement == Judgement(Status.RUNTIME, SCALAR_INPUTS)


def test_one_operand_has_one_shape_whatever_inputs_are_declared_as():
    scalar = replace(operands((2,), (2,))[0], scalar_inputs=True)
    assert SameShape().judge([scalar]).status is Status.PROVED


@pytest.mark.parametrize("rule_id", SAME_SHAPE)
def test_declared_shape_of_each_result_is_compared_with_each_operands(rule_id):
    requirement = RULES[rule_id].requirement
    c, d = (replace(o, name=n) for n, o in zip("CD", operands((2, 3), (2, 4)), strict=True))
    assert requirement.judge_results(operands((2, "n"), None), [c, d]) is None
    expected = "D is declared with shape (2, 4), and B has (2, 3)"
    found = requirement.judge_results(operands((2, "n"), (2, 3)), [c, d])
    assert found == Judgement(Status.VIOLATED, expected)


def test_one_array_is_no_offence():
    assert SameShape().violation([np.zeros(2)]) is None


def test_hint_where_only_the_attribute_says_that_shapes_differ():
    assert SameShape().hint(operands((2, 3), (2, 3))) == "remove the attribute broadcast"


@pytest.mark.parametrize(
    ("a", "b", "hint"),
    [
        (
            (3,),
            (1,),
            'rewrite with broadcast="explicit", which inserts a Broadcast of B from (1,) to (3,)',
        ),
        (
            (2, 1),
            (3,),
            (
                'rewrite with broadcast="explicit", which inserts a Broadcast of '
                "A from (2, 1) to (2, 3) and B from (3,) to (2, 3)"
            ),
        ),
        ((3,), (4,), "the shapes cannot be broadcast to each other; correct the model"),
        (None, (4,), 'rewrite with broadcast="explicit", which inserts a Broadcast'),
    ],
)
@pytest.mark.parametrize("rule_id", [*SAME_SHAPE, "Div.R4"])
def test_hint(rule_id, a, b, hint):
    assert RULES[rule_id].requirement.hint(operands(a, b)) == hint

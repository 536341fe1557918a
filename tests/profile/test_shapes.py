"""One shape for all operands, or a common one: known before a run, seen in one, and the hints."""

from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcasting import aligned_axes
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import (
    Judgement,
    Requirement,
    Rule,
    Status,
    Violation,
    at_run_time,
    proved,
)
from sonnx_ort.terms.operand import Operand
from support.decisions import judged, violated

SAME_SHAPE = ["Div.float.R1", "Div.int.R1", "Div.R1", "Sub.float.R1", "Sub.int.R1", "Sub.R1"]

DECIDED = f"""
{" ".join(SAME_SHAPE)} Div.R4
  A (), B () -> proved: both shapes are ()
  A (2, 3), B (2, 3) -> proved: both shapes are (2, 3)
  A (0,), B (0,) -> proved: both shapes are (0,)
  A (n,), B (n,) -> proved: both shapes are (n,)
  A (n,), B (n,), shared n -> runtime: axis 0 is n in both, but several dimensions of the inputs are
      declared so, and ONNX Runtime does not require them to be equal
  A (2,), B (2,), scalars -> runtime: {{scalars}}
  A (n,), B (3,) -> runtime: axis 0 is n in A and 3 in B
  A (2, ?), B (2, 3) -> runtime: axis 1 is unknown in A and 3 in B
  A (?,), B (?,) -> runtime: axis 0 is unknown in A and unknown in B
  A ?, B (3,) -> runtime: the rank of A is unknown
  A (3,), B ? -> runtime: the rank of B is unknown
  A ?, B ? -> runtime: the rank of A and B is unknown
  A (n, 4), B (n, 5) -> violated: axis 1 has size 4 in A and 5 in B
{" ".join(SAME_SHAPE)}
  A (3,), B () -> violated: rank 1 is not rank 0
  A (?,), B (?, ?) -> violated: rank 1 is not rank 2
  A (3,), B (1,) -> violated: axis 0 has size 3 in A and 1 in B
  A (0,), B (1,) -> violated: axis 0 has size 0 in A and 1 in B
Div.R4
  A (3,), B (1,) -> violated: axis 0 has size 3 in A and 1 in B; ONNX would broadcast to (3,)
  A (2, 3), B (3,) -> violated: rank 2 is not rank 1; ONNX would broadcast to (2, 3)
  A (3,), B (4,) -> violated: axis 0 has size 3 in A and 4 in B
Max.float.R1
  X0 ? -> proved: there is one operand
  X0 (2,), scalars -> proved: there is one operand
  X0 (2,), X1 (2,), X2 (2,) -> proved: all shapes are (2,)
  X0 (n,), X1 (3,), X2 (4,) -> violated: axis 0 has size 3 in X1 and 4 in X2
  X0 (3,), X1 ?, X2 (n,) -> runtime: the rank of X1 is unknown
  X0 (3,), X1 (3,), X2 (n,) -> runtime: axis 0 is 3 in X0 and n in X2
Broadcast.E1
  X0 () -> proved: on each axis every size is the largest or 1
  X0 (n, 3) -> proved: on each axis every size is the largest or 1
  X0 (), X1 () -> proved: on each axis every size is the largest or 1
  X0 (2, 3), X1 (3,) -> proved: on each axis every size is the largest or 1
  X0 (2, 1), X1 (1, 3) -> proved: on each axis every size is the largest or 1
  X0 (2, 3), X1 (), X2 (1, 1, 1) -> proved: on each axis every size is the largest or 1
  X0 (1,), X1 (2, 1), X2 (3, 1, 1) -> proved: on each axis every size is the largest or 1
  X0 (0, 3), X1 (0, 1) -> proved: on each axis every size is the largest or 1
  X0 (0,), X1 (0,) -> proved: on each axis every size is the largest or 1
  X0 (n,), X1 (n,) -> proved: on each axis every size is the largest or 1
  X0 (n, 3), X1 (n, 1) -> proved: on each axis every size is the largest or 1
  X0 (n,), X1 (n,), shared n -> runtime: axis 0 is n against n
  X0 (2,), X1 (2,), scalars -> runtime: {{scalars}}
  X0 (?,), X1 (?,) -> runtime: axis 0 is unknown against unknown
  X0 ?, X1 (3,) -> runtime: the rank of X0 is unknown
  X0 (3,), X1 ?, X2 ? -> runtime: the rank of X1 and X2 is unknown
  X0 (n,), X1 (3,) -> runtime: axis 0 is n against 3
  X0 (n,), X1 (1,) -> runtime: axis 0 is n against 1
  X0 (n, 3), X1 (3,) -> runtime: axis 0 is n against 1
  X0 (n, 3), X1 (m, 3) -> runtime: axis 0 is n against m
  X0 (2, n), X1 (2, 3), X2 (m, 3) -> runtime: axis 0 is 2 against 2 against m
  X0 (2, ?), X1 (2, 3) -> runtime: axis 1 is unknown against 3
  X0 (0, n), X1 (0, 1) -> runtime: axis 1 is n against 1
  X0 (n, 3), X1 (n, 2) -> violated: axis 1 has size 3 in X0 and 2 in X1
  X0 (2,), X1 (?,), X2 (3,) -> violated: axis 0 has size 2 in X0 and 3 in X2
  X0 (n, 2), X1 (m, 1), X2 (k, 3) -> violated: axis 1 has size 2 in X0 and 3 in X2
"""

CLASHES = """
  X0 (3,), X1 (2,) -> axis 0 has size 3 in X0 and 2 in X1
  X0 (0,), X1 (1,) -> axis 0 has size 0 in X0 and 1 in X1
  X0 (), X1 (0,) -> axis 0 has size 1 in X0 (which has no such axis) and 0 in X1
  X0 (0, 3), X1 (3,) -> axis 0 has size 0 in X0 and 1 in X1 (which has no such axis)
  X0 (0,), X1 (3,) -> axis 0 has size 0 in X0 and 3 in X1
  X0 (4, 3), X1 (2,) -> axis 1 has size 3 in X0 and 2 in X1
  X0 (2,), X1 (5, 3) -> axis 1 has size 2 in X0 and 3 in X1
  X0 (2,), X1 (1,), X2 (3,) -> axis 0 has size 2 in X0 and 3 in X2
  X0 (1,), X1 (2,), X2 (3,) -> axis 0 has size 2 in X1 and 3 in X2
  X0 (2, 2), X1 (3, 3) -> axis 0 has size 2 in X0 and 3 in X1
"""
"""Known sizes without a common shape: told alike before a run and in one."""

RUNS = f"""
{" ".join(SAME_SHAPE)} Div.R4
  A (), B () -> kept
  A (0,), B (0,) -> kept
  A (3,), B (3,) -> kept
  A (2, 0, 3), B (2, 0, 3) -> kept
  A (1, 1), B (1, 1) -> kept
  A (2,) -> kept
  A (3,), B (1,) -> the shapes (3,) and (1,) differ
  A (3,), B () -> the shapes (3,) and () differ
  A (0,), B (1,) -> the shapes (0,) and (1,) differ
  A (0, 2), B (0, 3) -> the shapes (0, 2) and (0, 3) differ
  A (2, 3), B (3, 2) -> the shapes (2, 3) and (3, 2) differ
Broadcast.E1
  X0 () -> kept
  X0 (0,) -> kept
  X0 (), X1 () -> kept
  X0 (0, 3), X1 (0, 1) -> kept
  X0 (2, 3), X1 (3,), X2 () -> kept
  X0 (2, 1), X1 (1, 3) -> kept
{CLASHES.strip(chr(10))}
Broadcast.C1
  X0 (2,), X1 (3,) -> kept
"""


def operands(a_shape, b_shape, *names):
    return tuple(
        Operand(name, name.lower(), "input", "float", shape)
        for name, shape in zip(names or "AB", (a_shape, b_shape), strict=True)
    )


@pytest.mark.satisfies(
    "Div.typed.float.R1 Div.preliminary.R1 Div.preliminary.same_dimensions Sub.preliminary.R1",
    "Sub.preliminary.same_dimensions Div.typed.int Broadcast.prepended Broadcast.prepended.ones",
    "Broadcast.step_1.prepended Broadcast.condition_1 Sub.preliminary.R1.operands",
)
@pytest.mark.parametrize(
    ("requirement", "operands", "judgement"),
    [*judged(DECIDED), *judged(f"Broadcast.E1\n{CLASHES.replace('-> ', '-> violated: ')}")],
)
def test_judgement(requirement: Requirement, operands: list[Operand], judgement: Judgement) -> None:
    assert requirement.judge(operands) == judgement


@pytest.mark.satisfies(
    "Div.typed.float.R1 Div.preliminary.R1 Div.preliminary.R1.operands Div.preliminary.R4",
    "Div.preliminary.same_dimensions Sub.preliminary.R1 Sub.preliminary.same_dimensions",
    "Div.typed.int Broadcast.condition_2 Broadcast.errors",
)
@pytest.mark.parametrize(("requirement", "arrays", "violation"), violated(RUNS))
def test_violation(
    requirement: Requirement, arrays: list[np.ndarray], violation: Violation | None
) -> None:
    assert requirement.violation(arrays) == violation


@pytest.mark.satisfies("sonnx_ort/profile/requirements/same_shape.py:SameShape")
@pytest.mark.parametrize(
    "rule", [r for r in RULES.values() if isinstance(r.requirement, SameShape)], ids=lambda r: r.id
)
def test_each_other_shape_of_an_operand_and_of_a_result_is_violated(rule: Rule) -> None:
    names, other = ("A", "B"), ((2,), (2, 1), (2, 4), (3, 3), ())
    same, result = operands((2, 3), (2, 3)), operands((2, 3), (2, 3), "C", "D")[:1]
    assert rule.judge(names, same, result)[0].status is Status.PROVED
    for shape in other:
        assert rule.judge(names, operands((2, 3), shape))[0].status is Status.VIOLATED
        declared = [replace(result[0], shape=shape)]
        assert rule.judge(names, same, declared)[0].status is Status.VIOLATED
        assert rule.violation(names, [np.zeros((2, 3)), np.zeros(shape)]) is not None
    assert rule.violation(names, [np.zeros((2, 3)), np.ones((2, 3))]) is None


def test_formula_of_a_symbol_of_several_dimensions_proves_nothing():
    shared = [
        replace(o, shared_symbols=frozenset("n")) for o in operands(("n + m", 3), ("n + m", 1))
    ]
    assert RULES["Broadcast.E1"].requirement.judge(shared).status is Status.RUNTIME


def test_no_shapes_have_no_axes():
    assert list(aligned_axes([])) == []


@pytest.mark.satisfies("Broadcast.C1")
def test_type_of_each_output_is_proved_to_be_its_own_inputs():
    assert RULES["Broadcast.C1"].requirement.judge(operands((2,), (3,))) == Judgement(
        Status.PROVED, "each output repeats the elements of its own input"
    )


@pytest.mark.satisfies("Broadcast.restrictions")
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
    requirement = RULES["Broadcast.C1"].requirement
    assert requirement.judge_results(operands((2,), (3,), "X0", "X1"), results) == expected


@pytest.mark.parametrize("rule_id", SAME_SHAPE)
def test_declared_shape_of_each_result_is_compared_with_each_operands(rule_id):
    requirement = RULES[rule_id].requirement
    c, d = (replace(o, name=n) for n, o in zip("CD", operands((2, 3), (2, 4)), strict=True))
    assert requirement.judge_results(operands((2, "n"), None), [c, d]) is None
    expected = "D is declared with shape (2, 4), and B has (2, 3)"
    found = requirement.judge_results(operands((2, "n"), (2, 3)), [c, d])
    assert found == Judgement(Status.VIOLATED, expected)


def test_hint_where_only_the_attribute_says_that_shapes_differ():
    assert SameShape().hint(operands((2, 3), (2, 3))) == "remove the attribute broadcast"


@pytest.mark.parametrize(
    ("a", "b", "hint"),
    [
        (
            (3,),
            (1,),
            'rewrite with broadcast="explicit", which expands B from (1,) to (3,)',
        ),
        (
            (2, 1),
            (3,),
            (
                'rewrite with broadcast="explicit", which expands '
                "A from (2, 1) to (2, 3) and B from (3,) to (2, 3)"
            ),
        ),
        ((3,), (4,), "the shapes cannot be broadcast to each other; correct the model"),
        (None, (4,), 'rewrite with broadcast="explicit", which expands the operands'),
    ],
)
@pytest.mark.parametrize("rule_id", [*SAME_SHAPE, "Div.R4"])
def test_hint(rule_id, a, b, hint):
    assert RULES[rule_id].hint(operands(a, b)) == hint


def test_hint_says_that_nothing_can_make_the_shapes_equal():
    assert RULES["Broadcast.E1"].hint(operands((2, "n"), (3, 1))) == (
        "the shapes (2, n) and (3, 1) have no common shape; correct the model"
    )


ALIKE = "all are computed element by element of one value, whose rank is unknown"

OF_UNKNOWN_RANK = {
    "of one value": (["A", "A"], proved(ALIKE)),
    "of three, of one value": (["A", "A", "A"], proved(ALIKE)),
    "of two values": (["A", "B"], at_run_time("the rank of X0 and X1 is unknown")),
    "of nothing that is known": ([None, None], at_run_time("the rank of X0 and X1 is unknown")),
    "of one that is known": (["A", None], at_run_time("the rank of X0 and X1 is unknown")),
}


@pytest.mark.parametrize("name", OF_UNKNOWN_RANK)
def test_operands_of_unknown_rank_are_alike_if_they_are_of_one_value(name: str) -> None:
    texts, expected = OF_UNKNOWN_RANK[name]
    operands = [Operand(f"X{k}", "v", "node", "float", alike=t) for k, t in enumerate(texts)]
    assert SameShape().judge(operands) == expected

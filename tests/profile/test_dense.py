"""No sparse tensors."""

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.rule import Judgement, Status
from sonnx_ort.terms.operand import Operand

DENSE = ["GR1", "Div.float.RG1", "Div.int.RG1", "Div.R2", "Sub.float.RG1", "Sub.int.RG1", "Sub.R2"]


def operands(a_sparse, b_sparse):
    return (
        Operand("A", "a", "input", sparse=a_sparse),
        Operand("B", "w", "initializer", sparse=b_sparse),
    )


@pytest.mark.satisfies("Div.typed.float.RG1 Div.preliminary.R2 Sub.preliminary.R2 Div.typed.int")
@pytest.mark.parametrize(
    ("a", "b", "status", "evidence"),
    [
        (False, False, "proved", "all operands are dense"),
        (True, False, "violated", "A 'a' is sparse"),
        (False, True, "violated", "B 'w' is sparse"),
        (True, True, "violated", "A 'a' and B 'w' are sparse"),
    ],
)
@pytest.mark.parametrize("rule_id", DENSE)
def test_judgement(rule_id, a, b, status, evidence):
    judgement = RULES[rule_id].requirement.judge(operands(a, b))
    assert judgement == Judgement(Status(status), evidence)


@pytest.mark.satisfies("sonnx_ort/profile/requirements/attributes.py:Dense")
@pytest.mark.parametrize(
    "rule", [r for r in RULES.values() if isinstance(r.requirement, Dense)], ids=lambda r: r.id
)
def test_each_sparse_operand_and_result_is_violated(rule):
    names = ("A", "B")
    dense = operands(False, False)
    for tensors in (operands(True, False), operands(False, True)):
        assert rule.judge(names, tensors)[0].status is Status.VIOLATED
        assert rule.judge(names, dense, tensors)[0].status is Status.VIOLATED
    assert rule.judge(names, dense, dense)[0].status is Status.PROVED


@pytest.mark.parametrize("rule_id", DENSE)
def test_result_that_is_declared_sparse_is_violated(rule_id):
    requirement = RULES[rule_id].requirement
    dense, sparse = operands(False, True)
    assert requirement.judge_results([sparse], [dense]) is None
    expected = Judgement(Status.VIOLATED, "B 'w' is sparse")
    assert requirement.judge_results([dense], [dense, sparse]) == expected


@pytest.mark.parametrize("rule_id", DENSE)
def test_arrays_are_never_an_offence(rule_id):
    assert RULES[rule_id].requirement.violation([np.zeros(2), np.zeros(3)]) is None


@pytest.mark.parametrize("rule_id", DENSE)
def test_hint(rule_id):
    hint = RULES[rule_id].hint(operands(True, False))
    assert hint == "store the tensor densely"

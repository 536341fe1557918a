"""The examples of rules keep and break them, where they say all that decides."""

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.attributes import SameNumericType
from sonnx_ort.profile.rule import Attributes, Rule, Status
from sonnx_ort.suite.examples import read
from sonnx_ort.terms.operand import Operand

Example = tuple[list[Operand], Attributes]

OPEN = {"BatchNormalization.scale.C1", "Cast.float.C1", "Slice.C2", "Slice.R6", "Slice.R8"}
"""The rules whose examples leave out operands or attributes that decide too."""


def readable() -> list[object]:
    cases = []
    for rule in RULES.values():
        example = rule.requirement.example
        # A test of its own has those about types.
        if isinstance(rule.requirement, SameNumericType) or rule.id in OPEN:
            continue
        try:
            cases.append(pytest.param(rule, read(example.kept), read(example.broken), id=rule.id))
        except ValueError:
            continue
    return cases


def test_many_examples_are_read() -> None:
    assert len(readable()) > 150


@pytest.mark.parametrize(("rule", "kept", "broken"), readable())
def test_example_keeps_and_breaks_its_rule(rule: Rule, kept: Example, broken: Example) -> None:
    def status(operands: list[Operand], attributes: Attributes) -> Status:
        bound = [o for o in operands if rule.operands is None or o.name in rule.operands]
        return rule.of_node(attributes).requirement.judge(bound).status

    assert (status(*kept), status(*broken)) == (Status.PROVED, Status.VIOLATED)

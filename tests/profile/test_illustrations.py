"""The examples of rules keep and break them, where they name shapes and attributes alone."""

import ast
import re

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Attributes, Rule, Status
from sonnx_ort.terms.operand import Operand

Example = tuple[list[Operand], Attributes]

_OPERAND = re.compile(r"(\w+) (\((?:\d+(?:, \d+)*,?)?\))")
_ATTRIBUTE = re.compile(r"(\w+)=(\[[^\]]*\]|\"\w+\"|-?\d+(?:\.\d+)?)")
_PART = re.compile(rf"{_OPERAND.pattern}|{_ATTRIBUTE.pattern}")


def read(example: str) -> Example | None:
    """The operands by their shapes, and the attributes; None if it has anything else."""
    if re.sub(r"[,\s]", "", _PART.sub("", example)):
        return None
    operands = [
        Operand(name, name, "input", "float", ast.literal_eval(shape))
        for name, shape in _OPERAND.findall(example)
    ]
    said = {name: ast.literal_eval(value) for name, value in _ATTRIBUTE.findall(example)}
    return operands, {n: tuple(v) if isinstance(v, list) else v for n, v in said.items()}


def readable() -> list[object]:
    cases = []
    for rule in RULES.values():
        kept, broken = (
            read(e) for e in (rule.requirement.example.kept, rule.requirement.example.broken)
        )
        if kept is not None and broken is not None:
            cases.append(pytest.param(rule, kept, broken, id=rule.id))
    return cases


def test_many_examples_are_read() -> None:
    assert len(readable()) > 100


@pytest.mark.parametrize(("rule", "kept", "broken"), readable())
def test_example_keeps_and_breaks_its_rule(rule: Rule, kept: Example, broken: Example) -> None:
    def status(operands: list[Operand], attributes: Attributes) -> Status:
        bound = [o for o in operands if rule.operands is None or o.name in rule.operands]
        return rule.of_node(attributes).requirement.judge(bound).status

    assert (status(*kept), status(*broken)) == (Status.PROVED, Status.VIOLATED)

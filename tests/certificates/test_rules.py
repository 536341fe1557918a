"""What the checker concludes of each rule is what the profile demands."""

from collections.abc import Mapping
from typing import Any

import onnx
import pytest

from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.kernel.checker import Rejected, rules
from sonnx_ort.kernel.checker.node import Node
from sonnx_ort.kernel.checker.reading import VERSIONS
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import HeldByRuntime
from sonnx_ort.profile.requirements.same_type import SameNumericType

OF_OPERATORS = {rule.id for operator in OPERATORS.values() for rule in operator.all_rules()}

NOT_CONCLUDED = {
    "Pow.int.C2": "powers are computed in a run",
    "Softmax.float.C6": "whole lines are looked at in a run",
}
"""The rules of operators that the checker concludes of no node."""


def test_every_rule_of_an_operator_can_be_concluded_but_for_a_few() -> None:
    assert OF_OPERATORS - rules.RULES.keys() - rules.HELD == {*NOT_CONCLUDED}


def test_every_rule_of_the_checker_is_one_of_an_operator() -> None:
    assert (rules.RULES.keys() | rules.HELD) - OF_OPERATORS == set()


def test_runtime_holds_what_the_profile_says_it_holds() -> None:
    held = {r for r in OF_OPERATORS if isinstance(RULES[r].requirement, HeldByRuntime)}
    assert held == rules.HELD


class OfType:
    """A model of a version in which every value has one type."""

    def __init__(self, element_type: str, version: int) -> None:
        self.version = version
        self._type = element_type

    def known(self, kind: str, value: str) -> Any:
        del value
        assert kind == "type"
        return self._type


def takes(operator: str, version: int, family: Family) -> bool:
    """Whether a version of an operator takes a type of a family; of one that there is not, any."""
    if not operator_version(operator, version):
        return True
    schema = onnx.defs.get_schema(operator, version)
    types = {text for each in schema.type_constraints for text in each.allowed_type_strs}
    return any(f"tensor({kind})" in types for kind in ElementType if kind.family is family)


@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("operator", OPERATORS)
def test_rules_bind_a_node_that_the_profile_binds(operator: str, edition: Edition) -> None:
    node = onnx.helper.make_node(operator, ["a", "b", "c"], ["y"])
    for family, contract in OPERATORS[operator].contracts[edition].items():
        element_type = next(str(kind) for kind in ElementType if kind.family is family)
        for version in VERSIONS:
            if not takes(operator, version, family):
                continue
            bound = {rule.id for rule in contract if rule.binds_version(version)}
            model: Any = OfType(element_type, version)
            assert rules.rules_of(Node(node, model), edition.value) == bound, (family, version)


TYPES: Mapping[str, SameNumericType] = {
    rule: requirement
    for rule in sorted(OF_OPERATORS)
    if isinstance(requirement := RULES[rule].requirement, SameNumericType)
}
FAMILIES = {"float": Family.FLOAT, "int": Family.INTEGER, "bool": Family.BOOLEAN}


class Typed:
    """A model of which the types of values alone are known: what their names begin with."""

    version = 13

    def known(self, kind: str, value: str) -> Any:
        assert kind == "type"
        return value.partition(" ")[0]


def is_concluded(rule: str, *operands: str) -> bool:
    node = onnx.helper.make_node(rule.partition(".")[0], operands, ["y"])
    try:
        rules.conclude(Node(node, Typed()), rule)  # type: ignore[arg-type]
    except Rejected:
        return False
    return True


def operands_of(rule: str, element_type: str) -> list[str]:
    """The operands of a node, those of the rule in one type and others in another."""
    operator = OPERATORS[rule.partition(".")[0]]
    names = operator.operands or ("X0", "X1")
    bound = RULES[rule].operands or names
    return [f"{element_type if name in bound else 'string'} {name}" for name in names]


@pytest.mark.parametrize("rule", TYPES)
def test_types_are_admitted_that_the_profile_admits(rule: str) -> None:
    family = FAMILIES.get(rule.split(".")[1])
    kinds = TYPES[rule].kinds or tuple(ElementType)
    admitted = {str(kind) for kind in kinds if family in (None, kind.family)}
    found = {str(k) for k in ElementType if is_concluded(rule, *operands_of(rule, str(k)))}
    assert found == admitted


@pytest.mark.parametrize("rule", TYPES)
def test_types_have_to_be_the_same(rule: str) -> None:
    admitted = next(k for k in ElementType if is_concluded(rule, *operands_of(rule, str(k))))
    operands = operands_of(rule, str(admitted))
    places = [place for place, name in enumerate(operands) if not name.startswith("string")]
    if len(places) > 1:
        operands[places[-1]] = "string of another type"
        assert not is_concluded(rule, *operands)

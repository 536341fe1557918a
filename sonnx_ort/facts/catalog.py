"""What the table of operators says of a node, if its version and its attributes are verified."""

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from .node import BoundsRule, ElementsRule, IntervalRule, Node, Rules, of_open_rank
from .operators import RULES
from .schemas import operator_schema
from .sizes import Rejected, require

Rule = TypeVar("Rule")


def _column(of: Callable[[Rules], Rule | None]) -> Mapping[str, Rule]:
    """The operators that have a rule of one kind."""
    found = ((name, of(rules)) for name, rules in RULES.items())
    return {name: rule for name, rule in found if rule is not None}


SHAPE_RULES: Mapping[str, Rules] = {
    name: rules for name, rules in RULES.items() if rules.shapes is not of_open_rank
}
ELEMENT_RULES: Mapping[str, ElementsRule] = _column(lambda rules: rules.elements)
BOUNDS_RULES: Mapping[str, BoundsRule] = _column(lambda rules: rules.bounds)
INTERVAL_RULES: Mapping[str, IntervalRule] = _column(lambda rules: rules.interval)
"""The rules of one kind, by operator."""


@functools.cache
def operator_version(name: str, version: int) -> int:
    """The version of a standard operator in a version of the opset; 0 if it does not exist."""
    schema = operator_schema(name, version)
    return 0 if schema is None else int(schema.since_version)


def verified_rule(node: Node) -> Rules | None:
    """The same as `rule_of`; None if there is no such rule."""
    try:
        return rule_of(node)
    except Rejected:
        return None


def rule_of(node: Node) -> Rules:
    """The verified rules for a node of a standard operator that has one of shapes.

    Raises:
        Rejected: There are none, or not for its version or attributes.
    """
    return _rule_of_verified(SHAPE_RULES, node, "a {} has no rule")


def elements_rule(node: Node) -> ElementsRule:
    """The verified rule of elements for a node; it raises `Rejected` if there is none."""
    return _rule_of_verified(ELEMENT_RULES, node, "the elements of a {} have no rule")


def bounds_rule(node: Node) -> BoundsRule:
    """The verified rule of bounds for a node; it raises `Rejected` if there is none."""
    return _rule_of_verified(BOUNDS_RULES, node, "the bounds of a {} have no rule")


def interval_rule(node: Node) -> IntervalRule:
    """The verified rule of intervals for a node; it raises `Rejected` if there is none."""
    return _rule_of_verified(INTERVAL_RULES, node, "the interval of a {} has no rule")


def _rule_of_verified(rules: Mapping[str, Rule], node: Node, none: str) -> Rule:
    require(node.op_type in rules, none.format(node.op_type))
    RULES[node.op_type].require_verified(node)
    return rules[node.op_type]

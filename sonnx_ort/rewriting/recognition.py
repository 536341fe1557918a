"""Tells nodes that `rewrite` made from nodes that only look like it."""

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.domain import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.failure_channel import guard_name


def recognize_enforced_nodes(model: ir.Model, edition: Edition) -> None:
    """Check that every node in the domain `sonnx` is enforced exactly as `rewrite` does it.

    Args:
        model: A canonical model.
        edition: The edition that the caller wants enforced.

    Raises:
        InvalidModel: A node's result can be reached around its guard, or the guard is not the one
            that belongs to it.
        SonnxError: A node is enforced already, under the other edition.
    """
    for node in RecursiveGraphIterator(model.graph):
        if node.domain == DOMAIN:
            reason = _difference(node)
            if reason is not None:
                raise InvalidModel(
                    f"node '{node.name}' lies in the domain '{DOMAIN}' but is not what rewrite "
                    f"makes: {reason}; use the standard operator, and rewrite will enforce it"
                )
            enforced = node.attributes["edition"].as_string()
            if enforced != edition:
                raise SonnxError(
                    f"node '{node.name}' is enforced already, under the edition '{enforced}'; "
                    f"rewrite the original model to have it under '{edition}'"
                )


def _difference(node: ir.Node) -> str | None:
    """What keeps a node from being an enforced one; None if nothing does."""
    operator = OPERATORS.get(node.op_type)
    if operator is None:
        return f"there is no operator '{node.op_type}' in that domain"
    if len(node.inputs) != len(operator.operands) or None in node.inputs or len(node.outputs) != 2:
        return f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs"
    attributes = node.attributes.values()
    # A string that is not UTF-8 is given as bytes; it would end the process in a kernel.
    texts = {a.name for a in attributes if a.type == ir.AttributeType.STRING and _is_text(a)}
    if texts != {"node", "edition"} or len(attributes) != len(texts):
        return "its attributes are not 'node' and 'edition', both strings"
    if node.attributes["edition"].as_string() not in [edition.value for edition in Edition]:
        return f"there is no edition '{node.attributes['edition'].as_string()}'"
    return _unguarded(node, operator)


def _unguarded(node: ir.Node, operator: Operator) -> str | None:
    result, shape = node.outputs
    uses = [*result.uses(), *shape.uses()]
    if result.is_graph_output() or shape.is_graph_output() or len(uses) != 2:
        return "its outputs can be reached around the guard"
    guard = uses[0].node
    if guard is not uses[1].node or (uses[0].idx, uses[1].idx) != (0, 1):
        return "its outputs do not meet in one guard"
    if (guard.domain, guard.op_type) != (STANDARD_DOMAIN, "Reshape") or guard.attributes:
        return f"its guard is {guard.op_type}, not a plain Reshape"
    if guard.name not in _possible_names(node, operator):
        return "its guard does not bear its name"
    return None


def _is_text(attribute: ir.Attr) -> bool:
    return isinstance(attribute.value, str)


def _possible_names(node: ir.Node, operator: Operator) -> set[str]:
    edition = Edition(node.attributes["edition"].as_string())
    label = node.attributes["node"].as_string()
    by_family: list[tuple[Rule, ...]] = [operator.rules(edition, family) for family in Family]
    unknown_family = tuple(dict.fromkeys(rule for rules in by_family for rule in rules))
    return {guard_name(operator.name, label, rules) for rules in (*by_family, unknown_family)}

"""Tells nodes that `rewrite` made from nodes that only look like it."""

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.custom_ops.catalog import KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.failure_channel import guard_name

_DEFINITIONS = {definition.name: definition for definition in KERNEL_DEFINITIONS}


def recognize_enforced_nodes(model: ir.Model, edition: Edition) -> None:
    """Check that every node in the domain `sonnx` is enforced exactly as `rewrite` does it.

    A Broadcast is a model's own, and still to be enforced.

    Args:
        model: A canonical model.
        edition: The edition that the caller wants enforced.

    Raises:
        InvalidModel: A node's result can be reached around its guard, or the guard is not the one
            that belongs to it.
        SonnxError: A node is enforced already, under the other edition.
    """
    for node in RecursiveGraphIterator(model.graph):
        if node.domain != DOMAIN or node.op_type == BROADCAST.name:
            continue
        reason = _difference(node)
        if reason is not None:
            raise InvalidModel(
                f"node '{node.name}' lies in the domain '{DOMAIN}' but is not what rewrite "
                f"makes: {reason}; use the standard operator, and rewrite will enforce it"
            )
        enforced = _text(node, "edition")
        if enforced not in (None, edition):
            raise SonnxError(
                f"node '{node.name}' is enforced already, under the edition '{enforced}'; "
                f"rewrite the original model to have it under '{edition}'"
            )


def _difference(node: ir.Node) -> str | None:
    """What keeps a node from being an enforced one; None if nothing does."""
    definition = _DEFINITIONS.get(node.op_type)
    if definition is None:
        return f"there is no operator '{node.op_type}' in that domain"
    if len(node.inputs) != len(definition.inputs) or None in node.inputs or len(node.outputs) != 2:
        return f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs"
    texts = {name for name in node.attributes if _text(node, name) is not None}
    if texts != set(definition.attributes) or len(node.attributes) != len(texts):
        wanted = " and ".join(f"'{name}'" for name in definition.attributes)
        return f"its attributes are not {wanted}, both strings"
    edition = _text(node, "edition")
    if edition not in (None, *(known.value for known in Edition)):
        return f"there is no edition '{edition}'"
    return _unguarded(node, definition)


def _unguarded(node: ir.Node, definition: KernelDefinition) -> str | None:
    result, shape = node.outputs
    uses = [*result.uses(), *shape.uses()]
    if result.is_graph_output() or shape.is_graph_output() or len(uses) != 2:
        return "its outputs can be reached around the guard"
    guard = uses[0].node
    if guard is not uses[1].node or (uses[0].idx, uses[1].idx) != (0, 1):
        return "its outputs do not meet in one guard"
    if (guard.domain, guard.op_type) != (STANDARD_DOMAIN, "Reshape") or guard.attributes:
        return f"its guard is {guard.op_type}, not a plain Reshape"
    if guard.name not in _possible_names(node, definition):
        return "its guard does not bear its name"
    return None


def _text(node: ir.Node, name: str) -> str | None:
    """A string attribute; None if there is none, or one that is no text.

    A string that is not UTF-8 is given as bytes; it would end the process in a kernel.
    """
    attribute = node.attributes.get(name)
    if attribute is None or attribute.type != ir.AttributeType.STRING:
        return None
    return attribute.value if isinstance(attribute.value, str) else None


def _possible_names(node: ir.Node, definition: KernelDefinition) -> set[str]:
    """The guard's name for each family that the operands' type may be of, or for all of them."""
    operator = definition.operator
    label = _text(node, "node") or ""
    edition = Edition(_text(node, "edition") or Edition.TYPED)
    by_family: list[tuple[Rule, ...]] = [operator.rules(edition, family) for family in Family]
    unknown_family = tuple(dict.fromkeys(rule for rules in by_family for rule in rules))
    return {guard_name(operator.name, label, rules) for rules in (*by_family, unknown_family)}

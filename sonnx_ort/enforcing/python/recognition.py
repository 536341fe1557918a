"""Tells nodes that `rewrite` made from nodes that only look like it."""

from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.custom_ops.broadcast import ALIGNED_SHAPE
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS, KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.inspection import LEFT_OUT, Inspection
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.obligations.targets import EnforcedNode, attribute_texts, nodes_with_paths
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule, Subject

_NARROW = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
"""The types of which float holds every number."""

_DEFINITIONS = {definition.name: definition for definition in KERNEL_DEFINITIONS}

_EARLIER_NAMES = frozenset({*CUSTOM_OPERATORS, "CastOperand"})
"""The names that custom operators had while they bore those of the standard ones."""


def recognize_enforced_nodes(model: ir.Model, edition: Edition) -> tuple[EnforcedNode, ...]:
    """Find the nodes that are enforced, exactly as `rewrite` does it, and refuse imitations.

    A Broadcast is a model's own, and still to be enforced.

    Args:
        model: A canonical model.
        edition: The edition that the model is held to.

    Returns:
        The enforced nodes, in the order of the graph.

    Raises:
        InvalidModel: A node's result can be reached around its guard, or the guard is not the one
            that belongs to it.
        SonnxError: A node is enforced already, under the other edition.
    """
    enforced = [
        replace(_recognize(node, edition), path=path)
        for node, path in nodes_with_paths(model)
        if node.domain == DOMAIN and node.op_type != BROADCAST.name
    ]
    # What lines operands up decides a rule of the node that reads them, which is there as well.
    return tuple(e for e in enforced if e.node.op_type != ALIGNED_SHAPE.name)


def _recognize(node: ir.Node, edition: Edition) -> EnforcedNode:
    if node.op_type in _EARLIER_NAMES:
        raise InvalidModel(
            f"node '{node.name}' is {DOMAIN}::{node.op_type}, as an earlier version of rewrite "
            "made it, whose result ONNX Runtime may take for a shape; rewrite the original model "
            "again"
        )
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
    operator = _operator(node)
    label = str(_text(node, "node"))
    (guard,) = node.outputs[0].consumers()
    rules = _rules_by_name(node)[str(guard.name)]
    decided = tuple(rule for rule in rules if rule.in_run)
    return EnforcedNode(
        node,
        operator,
        label,
        decided,
        None if enforced is None else edition,
        _computing_node(node, guard, operator, decided),
    )


def _computing_node(
    node: ir.Node, guard: ir.Node, operator: Operator, rules: Sequence[Rule]
) -> ir.Node | None:
    """The standard node that computes on what a custom operator has looked at, and nothing else."""
    custom = CUSTOM_OPERATORS.get(operator.name)
    if isinstance(custom, Inspection):
        return _inspected_node(node, guard, operator)
    if custom is None or custom.arithmetic is not None:
        return None
    position = custom.handed_on
    cast = _cast_back(_only_reader(guard, 0))
    reader = _only_reader(cast or guard, position)
    if reader is None or (reader.domain, reader.op_type) != (operator.domain, operator.name):
        return None
    # A Cast keeps shapes, and may change elements.
    by_shapes = all(rule.requirement.subject is not Subject.ELEMENTS for rule in rules)
    looked_at = _operands(node, operator)
    texts = attribute_texts(reader, operator)
    if any(_text(node, name) != text for name, text in texts.items()):
        return None
    if len(reader.inputs) != len(looked_at):
        return None
    names = operator.operand_names(len(looked_at))
    others = [
        (read, {value, _source(value, "Cast")} if by_shapes else {value}, name in operator.single)
        for read, value, name in zip(reader.inputs, looked_at, names, strict=True)
    ]
    del others[position]
    # What an Expand gave is what the standard node broadcasts its operand to.
    alike = all(
        read in values or (single and read in {_source(value, "Expand") for value in values})
        for read, values, single in others
    )
    return reader if alike else None


def _inspected_node(node: ir.Node, guard: ir.Node, operator: Operator) -> ir.Node | None:
    """The standard node whose first operand has the shape that a custom operator gave."""
    reshape = _only_reader(guard, 1)
    reader = None if reshape is None else _only_reader(reshape, 0)
    if reshape is None or reader is None:
        return None
    if (reader.domain, reader.op_type) != (operator.domain, operator.name):
        return None
    texts = attribute_texts(reader, operator)
    if any(_text(node, name) != text for name, text in texts.items()):
        return None
    read = dict(zip(operator.operands, (reshape.inputs[0], *reader.inputs[1:]), strict=False))
    inputs = (value for value in node.inputs if value is not None)
    alike = all(
        _looked_at(looked_at, read.get(name), by_shape=name in operator.by_shape)
        for name, looked_at in zip(operator.looked_at, inputs, strict=True)
    )
    return reader if alike else None


def _looked_at(looked_at: ir.Value, read: ir.Value | None, *, by_shape: bool) -> bool:
    """Whether a custom operator has looked at what a standard node reads, or at a wider form."""
    if not by_shape:
        node = None if read is None else _cast_back(read.producer())
        return looked_at in {read, node and node.inputs[0]}
    if read is None:
        tensor = constant_tensor(looked_at)
        return tensor is not None and tensor.numpy().tolist() == [LEFT_OUT]
    return _shaped(looked_at) is read


def _only_reader(node: ir.Node, position: int) -> ir.Node | None:
    """What reads the output of a node at a position of its inputs, if nothing else does."""
    uses = list(node.outputs[0].uses())
    alone = len(uses) == 1 and uses[0].idx == position and not node.outputs[0].is_graph_output()
    return uses[0].node if alone else None


def _cast_back(node: ir.Node | None) -> ir.Node | None:
    if node is None or (node.domain, node.op_type) != (STANDARD_DOMAIN, "Cast"):
        return None
    return node if node.attributes["to"].as_int() in _NARROW else None


def _operands(node: ir.Node, operator: Operator) -> Sequence[ir.Value | None]:
    """What a custom operator looks at, before it is put into one vector; nothing if it is not."""
    if operator.repeated_operand is None:
        return node.inputs
    elements, sizes, ranks = (_concatenated(value) for value in node.inputs)
    operands = [_source(value, "Reshape") for value in elements]
    of_sizes = [_shaped(value) for value in sizes]
    of_ranks = [_shaped(_shaped(value)) for value in ranks]
    return operands if operands == of_sizes == of_ranks else ()


def _concatenated(value: ir.Value | None) -> Sequence[ir.Value | None]:
    node = _producer(value, "Concat")
    return () if node is None else node.inputs


def _shaped(value: ir.Value | None) -> ir.Value | None:
    """What a value is the whole shape of."""
    node = _producer(value, "Shape")
    start = None if node is None else node.attributes.get("start")
    if node is None or "end" in node.attributes or (start is not None and start.value != 0):
        return None
    return node.inputs[0]


def _source(value: ir.Value | None, operator: str) -> ir.Value | None:
    """The first operand of what gives a value, if that is an operator."""
    node = _producer(value, operator)
    return None if node is None else node.inputs[0]


def _producer(value: ir.Value | None, operator: str) -> ir.Node | None:
    node = None if value is None else value.producer()
    if node is None or (node.domain, node.op_type) != (STANDARD_DOMAIN, operator):
        return None
    return node


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
        return f"its attributes are not {wanted}, all strings"
    if _text(node, "operator") not in (None, *OPERATORS):
        return f"there is no operator '{_text(node, 'operator')}' in the profile"
    edition = _text(node, "edition")
    if edition not in (None, *(known.value for known in Edition)):
        return f"there is no edition '{edition}'"
    return _unguarded(node)


def _unguarded(node: ir.Node) -> str | None:
    result, shape = node.outputs
    uses = [*result.uses(), *shape.uses()]
    given_out = any(value.is_graph_output() for value in (result, shape))
    if given_out or len(uses) != 2:
        return "its outputs can be reached around the guard"
    guard = uses[0].node
    if guard is not uses[1].node or (uses[0].idx, uses[1].idx) != (0, 1):
        return "its outputs do not meet in one guard"
    if (guard.domain, guard.op_type) != (STANDARD_DOMAIN, "Reshape") or guard.attributes:
        return f"its guard is {guard.op_type}, not a plain Reshape"
    if guard.name not in _rules_by_name(node):
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


def _operator(node: ir.Node) -> Operator:
    return _DEFINITIONS[node.op_type].operator or OPERATORS[str(_text(node, "operator"))]


def _rules_by_name(node: ir.Node) -> dict[str, tuple[Rule, ...]]:
    """The names that the guard of a node may bear, each with the rules that it stands for."""
    operator, definition = _operator(node), _DEFINITIONS[node.op_type]
    label = str(_text(node, "node"))
    edition = _text(node, "edition")
    # What decides about shapes alone does not say under which edition.
    editions = list(Edition) if edition is None else [Edition(edition)]
    return {
        guard_name(operator.name, label, rules, definition.remark): rules
        for possible in reversed(editions)
        for rules in reversed(_possible_rules(operator, possible))
    }


def _possible_rules(operator: Operator, edition: Edition) -> list[tuple[Rule, ...]]:
    """The rules of each family of types, those of all families, and each rule alone."""
    by_family = list(operator.contracts[edition].values())
    unknown_family = tuple(dict.fromkeys(rule for rules in by_family for rule in rules))
    return [*by_family, unknown_family, *((rule,) for rule in unknown_family)]

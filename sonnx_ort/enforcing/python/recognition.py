"""Distinguishes nodes that `rewrite` made from imitations."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.custom_ops.broadcast import ALIGNED_SHAPE
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS, KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.finite import FINITE_ELEMENTS, finite_guard_name
from sonnx_ort.custom_ops.inspection import Inspection, omitted
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.obligations.targets import EnforcedNode, nodes_with_paths, parameter_texts
from sonnx_ort.printable import restored
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.finite import FINITE, computing_operator
from sonnx_ort.profile.operator import COMPILED_DOMAIN, DOMAIN, STANDARD_DOMAIN, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import VERSION, Rule, Subject

_NARROW = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
"""The types whose numbers are all exact in float."""

_CUSTOM_BY_NAME = {custom.name: custom for custom in CUSTOM_OPERATORS.values()}

_DEFINITIONS = {definition.name: definition for definition in KERNEL_DEFINITIONS}

_EARLIER_NAMES = frozenset({*CUSTOM_OPERATORS, "CastOperand"})
"""The names of custom operators from when they had the names of the standard ones."""


def recognize_enforced_nodes(model: ir.Model, edition: Edition) -> tuple[EnforcedNode, ...]:
    """Find the enforced nodes of a canonical model, and reject imitations.

    A Broadcast belongs to the original model, and is not yet enforced.

    Returns:
        The enforced nodes, in the order of the graph.

    Raises:
        InvalidModel: A node's result can be read without its guard, or the guard is a wrong one.
        SonnxError: A node is already enforced under the other edition.
    """
    version = model.opset_imports.get(STANDARD_DOMAIN, 1)
    return tuple(
        replace(_recognize(node, edition, version), path=path)
        for node, path in nodes_with_paths(model)
        if node.domain == DOMAIN and node.op_type != BROADCAST.name
    )


def require_no_compiled_nodes(model: ir.Model) -> None:
    """Reject compiled operators in a model that the compiled backend did not make, or not so.

    Raises:
        InvalidModel: There is one.
    """
    for node in every_node(model.graph):
        if node.domain == COMPILED_DOMAIN:
            raise InvalidModel(
                f"node '{node.name}' is in the domain '{COMPILED_DOMAIN}', but `rewrite` did not "
                "make this model as it is: rewrite the original model again"
            )


def _recognize(node: ir.Node, edition: Edition, version: int) -> EnforcedNode:
    if node.op_type in _EARLIER_NAMES:
        raise InvalidModel(
            f"node '{node.name}' is {DOMAIN}::{node.op_type}, made by an earlier version of "
            "`rewrite`; ONNX Runtime may take its result for a shape; rewrite the original model "
            "again"
        )
    reason = _difference(node, version)
    if reason is not None:
        raise InvalidModel(
            f"node '{node.name}' is in the domain '{DOMAIN}', but `rewrite` does not make such a "
            f"node: {reason}; use the standard operator, which `rewrite` enforces"
        )
    enforced = _text(node, "edition")
    if enforced not in (None, edition):
        raise SonnxError(
            f"node '{node.name}' is already enforced with the edition '{enforced}'; rewrite the "
            f"original model with '{edition}'"
        )
    if node.op_type == FINITE_ELEMENTS[0].name:
        return _recognize_finite(node)
    operator = _operator(node)
    label = str(_text(node, "node"))
    (guard,) = node.outputs[0].consumers()
    rules = _rules_by_name(node)[str(guard.name)]
    # AlignedShape checks a rule of the node behind it, which is found as well.
    aligns = node.op_type == ALIGNED_SHAPE.name
    decided = () if aligns else tuple(rule for rule in rules if rule.in_run)
    return EnforcedNode(
        node,
        operator,
        label,
        decided,
        _computing_node(node, guard, operator, decided, version),
        added=_added_nodes(node, guard),
        computes=isinstance(custom := _CUSTOM_BY_NAME.get(node.op_type), CustomOperator)
        and custom.arithmetic is not None,
    )


def _added_nodes(node: ir.Node, guard: ir.Node) -> frozenset[ir.Node]:
    """The guard, what reads a checked shape, and what makes the vectors that the kernel reads."""
    custom, inputs = _CUSTOM_BY_NAME.get(node.op_type), list(node.inputs)
    added = {guard}
    if isinstance(custom, CustomOperator):
        # Its result is of the model, which may read it as a shape too.
        if custom.operator.repeated_operand is None:
            return frozenset(added)
        elements = inputs.pop(0)
        reshapes = _producers(_concatenated(elements), "Reshape")
        flat = _producers((reshape.inputs[1] for reshape in reshapes), "Constant")
        added |= _producers([elements], "Concat") | reshapes | flat
    else:
        readers = (use.node for use in guard.outputs[0].uses() if use.idx == 1)
        added.update(reader for reader in readers if reader.op_type in {"Expand", "Reshape"})
    if isinstance(custom, Inspection) and custom.operator.repeated_operand is None:
        names = zip(custom.operator.checked_operands, inputs, strict=True)
        inputs = [value for name, value in names if name in custom.operator.by_shape]
    joined = [value for vector in inputs for value in _concatenated(vector)]
    for operator in ("Concat", "Constant", "Shape"):
        added |= _producers(inputs, operator)
    return frozenset(added | _producers(joined, "Shape"))


def _producers(values: Iterable[ir.Value | None], operator: str) -> set[ir.Node]:
    nodes = (_producer(value, operator) for value in values)
    return {node for node in nodes if node is not None}


def _recognize_finite(node: ir.Node) -> EnforcedNode:
    """The check behind a value, which the guarded shape alone gives on."""
    (guard,) = node.outputs[0].consumers()
    passed, checked = _only_reader(guard, 1), node.inputs[0]
    read = None if passed is None or passed.op_type != "Reshape" else passed.inputs[0]
    source = _source(checked, "Cast") or checked
    if passed is None or read is None or read not in (checked, source):
        raise InvalidModel(
            f"node '{node.name}' is in the domain '{DOMAIN}', but `rewrite` does not make such a "
            "node: its guard does not pass on what it checks; rewrite the original model again"
        )
    operator = computing_operator(str(_text(node, "operator")))
    label, added = str(_text(node, "node")), frozenset({guard, passed})
    return EnforcedNode(node, operator, label, (FINITE,), added=added)


def _computing_node(
    node: ir.Node, guard: ir.Node, operator: Operator, rules: Sequence[Rule], version: int
) -> ir.Node | None:
    """The standard node that computes with exactly the operands that a custom operator checks."""
    custom = CUSTOM_OPERATORS.get(operator.name)
    if isinstance(custom, Inspection):
        return _inspected_node(node, guard, operator, version)
    if custom is None or custom.arithmetic is not None:
        return None
    position = custom.passed_operand
    cast = _cast_back(_only_reader(guard, 0))
    reader = _only_reader(cast or guard, position)
    if reader is None or (reader.domain, reader.op_type) != (operator.domain, operator.name):
        return None
    # A Cast keeps shapes, but may change elements.
    by_shapes = all(rule.requirement.subject is not Subject.ELEMENTS for rule in rules)
    checked = _operands(node, operator)
    texts = parameter_texts(reader, operator, version)
    if any(_text(node, name) != text for name, text in texts.items()):
        return None
    if len(reader.inputs) != len(checked):
        return None
    names = operator.operand_names(len(checked))
    others = [
        (read, {value, _source(value, "Cast")} if by_shapes else {value}, name in operator.single)
        for read, value, name in zip(reader.inputs, checked, names, strict=True)
    ]
    del others[position]
    # The standard node broadcasts such an operand itself instead of reading the Expand.
    matches = all(
        read in values or (single and read in {_source(value, "Expand") for value in values})
        for read, values, single in others
    )
    return reader if matches else None


def _inspected_node(
    node: ir.Node, guard: ir.Node, operator: Operator, version: int
) -> ir.Node | None:
    """The standard node whose first operand gets the shape from a custom operator."""
    reshape = _only_reader(guard, 1)
    reader = None if reshape is None else _only_reader(reshape, 0)
    if reshape is None or reader is None:
        return None
    if (reader.domain, reader.op_type) != (operator.domain, operator.name):
        return None
    texts = parameter_texts(reader, operator, version)
    if any(_text(node, name) != text for name, text in texts.items()):
        return None
    operands = (reshape.inputs[0], *reader.inputs[1:])
    if operator.repeated_operand is not None:
        sizes, ranks = map(_of_shapes, node.inputs)
        return reader if list(operands) == sizes == [_value_of_shape(r) for r in ranks] else None
    read = dict(zip(operator.operands, operands, strict=False))
    inputs = (value for value in node.inputs if value is not None)
    matches = all(
        _is_checked(checked, read.get(name), operator, name)
        for name, checked in zip(operator.checked_operands, inputs, strict=True)
    )
    return reader if matches else None


def _is_checked(checked: ir.Value, read: ir.Value | None, operator: Operator, name: str) -> bool:
    """Whether the custom operator checks what the standard node reads, or its conversion."""
    if read is None:
        tensor = constant_tensor(checked)
        return tensor is not None and tensor.numpy().tolist() == omitted(operator, name)
    if name not in operator.by_shape:
        node = _cast_back(read.producer())
        return checked in {read, node and node.inputs[0]}
    return _value_of_shape(checked) is read


def _only_reader(node: ir.Node, position: int) -> ir.Node | None:
    """The only reader of a node's output, if it reads it as that input."""
    uses = list(node.outputs[0].uses())
    alone = len(uses) == 1 and uses[0].idx == position and not node.outputs[0].is_graph_output()
    return uses[0].node if alone else None


def _cast_back(node: ir.Node | None) -> ir.Node | None:
    if node is None or (node.domain, node.op_type) != (STANDARD_DOMAIN, "Cast"):
        return None
    return node if node.attributes["to"].as_int() in _NARROW else None


def _operands(node: ir.Node, operator: Operator) -> Sequence[ir.Value | None]:
    """The operands that a custom operator checks; none if the vectors are inconsistent."""
    if operator.repeated_operand is None:
        return node.inputs
    elements, sizes, ranks = (_concatenated(value) for value in node.inputs)
    operands = [_source(value, "Reshape") for value in elements]
    of_sizes = [_value_of_shape(value) for value in sizes]
    of_ranks = [_value_of_shape(_value_of_shape(value)) for value in ranks]
    return operands if operands == of_sizes == of_ranks else ()


def _of_shapes(value: ir.Value | None) -> list[ir.Value | None]:
    """The values whose shapes are in one vector."""
    return [_value_of_shape(shape) for shape in _concatenated(value)]


def _concatenated(value: ir.Value | None) -> Sequence[ir.Value | None]:
    node = _producer(value, "Concat")
    return () if node is None else node.inputs


def _value_of_shape(value: ir.Value | None) -> ir.Value | None:
    """The value whose complete shape this is."""
    node = _producer(value, "Shape")
    start = None if node is None else node.attributes.get("start")
    if node is None or "end" in node.attributes or (start is not None and start.value != 0):
        return None
    return node.inputs[0]


def _source(value: ir.Value | None, operator: str) -> ir.Value | None:
    """The first operand of the operator that computes a value."""
    node = _producer(value, operator)
    return None if node is None else node.inputs[0]


def _producer(value: ir.Value | None, operator: str) -> ir.Node | None:
    node = None if value is None else value.producer()
    if node is None or (node.domain, node.op_type) != (STANDARD_DOMAIN, operator):
        return None
    return node


def _difference(node: ir.Node, version: int) -> str | None:
    """Why a node is not an enforced one; None if it is."""
    definition = _DEFINITIONS.get(node.op_type)
    if definition is None:
        return f"there is no operator '{node.op_type}' in that domain"
    if len(node.inputs) != len(definition.inputs) or None in node.inputs or len(node.outputs) != 2:
        return f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs"
    texts = {name for name in node.attributes if _text(node, name) is not None}
    if texts != set(definition.attributes) or len(node.attributes) != len(texts):
        expected = " and ".join(f"'{name}'" for name in definition.attributes)
        return f"its attributes are not {expected}, all strings"
    finite = node.op_type == FINITE_ELEMENTS[0].name
    if not finite and _text(node, "operator") not in (None, *OPERATORS):
        return f"there is no operator '{_text(node, 'operator')}' in the profile"
    edition = _text(node, "edition")
    if edition not in (None, *(known.value for known in Edition)):
        return f"there is no edition '{edition}'"
    return _other_version(node, version) or _unguarded(node)


def _other_version(node: ir.Node, version: int) -> str | None:
    made_for = _text(node, VERSION)
    if made_for in (None, str(version)):
        return None
    return (
        f"it checks the rules of version {made_for} of the standard operators, and the model "
        f"imports version {version}"
    )


def _unguarded(node: ir.Node) -> str | None:
    result, shape = node.outputs
    uses = [*result.uses(), *shape.uses()]
    exposed = any(value.is_graph_output() for value in (result, shape))
    if exposed or len(uses) != 2:
        return "its outputs can be reached around the guard"
    guard = uses[0].node
    if guard is not uses[1].node or (uses[0].idx, uses[1].idx) != (0, 1):
        return "its outputs do not meet in one guard"
    if (guard.domain, guard.op_type) != (STANDARD_DOMAIN, "Reshape") or guard.attributes:
        return f"its guard is {guard.op_type}, not a plain Reshape"
    if guard.name not in _guard_names(node):
        return "its guard does not bear its name"
    return None


def _text(node: ir.Node, name: str) -> str | None:
    """A string attribute; None if it is missing or not UTF-8.

    onnx_ir returns a string that is not UTF-8 as bytes; in a kernel it would end the process.
    """
    attribute = node.attributes.get(name)
    if attribute is None or attribute.type != ir.AttributeType.STRING:
        return None
    return attribute.value if isinstance(attribute.value, str) else None


def _operator(node: ir.Node) -> Operator:
    return _DEFINITIONS[node.op_type].operator or OPERATORS[str(_text(node, "operator"))]


def _guard_names(node: ir.Node) -> Container[str]:
    """The possible names of a node's guard."""
    if node.op_type == FINITE_ELEMENTS[0].name:
        texts = (str(_text(node, name)) for name in ("operator", "node", "value"))
        name = finite_guard_name(*texts)
        return (name, restored(name))
    return _rules_by_name(node)


def _rules_by_name(node: ir.Node) -> dict[str, tuple[Rule, ...]]:
    """The possible names of a node's guard, with the rules of each.

    Earlier versions did not escape the names of nodes.
    """
    operator, definition = _operator(node), _DEFINITIONS[node.op_type]
    label = str(_text(node, "node"))
    edition = _text(node, "edition")
    # Checks of shapes alone do not record the edition.
    editions = list(Edition) if edition is None else [Edition(edition)]
    text = _text(node, VERSION)
    return {
        spelled: rules
        for possible in reversed(editions)
        for rules in reversed(_possible_rules(operator, possible, text))
        for name in (guard_name(operator.name, label, rules, definition.remark),)
        for spelled in (name, restored(name))
    }


def _possible_rules(
    operator: Operator, edition: Edition, version: str | None
) -> list[tuple[Rule, ...]]:
    """The rules of each family of types, those of all families, and each single rule.

    The version is that of the standard operators; None if the rules do not depend on it.
    """
    by_family = [
        tuple(rule for rule in rules if version is None or rule.binds_version(int(version)))
        for rules in operator.contracts[edition].values()
    ]
    unknown_family = tuple(dict.fromkeys(rule for rules in by_family for rule in rules))
    return [*by_family, unknown_family, *((rule,) for rule in unknown_family)]

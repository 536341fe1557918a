"""Decides which nodes need a custom operator.

ONNX Runtime's constant folding never computes a custom operator, nor anything that depends on one.

The inputs of custom operators: shapes, elements, or many operands in one vector. Shape(X0),
Shape(X1), ... -> sonnx::BroadcastShape -> shape, its shape -> Reshape -> common Shape(A), Shape(B)
-> sonnx::AlignedShape -> shape, its shape -> Reshape -> B's
"""

import json
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import onnx_ir as ir

from sonnx_ort.custom_ops.arithmetic import SELECTING
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.inspection import ALIGNED_SHAPE, BROADCAST_SHAPE, omitted
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.enforcing.value_info import element_type_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.obligations.examined_node import Alignment, BroadcastPlan, ExaminedNode
from sonnx_ort.profile.element_type import CARRIERS, ElementType, Family
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.rule import Status, Subject
from sonnx_ort.terms.operand import Operand, has_known_sizes


def carrier_of(examined: ExaminedNode) -> ElementType | None:
    """The type that a node is computed in instead of the operands' own; None if it is the same."""
    element_type = element_type_of(examined)
    custom = CUSTOM_OPERATORS.get(examined.target.operator.name)
    return None if custom is None or element_type is None else custom.carriers.get(element_type)


def has_kernel(examined: ExaminedNode) -> bool:
    """Whether a standard kernel computes the node in its own type, as the custom operator does."""
    custom = CUSTOM_OPERATORS.get(examined.target.operator.name)
    if custom is None or element_type_of(examined) is None or carrier_of(examined) is not None:
        return False
    return custom.arithmetic is None or not examined.target.further_attributes


def can_keep_standard_node(examined: ExaminedNode) -> bool:
    """Whether the standard operator can compute what it would compute in the rewritten model."""
    operator = examined.target.operator
    custom = CUSTOM_OPERATORS.get(operator.name)
    if custom is None or custom.arithmetic is None:
        return operator.moves_elements or element_type_of(examined) is not ElementType.BFLOAT16
    return has_kernel(examined)


def has_other_zeros(examined: ExaminedNode) -> bool:
    """Whether a standard kernel may give zeros of other signs than the custom operator."""
    element_type = element_type_of(examined)
    may_be_float = element_type is None or element_type.family is Family.FLOAT
    return examined.target.operator.name in SELECTING and may_be_float


def require_kernel(examined: ExaminedNode) -> None:
    """Require that the python backend can enforce a node.

    Raises:
        SonnxError: There is no kernel for the node.
    """
    target = examined.target
    name, element_type = target.operator.name, element_type_of(examined)
    problem = f"{name} '{target.label}': the python backend has no kernel for it"
    if element_type is ElementType.BFLOAT16 and not target.operator.computes_bfloat16:
        raise SonnxError(f"{problem} in {element_type}, and ONNX Runtime has none either")
    if target.further_attributes and CUSTOM_OPERATORS[name].arithmetic is not None:
        raise SonnxError(f"{problem} with the attribute '{target.further_attributes[0]}'")
    if element_type in CARRIERS and carrier_of(examined) is None:
        raise SonnxError(f"{problem} in {element_type}")


def require_nothing_waived(examined: ExaminedNode) -> None:
    """Require that no rule that a kernel checks is waived, because a kernel checks all.

    Raises:
        SonnxError: A violation is waived.
    """
    for obligation in examined.obligations:
        if obligation.status is Status.VIOLATED and obligation.rule.in_run:
            raise SonnxError(
                f"the waiver of {obligation.rule.id} at {obligation.place} has no effect: the "
                "kernels of the python backend check all rules of a node; use the native backend"
            )


def constant_nodes(
    model: ir.Model, nodes: Sequence[ExaminedNode], checked: AbstractSet[ir.Node]
) -> frozenset[ir.Node]:
    """Find the constant nodes whose obligations are all proved.

    A custom operator stands after each of the `checked` nodes.
    """
    # After a custom operator, types in a subgraph are unknown.
    outside = (n for n in nodes if n.target.node.graph is model.graph)
    kept = {
        n.target.node for n in outside if _foldable(n) and has_kernel(n) and not has_other_zeros(n)
    }
    enforced = ({n.target.node for n in nodes} - kept) | checked
    return frozenset(kept - _depending_on(model, enforced)) if kept else frozenset()


def _foldable(examined: ExaminedNode) -> bool:
    broadcasts = examined.broadcast is not None
    types = {ElementType.named(o.element_type) for o in examined.operands}
    floats = any(kind is None or kind.family is Family.FLOAT for kind in types)
    return (
        all(examined.foldable)
        # Another version may run the model, with the kernels of the custom operators.
        and all(o.status is Status.PROVED and not o.by_version for o in examined.obligations)
        and not examined.proof_uses_guards
        and not any(examined.may_be_misinferred)
        and not (broadcasts and not all(_known_not_empty(o) for o in examined.operands))
        # A rule about the elements of floats determines the result.
        and not (floats and _has_rules_about_elements(examined))
    )


def _known_not_empty(operand: Operand) -> bool:
    """Whether all sizes are known and none is 0; expanding empty tensors is unreliable."""
    return has_known_sizes(operand.shape) and 0 not in (operand.shape or ())


def _has_rules_about_elements(examined: ExaminedNode) -> bool:
    return any(o.rule.requirement.subject is Subject.ELEMENTS for o in examined.obligations)


def _depending_on(model: ir.Model, enforced: Iterable[ir.Node]) -> set[ir.Node]:
    """The nodes that depend on an enforced one, in any iteration."""
    custom = set(enforced)
    reached: set[ir.Value] = set()
    after: set[ir.Node] = set()
    while True:
        before = len(reached)
        for node in every_node(model.graph):
            bodies = subgraphs_of(node)
            given = (output for body in bodies for output in body.outputs)
            reads = not reached.isdisjoint(value for value in node.inputs if value is not None)
            if reads:
                after.add(node)
            is_enforced = node in custom or node.domain == DOMAIN
            if reads or is_enforced or not reached.isdisjoint(given):
                reached.update(node.outputs)
                reached.update(taken for body in bodies for taken in body.inputs)
        if len(reached) == before:
            return after


def in_one_vector(nodes: StandardNodes, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """All elements, all sizes and all ranks of tensors of one type."""
    flat_shape = nodes.constant([-1], "flat_shape")
    flat = [nodes.add("Reshape", [value, flat_shape], "flat") for value in operands]
    shapes = [nodes.shape(value) for value in operands]
    elements = nodes.add("Concat", flat, "elements", {"axis": 0})
    return [elements, joined(nodes, shapes), ranks_in_run(nodes, shapes)]


def joined(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> ir.Value:
    """The sizes of all shapes in one vector."""
    return nodes.add("Concat", shapes, "operand_shapes", {"axis": 0})


def ranks_in_run(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> ir.Value:
    """The ranks as a vector, computed in the run."""
    return nodes.add("Concat", [nodes.shape(shape) for shape in shapes], "ranks", {"axis": 0})


def inspected_operands(
    nodes: StandardNodes, examined: ExaminedNode, operands: Sequence[ir.Value]
) -> tuple[list[ir.Value], list[ir.Value]]:
    """The inputs of a custom operator that is not element-wise, and the new operands of the node.

    The custom operator reads shapes, and the elements of some operands; the node reads the same
    elements.
    """
    operator, names = examined.target.operator, examined.target.operand_names
    if operator.repeated_operand is not None:
        shapes = [nodes.shape(value) for value in operands]
        return [joined(nodes, shapes), ranks_in_run(nodes, shapes)], list(operands)
    shown, read = [], list(operands)
    for name in operator.checked_operands:
        position = names.index(name) if name in names else None
        if position is None:
            shown.append(_omitted(nodes, examined, name))
        elif name in operator.by_shape:
            shown.append(nodes.shape(operands[position]))
        else:
            elements, read[position] = _as_kernels_take(nodes, examined, position, read[position])
            shown.append(elements)
    return shown, read


def _omitted(nodes: StandardNodes, examined: ExaminedNode, name: str) -> ir.Value:
    """What represents an omitted operand, in the type that kernels take.

    Raises:
        SonnxError: Its elements would be read, and their type is unknown.
    """
    target = examined.target
    element_type: ElementType | None = ElementType.INT64
    if name not in target.operator.by_shape:
        fixed = ElementType.named(target.operator.operand_types.get(name))
        element_type = fixed or element_type_of(examined)
    if element_type is None:
        raise SonnxError(
            f"{target.operator.name} '{target.label}': {name} is not given, and its element type "
            f"is that of '{target.inputs[0].name}', which is unknown; declare it in value_info"
        )
    taken = CARRIERS.get(element_type, element_type)
    return nodes.constant(omitted(target.operator, name), "left_out", taken)


def _as_kernels_take(
    nodes: StandardNodes, examined: ExaminedNode, position: int, value: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """An operand's elements in a type that kernels take, and the operand that the node reads."""
    operand = examined.operands[position]
    own = ElementType.named(operand.element_type)
    fixed = examined.target.operator.operand_types.get(operand.name)
    wanted = ElementType.named(fixed) or CARRIERS.get(own or ElementType.FLOAT)
    if wanted is None or wanted is own:
        return value, value
    elements = nodes.cast(value, wanted, f"{value.name}_as_{wanted}")
    if own is None or own not in CARRIERS:
        return elements, elements
    return elements, nodes.cast(elements, own, f"{value.name}_as_{own}")


def _common_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> ir.Value:
    shapes = [nodes.shape(value) for value in values]
    inputs = [joined(nodes, shapes), _ranks(nodes, shapes, plan.operands)]
    operands = json.dumps([operand.value for operand in plan.operands])
    attributes = {"node": label, "operands": operands}
    guard = guard_name(BROADCAST.name, label, [E1], logged=True)
    return nodes.enforced(BROADCAST_SHAPE.name, inputs, attributes, guard=guard)


def _expanded(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> Sequence[ir.Value]:
    return expand(nodes, values, plan, _common_shape(nodes, label, values, plan))


def _aligned_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], alignment: Alignment
) -> ir.Value:
    shapes = [nodes.shape(value) for value in values]
    inputs = [joined(nodes, shapes), ranks_in_run(nodes, shapes)]
    operator, rule, axis = alignment.operator, alignment.rule, alignment.limits.axis
    attributes = {
        "node": label,
        "operator": operator.name,
        "rule": rule.id,
        "axis": "" if axis is None else str(axis),
    }
    guard = guard_name(operator.name, label, [rule], ALIGNED_SHAPE.remark, logged=True)
    return nodes.enforced(ALIGNED_SHAPE.name, inputs, attributes, guard=guard)


def _ranks(
    nodes: StandardNodes, shapes: Sequence[ir.Value], operands: Sequence[Operand]
) -> ir.Value:
    ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
    if len(ranks) == len(operands):
        return nodes.constant(ranks, "ranks")
    return ranks_in_run(nodes, shapes)


BY_KERNELS = ShapeDecisions(
    common=_common_shape, expanded=_expanded, aligned=_aligned_shape, oldest_opset=1
)
"""Checks by custom operators of the domain `sonnx`."""

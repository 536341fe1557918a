"""The inputs of custom operators: shapes, elements, or many operands in one vector.

Shape(X0), Shape(X1), ... -> sonnx::BroadcastShape -> shape, its shape -> Reshape -> common
Shape(A), Shape(B) -> sonnx::AlignedShape -> shape, its shape -> Reshape -> B's
"""

import json
from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import Alignment, BroadcastPlan, ExaminedNode
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.inspection import ALIGNED_SHAPE, BROADCAST_SHAPE, omitted
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.element_type import CARRIERS, ElementType
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.terms.operand import Operand


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
    operator, names = examined.ruled.operator, examined.ruled.operand_names
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
    ruled = examined.ruled
    element_type: ElementType | None = ElementType.INT64
    if name not in ruled.operator.by_shape:
        fixed = ElementType.named(ruled.operator.operand_types.get(name))
        element_type = fixed or examined.element_type
    if element_type is None:
        raise SonnxError(
            f"{ruled.operator.name} '{ruled.label}': {name} is not given, and its element type "
            f"is that of '{ruled.inputs[0].name}', which is unknown; declare it in value_info"
        )
    taken = CARRIERS.get(element_type, element_type)
    return nodes.constant(omitted(ruled.operator, name), "left_out", taken)


def _as_kernels_take(
    nodes: StandardNodes, examined: ExaminedNode, position: int, value: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """An operand's elements in a type that kernels take, and the operand that the node reads."""
    operand = examined.operands[position]
    own = ElementType.named(operand.element_type)
    fixed = examined.ruled.operator.operand_types.get(operand.name)
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

"""Expands the operands of a node by custom operators that see shapes only.

Shape(X0), Shape(X1), ... -> sonnx::BroadcastShape -> shape, its shape -> Reshape -> common
Shape(A), Shape(B)        -> sonnx::AlignedShape   -> shape, its shape -> Reshape -> B's
"""

import json
from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import Alignment, BroadcastPlan
from sonnx_ort.custom_ops.broadcast import ALIGNED_SHAPE, BROADCAST_SHAPE
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.operand import Operand
from sonnx_ort.rewriting.broadcast_lowering import ShapeDecisions, expand
from sonnx_ort.rewriting.python.vectors import joined, ranks_in_run
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def _common_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> ir.Value:
    shapes = [nodes.shape(value) for value in values]
    inputs = [joined(nodes, shapes), _ranks(nodes, shapes, plan.operands)]
    operands = json.dumps([operand.value for operand in plan.operands])
    attributes = {"node": label, "operands": operands}
    guard = guard_name(BROADCAST.name, label, [E1])
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
    guard = guard_name(operator.name, label, [rule], ALIGNED_SHAPE.remark)
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
"""By custom operators of the domain `sonnx`."""

"""The python backend's decisions about shapes: custom operators that see shapes only.

    Shape(X0), Shape(X1), ... -> sonnx::BroadcastShape -> shape, its shape -> Reshape -> common
    Shape(A), Shape(B)        -> sonnx::AlignedShape   -> shape, its shape -> Reshape -> B's

They fail through the same channel as any other.
"""

import json
from collections.abc import Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import Alignment, BroadcastPlan
from sonnx_ort.custom_ops.broadcast import BROADCAST_SHAPE
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.custom_ops.limited_broadcasting import ALIGNED_SHAPE
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.domain import DOMAIN
from sonnx_ort.profile.operand import Operand
from sonnx_ort.rewriting.broadcast_lowering import ShapeDecisions
from sonnx_ort.rewriting.failure_channel import make_guard
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def _common_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> ir.Value:
    shapes = [nodes.shape(value) for value in values]
    inputs = [_joined(nodes, shapes), _ranks(nodes, shapes, plan.operands)]
    operands = json.dumps([operand.value for operand in plan.operands])
    attributes = {"node": label, "operands": operands}
    name = guard_name(BROADCAST.name, label, [E1])
    return _guarded(nodes, BROADCAST_SHAPE, inputs, attributes, name)


def _aligned_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], alignment: Alignment
) -> ir.Value:
    shapes = [nodes.shape(value) for value in values]
    inputs = [_joined(nodes, shapes), _ranks_of_the_run(nodes, shapes)]
    operator, rule, axis = alignment.operator, alignment.rule, alignment.limits.axis
    attributes = {
        "node": label,
        "operator": operator.name,
        "rule": rule.id,
        "axis": "" if axis is None else str(axis),
    }
    name = guard_name(operator.name, label, [rule], ALIGNED_SHAPE.remark)
    return _guarded(nodes, ALIGNED_SHAPE, inputs, attributes, name)


def _guarded(
    nodes: StandardNodes,
    definition: KernelDefinition,
    inputs: Sequence[ir.Value],
    attributes: Mapping[str, str],
    name: str,
) -> ir.Value:
    """A kernel's shape, by way of its guard."""
    decided, rank = nodes.value("decided"), nodes.value("decided_rank")
    kernel = ir.node(definition.name, inputs, attributes, domain=DOMAIN, outputs=[decided, rank])
    guard = make_guard(decided, rank, nodes.value("guarded"), name=name)
    nodes.nodes.extend((kernel, guard))
    return guard.outputs[0]


def _joined(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> ir.Value:
    return nodes.add("Concat", shapes, "operand_shapes", {"axis": 0})


def _ranks(
    nodes: StandardNodes, shapes: Sequence[ir.Value], operands: Sequence[Operand]
) -> ir.Value:
    ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
    if len(ranks) == len(operands):
        return nodes.constant(ranks, "ranks")
    return _ranks_of_the_run(nodes, shapes)


def _ranks_of_the_run(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> ir.Value:
    return nodes.add("Concat", [nodes.shape(shape) for shape in shapes], "ranks", {"axis": 0})


BY_KERNELS = ShapeDecisions(common=_common_shape, aligned=_aligned_shape)
"""The custom operators of the domain `sonnx`."""

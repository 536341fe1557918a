"""The python backend's decision about a Broadcast: a custom operator that sees shapes only.

    Shape(X0), Shape(X1), ... -> sonnx::BroadcastShape -> shape, its shape -> Reshape -> common

It fails through the same channel as any other.
"""

import json
from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import BroadcastPlan
from sonnx_ort.custom_ops.broadcast import BROADCAST_SHAPE
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.domain import DOMAIN
from sonnx_ort.profile.operand import Operand
from sonnx_ort.rewriting.failure_channel import make_guard
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def common_shape_by_kernel(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> ir.Value:
    """Let the custom operator find the common shape.

    Args:
        nodes: Takes the new nodes.
        label: The name of the node that the values are operands of.
        values: The values, lined up at their last axes.
        plan: What is known of them.
    """
    shapes = [nodes.shape(value) for value in values]
    sizes = nodes.add("Concat", shapes, "operand_shapes", {"axis": 0})
    kernel = ir.node(
        BROADCAST_SHAPE.name,
        [sizes, _ranks(nodes, shapes, plan.operands)],
        {"node": label, "operands": json.dumps([operand.value for operand in plan.operands])},
        domain=DOMAIN,
        outputs=[nodes.value("common"), nodes.value("common_rank")],
    )
    guard = make_guard(
        kernel.outputs[0],
        kernel.outputs[1],
        nodes.value("common_shape"),
        name=guard_name(BROADCAST.name, label, [E1]),
    )
    nodes.nodes.extend((kernel, guard))
    return guard.outputs[0]


def _ranks(
    nodes: StandardNodes, shapes: Sequence[ir.Value], operands: Sequence[Operand]
) -> ir.Value:
    ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
    if len(ranks) == len(operands):
        return nodes.constant(ranks, "ranks")
    each = [nodes.add("Shape", [shape], "rank") for shape in shapes]
    return nodes.add("Concat", each, "ranks", {"axis": 0})

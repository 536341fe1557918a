"""Keeps ONNX Runtime from computing the Shape of a value from what it believes of it.

It does so where it takes all sizes for known, and it takes sizes for known that its own kernels
contradict: of a PRelu that broadcasts both ways, of a reduction of an empty tensor. A Loop's state
has no declared shape, so what a Loop gives after no iteration is the value itself, of a shape that
is known in the run alone.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.profile.operand import Operand
from sonnx_ort.rewriting.standard_nodes import StandardNodes

OLDEST_OPSET_FOR_BFLOAT16 = 16
"""The first version of the standard operators in which a Loop's state can be bfloat16."""


def hide_mistakable_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], operands: Sequence[Operand]
) -> tuple[ir.Value, ...]:
    """Pass on those operands whose shape ONNX Runtime may be wrong about without it.

    Args:
        nodes: Takes the new nodes.
        values: The operands.
        operands: What is known of them.
    """
    return tuple(
        hide_shape(nodes, value) if operand.mistakable else value
        for value, operand in zip(values, operands, strict=True)
    )


def hide_shape(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    """Pass a value on so that nothing but a run tells its shape.

    Args:
        nodes: Takes the new nodes.
        value: The value.
    """
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(1, "condition", ir.DataType.BOOL)
    body = {"body": _body(nodes, value)}
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", body)


def _body(nodes: StandardNodes, value: ir.Value) -> ir.Graph:
    boolean = ir.TensorType(ir.DataType.BOOL)
    iteration = nodes.value("iteration")
    iteration.type, iteration.shape = ir.TensorType(ir.DataType.INT64), ir.Shape([])
    go_on, still = nodes.value("go_on"), nodes.value("still")
    for flag in (go_on, still):
        flag.type, flag.shape = boolean, ir.Shape([])
    state, following = nodes.value("state"), nodes.value("next_state")
    state.type = following.type = value.type
    return ir.Graph(
        [iteration, go_on, state],
        [still, following],
        nodes=[
            ir.node("Identity", [go_on], outputs=[still]),
            ir.node("Identity", [state], outputs=[following]),
        ],
        name="nothing",
    )

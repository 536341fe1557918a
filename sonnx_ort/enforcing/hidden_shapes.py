"""Keeps ONNX Runtime from computing a Shape from wrong static shapes.

If ONNX Runtime knows all sizes of a value statically, it computes the Shape from them. These sizes
can be wrong: its kernels contradict them for a PRelu that broadcasts both ways and for a reduction
of an empty tensor. It also accepts tensors of any rank for an input declared as a scalar. A Loop's
state has no static shape, so a Loop without iterations passes a value on and hides its shape until
the run.
"""

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes, Uses, uses_of
from sonnx_ort.knowledge.facts import Facts, has_scalars, is_control_input
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.findings import CheckedValue
from sonnx_ort.profile.element_type import ElementType

_LOOP = 1
"""The first opset with Loop."""

LOOP_OF_BFLOAT16 = 16
"""The first opset in which a Loop's state can be bfloat16."""


def hide_misinferred_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], examined: ExaminedNode
) -> tuple[ir.Value, ...]:
    """Hide the shapes of those operands that ONNX Runtime may infer wrongly."""
    return tuple(
        hide_shape(nodes, value) if may_be_misinferred else value
        for value, may_be_misinferred in zip(values, examined.may_be_misinferred, strict=True)
    )


def hide_shape(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    """Pass a value through a Loop, so that its shape is known only in a run."""
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(True, "condition", ElementType.BOOL)
    body = {"body": _body(nodes, value)}
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", body)


def oldest_opset_with_hidden_shapes(examined: ExaminedNode) -> int:
    """The oldest opset in which the operands of a node can be hidden."""
    types = {operand.element_type for operand in examined.operands}
    hidden = examined.operands[0].scalar_inputs or any(examined.may_be_misinferred)
    return LOOP_OF_BFLOAT16 if hidden and ElementType.BFLOAT16 in types else _LOOP


def scalars_behind(
    nodes: Iterable[ExaminedNode], facts: Facts, checked: Iterable[CheckedValue] = ()
) -> tuple[ir.Value, ...]:
    """The graph inputs declared as scalars on which the nodes' operands or these values depend."""
    read = [*(node.target.inputs for node in nodes), *((each.value,) for each in checked)]
    inputs = dict.fromkeys(v for values in read for v in facts.inputs_behind(values))
    return tuple(value for value in inputs if has_scalars([value]))


def readers_of(scalars: Iterable[ir.Value]) -> Uses:
    """Find the uses of inputs that can read a value of unknown shape instead.

    A Scan needs the shape; its body gets a state of unknown shape in any case. ONNX Runtime's
    optimizer replaces a Dropout by its ratio if the ratio is computed.
    """
    uses = uses_of(scalars).items()
    return {
        value: [use for use in each if use[0].op_type != "Scan" and not is_control_input(*use)]
        for value, each in uses
    }


def hide_declarations(
    nodes: StandardNodes, scalars: Sequence[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """Hide the declared shapes of inputs.

    Returns:
        For each input the value that replaces it.
    """
    return {value: hide_shape(nodes, value) for value in scalars}


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
            _next_state(state, following),
        ],
        name="nothing",
    )


def _next_state(state: ir.Value, following: ir.Value) -> ir.Node:
    """A node whose output has the state's type; a Loop without iterations never computes it."""
    if isinstance(state.type, ir.SequenceType) and isinstance(state.type.elem_type, ir.TensorType):
        # Identity takes sequences since opset 14.
        return ir.node(
            "SequenceEmpty", [], {"dtype": state.type.elem_type.dtype.value}, outputs=[following]
        )
    return ir.node("Identity", [state], outputs=[following])

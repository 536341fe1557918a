"""Keeps ONNX Runtime from computing the Shape of a value from what it believes of it.

It does so where it takes all sizes for known, and it takes sizes for known that its own kernels
contradict: of a PRelu that broadcasts both ways, of a reduction of an empty tensor. It also takes
tensors of any rank for an input that is declared as a scalar, and yet computes the Shape of it, and
of what follows from it, from the declaration. A Loop's state has no declared shape, so what a Loop
gives after no iteration is the value itself, of a shape that is known in the run alone.
"""

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes, Uses, uses_of
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.knowledge.provenance import has_scalars, steers
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.element_type import ElementType

_LOOP = 1
"""The first version of the standard operators that has Loop."""

_LOOP_OF_BFLOAT16 = 16
"""The first version in which a Loop's state can be bfloat16."""


def hide_mistakable_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], examined: ExaminedNode
) -> tuple[ir.Value, ...]:
    """Pass on those operands whose shape ONNX Runtime may be wrong about without it.

    Args:
        nodes: Takes the new nodes.
        values: The operands.
        examined: The node that reads them.
    """
    return tuple(
        hide_shape(nodes, value) if mistakable else value
        for value, mistakable in zip(values, examined.mistakable, strict=True)
    )


def hide_shape(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    """Pass a value on so that nothing but a run tells its shape.

    Args:
        nodes: Takes the new nodes.
        value: The value.
    """
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(True, "condition", ir.DataType.BOOL)
    body = {"body": _body(nodes, value)}
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", body)


def oldest_opset_with_hidden_shapes(examined: ExaminedNode) -> int:
    """The oldest version in which what a node depends on can be passed on in this way.

    Args:
        examined: The node.
    """
    types = {operand.element_type for operand in examined.operands}
    hidden = examined.operands[0].scalar_inputs or any(examined.mistakable)
    return _LOOP_OF_BFLOAT16 if hidden and ElementType.BFLOAT16 in types else _LOOP


def scalars_behind(nodes: Iterable[ExaminedNode], facts: Facts) -> tuple[ir.Value, ...]:
    """The inputs declared as scalars that the operands of nodes depend on.

    Args:
        nodes: The examined nodes.
        facts: What is known of the model's values.
    """
    uncertain = (node.target.inputs for node in nodes if node.operands[0].scalar_inputs)
    inputs = dict.fromkeys(v for values in uncertain for v in facts.inputs_behind(values))
    return tuple(value for value in inputs if has_scalars([value]))


def readers_of(scalars: Iterable[ir.Value]) -> Uses:
    """Find what reads inputs, and can go on from the same without a shape.

    A Scan cannot; what stands in its body is a state of uncertain shape in any case. And ONNX
    Runtime's optimizer puts a ratio that is computed in the place of a Dropout.

    Args:
        scalars: The inputs.
    """
    uses = uses_of(scalars).items()
    return {
        value: [use for use in each if use[0].op_type != "Scan" and not steers(*use)]
        for value, each in uses
    }


def hide_declarations(
    nodes: StandardNodes, scalars: Sequence[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """Pass inputs on without the shapes that they are declared with.

    Args:
        nodes: Takes the new nodes.
        scalars: The inputs.

    Returns:
        For each of them the value to go on with.
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
    """Give what is of a state's type; in a Loop without an iteration it is never computed."""
    if isinstance(state.type, ir.SequenceType) and isinstance(state.type.elem_type, ir.TensorType):
        # Identity takes sequences from version 14 on.
        return ir.node(
            "SequenceEmpty", [], {"dtype": state.type.elem_type.dtype.value}, outputs=[following]
        )
    return ir.node("Identity", [state], outputs=[following])

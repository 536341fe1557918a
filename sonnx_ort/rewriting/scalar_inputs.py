"""Keeps ONNX Runtime from taking an input's declaration as a scalar for its shape.

It takes tensors of any rank for such an input, and yet computes the Shape of it, and of what
follows from it, from the declaration. A Loop's state has no declared shape, so what a Loop gives
after no iteration is the input itself, of a shape that is known in the run alone.
"""

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.symbols import has_scalars
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_BFLOAT16 = 16
"""The first version of the standard operators in which a Loop's state can be bfloat16."""


def oldest_opset_of_scalars(examined: ExaminedNode) -> int:
    """The oldest version in which what a node depends on can be passed on in this way.

    Args:
        examined: The node.
    """
    types = {operand.element_type for operand in examined.operands}
    scalar = examined.operands[0].scalar_inputs
    return _BFLOAT16 if scalar and ElementType.BFLOAT16 in types else 1


def scalars_behind(nodes: Iterable[ExaminedNode], facts: Facts) -> tuple[ir.Value, ...]:
    """The inputs declared as scalars that the operands of nodes depend on.

    Args:
        nodes: The examined nodes.
        facts: What is known of the model's values.
    """
    uncertain = (node.target.inputs for node in nodes if node.operands[0].scalar_inputs)
    inputs = dict.fromkeys(v for values in uncertain for v in facts.inputs_behind(values))
    return tuple(value for value in inputs if has_scalars([value]))


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
    return {value: _of_any_rank(nodes, value) for value in scalars}


def _of_any_rank(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(1, "condition", ir.DataType.BOOL)
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", _body(value))


def _body(value: ir.Value) -> dict[str, ir.Graph]:
    boolean = ir.TensorType(ir.DataType.BOOL)
    iteration = ir.val("iteration", ir.DataType.INT64, [])
    go_on = ir.val("go_on", ir.DataType.BOOL, [])
    state = ir.Value(name="state", type=value.type)
    conditions = ir.node("Identity", [go_on], outputs=[ir.Value(name="still", type=boolean)])
    states = ir.node("Identity", [state], outputs=[ir.Value(name="next", type=value.type)])
    conditions.outputs[0].shape = ir.Shape([])
    graph = ir.Graph(
        [iteration, go_on, state],
        [conditions.outputs[0], states.outputs[0]],
        nodes=[conditions, states],
        name="nothing",
    )
    return {"body": graph}

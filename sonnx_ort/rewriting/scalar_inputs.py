"""Keeps ONNX Runtime from taking an input's declaration as a scalar for its shape.

It takes tensors of any rank for such an input, and yet computes the Shape of it, and of what
follows from it, from the declaration.
"""

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.symbols import has_scalars, steers
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.hidden_shape import OLDEST_OPSET_FOR_BFLOAT16, hide_shape
from sonnx_ort.rewriting.replacement import Uses, uses_of
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def oldest_opset_of_scalars(examined: ExaminedNode) -> int:
    """The oldest version in which what a node depends on can be passed on in this way.

    Args:
        examined: The node.
    """
    types = {operand.element_type for operand in examined.operands}
    hidden = any(operand.scalar_inputs or operand.mistakable for operand in examined.operands)
    return OLDEST_OPSET_FOR_BFLOAT16 if hidden and ElementType.BFLOAT16 in types else 1


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

"""Any number of tensors or shapes in one vector, as kernels take them."""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.rewriting.standard_nodes import StandardNodes


def in_one_vector(nodes: StandardNodes, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """All elements, all sizes and all ranks of tensors.

    Args:
        nodes: Takes the new nodes.
        operands: The tensors, of one type.
    """
    flat_shape = nodes.constant([-1], "flat_shape")
    flat = [nodes.add("Reshape", [value, flat_shape], "flat") for value in operands]
    shapes = [nodes.shape(value) for value in operands]
    elements = nodes.add("Concat", flat, "elements", {"axis": 0})
    return [elements, joined(nodes, shapes), ranks_in_run(nodes, shapes)]


def joined(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> ir.Value:
    """All sizes of shapes.

    Args:
        nodes: Takes the new nodes.
        shapes: The shapes.
    """
    return nodes.add("Concat", shapes, "operand_shapes", {"axis": 0})


def ranks_in_run(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> ir.Value:
    """The ranks, which are known in a run alone.

    Args:
        nodes: Takes the new nodes.
        shapes: The shapes.
    """
    return nodes.add("Concat", [nodes.shape(shape) for shape in shapes], "ranks", {"axis": 0})

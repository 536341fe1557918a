"""The guard of `SameShape`: operands have one shape.

    Shape(A), Shape(B) -> Equal -> Where(equal, Shape(A), -code) -> Reshape(A) -> A

Nothing is copied: the `Reshape` gives its operand as it is, or fails.
"""

from collections.abc import Sequence
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.profile.operand import has_known_sizes
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.native.guard import GuardedNode, Operands
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def guard_same_shape(
    nodes: StandardNodes,
    operands: Operands,
    node: GuardedNode,
    rules: Sequence[Rule],
    name: str,
) -> Operands:
    """Let operands through where they have one shape.

    Args:
        nodes: Takes the new nodes.
        operands: The operands.
        node: The node that reads them.
        rules: The rules that demand it, in the order of decision.
        name: The guard's name.

    Returns:
        The operands, those behind a guard that have to be.
    """
    first, *others = operands
    own, shapes = nodes.shape(first), [nodes.shape(other) for other in others]
    impossible = nodes.constant([-rules[0].code], "code")
    if not _equal_ranks(node.examined):
        # Equal broadcasts: it would compare a shape of one size to each size of the other.
        shapes = [_of_equal_rank(nodes, own, shape, impossible, name) for shape in shapes]
    decided = _where_equal(nodes, own, shapes, impossible)
    passing = _passing(node.examined)
    names = node.examined.target.operand_names
    labels = [f"{name} ({operand_name})" for operand_name in names]
    labels[passing.index(True)] = name
    return [
        nodes.add("Reshape", [value, decided], "of_equal_shape", name=label) if passes else value
        for value, label, passes in zip(operands, labels, passing, strict=True)
    ]


def _of_equal_rank(
    nodes: StandardNodes, own: ir.Value, shape: ir.Value, impossible: ir.Value, name: str
) -> ir.Value:
    """A shape, reachable only where it has as many sizes as the first one."""
    decided = _where_equal(nodes, nodes.shape(own), [nodes.shape(shape)], impossible)
    return nodes.add("Reshape", [shape, decided], "shape_of_equal_rank", name=f"{name} (rank)")


def _where_equal(
    nodes: StandardNodes, one: ir.Value, others: Sequence[ir.Value], impossible: ir.Value
) -> ir.Value:
    flags = [nodes.add("Equal", [one, other], "equal") for other in others]
    equal = reduce(lambda x, y: nodes.add("And", [x, y], "all_equal"), flags)
    return nodes.add("Where", [equal, one, impossible], "shape_or_code")


def _equal_ranks(examined: ExaminedNode) -> bool:
    """Whether the operands are known to be of one rank."""
    if examined.broadcast is not None:
        return all(examined.broadcast.expanded)
    if examined.operands[0].scalar_inputs:
        return False
    ranks = {None if o.shape is None else len(o.shape) for o in examined.operands}
    return len(ranks) == 1 and None not in ranks


def _passing(examined: ExaminedNode) -> Sequence[bool]:
    """Which operands have to pass the guard.

    One is enough to stop the run. But where ONNX Runtime knows all sizes of another one, it takes
    these for the result's, and leaves out the node and its guard if only the Shape of that is read.
    """
    everything = (True,) * len(examined.operands)
    if examined.broadcast is not None or len(everything) != 2:
        return everything
    a_known, b_known = (has_known_sizes(operand.shape) for operand in examined.operands)
    a, b = examined.target.inputs
    if b_known and not a_known:
        return not _open_input(a), True
    return True, not _open_input(b)


def _open_input(value: ir.Value) -> bool:
    """Whether a value is an input, of a body too, of which ONNX Runtime does not know all sizes."""
    shape = value.shape
    open_shape = shape is None or any(not isinstance(size, int) for size in shape)
    return value.is_graph_input() and open_shape

"""The guard of `SameShape`: operands have one shape.

    Shape(A), Shape(B) -> Equal -> Where(equal, Shape(A), -code) -> Reshape(A) -> A

Nothing is copied: the `Reshape` gives its operand as it is, or fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.profile.operand import has_known_sizes
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.native.guard import GuardedNode, Operands
from sonnx_ort.rewriting.standard_nodes import StandardNodes


@dataclass(frozen=True, slots=True)
class ShapeComparison:
    """What a run tells of the shapes of some operands.

    Attributes:
        shape: The shape of the first one.
        equal: Whether the others have the same sizes, axis by axis.
        impossible: The code of the rule that is broken where one has not.
        passing: The positions of the operands that have to pass a guard.
    """

    shape: ir.Value
    equal: ir.Value
    impossible: ir.Value
    passing: Sequence[int]

    def or_code(self, nodes: StandardNodes, decided: ir.Value) -> ir.Value:
        """What is decided where the operands agree, and the code elsewhere.

        Args:
            nodes: Takes the new node.
            decided: A shape, or the code of another rule.
        """
        return nodes.add("Where", [self.equal, decided, self.impossible], "shape_or_code")


def compare_shapes(
    nodes: StandardNodes,
    operands: Operands,
    node: GuardedNode,
    rules: Sequence[Rule],
    name: str,
) -> ShapeComparison:
    """Compare the shapes of operands.

    Args:
        nodes: Takes the new nodes.
        operands: The operands.
        node: The node that reads them.
        rules: The rules that demand that they are equal, in the order of decision.
        name: The guard's name.
    """
    first, *others = operands
    own, shapes = nodes.shape(first), [nodes.shape(other) for other in others]
    impossible = nodes.constant([-rules[0].code], "code")
    if not _equal_ranks(node.examined):
        # Equal broadcasts: it would compare a shape of one size to each size of the other.
        shapes = [_of_equal_rank(nodes, own, shape, impossible, name) for shape in shapes]
    return ShapeComparison(own, _all_equal(nodes, own, shapes), impossible, _passing(node.examined))


def _of_equal_rank(
    nodes: StandardNodes, own: ir.Value, shape: ir.Value, impossible: ir.Value, name: str
) -> ir.Value:
    """A shape, reachable only where it has as many sizes as the first one."""
    rank = nodes.shape(own)
    equal = _all_equal(nodes, rank, [nodes.shape(shape)])
    decided = nodes.add("Where", [equal, rank, impossible], "shape_or_code")
    return nodes.add("Reshape", [shape, decided], "shape_of_equal_rank", name=f"{name} (rank)")


def _all_equal(nodes: StandardNodes, one: ir.Value, others: Sequence[ir.Value]) -> ir.Value:
    flags = [nodes.add("Equal", [one, other], "equal") for other in others]
    return reduce(lambda x, y: nodes.add("And", [x, y], "all_equal"), flags)


def _equal_ranks(examined: ExaminedNode) -> bool:
    """Whether the operands are known to be of one rank."""
    if examined.broadcast is not None:
        return all(examined.broadcast.expanded)
    if examined.operands[0].scalar_inputs:
        return False
    ranks = {None if o.shape is None else len(o.shape) for o in examined.operands}
    return len(ranks) == 1 and None not in ranks


def _passing(examined: ExaminedNode) -> Sequence[int]:
    """Which operands have to pass the guard.

    One is enough to stop the run. But where ONNX Runtime knows all sizes of another one, it takes
    these for the result's, and leaves out the node and its guard if only the Shape of that is read.
    """
    everything = range(len(examined.operands))
    if examined.broadcast is not None or len(everything) != 2:
        return everything
    a_known, b_known = (has_known_sizes(operand.shape) for operand in examined.operands)
    a, b = examined.target.inputs
    if b_known and not a_known:
        return [1] if _open_input(a) else everything
    return [0] if _open_input(b) else everything


def _open_input(value: ir.Value) -> bool:
    """Whether a value is an input, of a body too, of which ONNX Runtime does not know all sizes."""
    shape = value.shape
    open_shape = shape is None or any(not isinstance(size, int) for size in shape)
    return value.is_graph_input() and open_shape

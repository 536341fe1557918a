"""The guard of rules that demand equal shapes.

Shape(A), Shape(B) -> Equal -> Where(equal, Shape(A), -code) -> Reshape(A) -> A

Nothing is copied: the `Reshape` returns its operand unchanged, or fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.guards.guard import Operands
from sonnx_ort.guards.shape_guards import has_equal_ranks
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.rule import Rule


@dataclass(frozen=True, slots=True)
class ShapeComparison:
    """The comparison of the shapes of operands in a run.

    Attributes:
        shape: The shape of the first operand.
        equal: Whether the others have the same sizes, axis by axis.
        impossible: The negative code of the rule that a different shape violates.
    """

    shape: ir.Value
    equal: ir.Value
    impossible: ir.Value

    def or_code(self, nodes: StandardNodes, decided: ir.Value) -> ir.Value:
        """A decision if the shapes are equal, else the code."""
        return nodes.add("Where", [self.equal, decided, self.impossible], "shape_or_code")


def compare_shapes(
    nodes: StandardNodes,
    operands: Operands,
    examined: ExaminedNode,
    rules: Sequence[Rule],
    name: str,
) -> ShapeComparison:
    """Compare the shapes of operands.

    The rules that demand equal shapes are in the order of decision; the name is that of the guard.
    """
    first, *others = operands
    # A proof may be left to the run that is not certified, though there is no other operand.
    own, shapes = nodes.shape(first), [nodes.shape(other) for other in others or [first]]
    impossible = nodes.constant([-rules[0].code], "code")
    # Behind a Broadcast, shapes are only compared if an operand was not expanded.
    if examined.broadcast is not None or not has_equal_ranks(examined.operands):
        # Equal broadcasts: it would compare a shape of one size with each size of the other.
        shapes = [_of_equal_rank(nodes, own, shape, impossible, name) for shape in shapes]
    return ShapeComparison(own, _all_equal(nodes, own, shapes), impossible)


def _of_equal_rank(
    nodes: StandardNodes, own: ir.Value, shape: ir.Value, impossible: ir.Value, name: str
) -> ir.Value:
    """A shape, readable only if its rank is that of the first."""
    rank = nodes.shape(own)
    equal = _all_equal(nodes, rank, [nodes.shape(shape)])
    decided = nodes.add("Where", [equal, rank, impossible], "shape_or_code")
    return nodes.add("Reshape", [shape, decided], "shape_of_equal_rank", name=f"{name} (rank)")


def _all_equal(nodes: StandardNodes, one: ir.Value, others: Sequence[ir.Value]) -> ir.Value:
    flags = [nodes.add("Equal", [one, other], "equal") for other in others]
    return reduce(lambda x, y: nodes.add("And", [x, y], "all_equal"), flags)

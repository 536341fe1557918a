"""The guard of `Slicing`: what a Slice cuts out lies within its axes.

Shape(X), axes -> Gather -> sizes; starts, ends and steps are compared with these
"""

import onnx_ir as ir

from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.requirements.slicing import EveryAxis, SliceDemand, Slicing
from sonnx_ort.rewriting.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Presumed,
    any_true,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def slice_guard(requirement: Slicing) -> DecidingGuard:
    """The guard of one demand.

    Args:
        requirement: What is demanded.
    """

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Look at each axis that is cut."""
        broken = _Comparison(nodes, operands, node).breaking(requirement.demand)
        return Flag(any_true(nodes, broken, "any_beyond"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Presumed.NOTHING)


class _Comparison:
    """Compares the indices of a Slice with the sizes of the axes that it cuts."""

    def __init__(self, nodes: StandardNodes, operands: Operands, node: GuardedNode) -> None:
        """Find the sizes."""
        data, *indices = operands
        self._nodes = nodes
        types = (operand.element_type for operand in node.examined.operands[1:])
        self._starts, self._ends, axes, steps = (
            index if known == "int64" else nodes.cast(index, ir.DataType.INT64, "index")
            for index, known in zip(indices, types, strict=True)
        )
        shape = nodes.shape(data)
        if not _every_axis_is_proved(node):
            shape, axes = _as_if_all_were_there(nodes, shape, axes)
        self._sizes = nodes.add("Gather", [shape, axes], "sizes", {"axis": 0})
        self._zero = nodes.constant(0, "zero")
        self._downwards = self._less(steps, self._zero)

    def breaking(self, demand: SliceDemand) -> ir.Value:
        """Which axes do not meet a demand."""
        match demand:
            case SliceDemand.START_WITHIN:
                lowest = self._nodes.add("Neg", [self._sizes], "negative")
                beyond = self._nodes.add("Not", [self._less(self._starts, self._sizes)], "beyond")
                return self._either(self._less(self._starts, lowest), beyond)
            case SliceDemand.END_WITHIN:
                shift = self._nodes.cast(self._downwards, ir.DataType.INT64, "shift")
                negative = self._nodes.add("Neg", [self._sizes], "negative")
                lowest = self._nodes.add("Sub", [negative, shift], "lowest")
                highest = self._nodes.add("Sub", [self._sizes, shift], "highest")
                return self._either(self._less(self._ends, lowest), self._less(highest, self._ends))
            case SliceDemand.IN_ORDER:
                start, end = self._from_the_front(self._starts), self._from_the_front(self._ends)
                # ONNX Runtime chooses between numbers, not between flags.
                first = self._nodes.add("Where", [self._downwards, end, start], "lowest")
                last = self._nodes.add("Where", [self._downwards, start, end], "highest")
                return self._less(last, first)

    def _from_the_front(self, places: ir.Value) -> ir.Value:
        counted = self._nodes.add("Add", [places, self._sizes], "counted")
        from_the_end = self._less(places, self._zero)
        return self._nodes.add("Where", [from_the_end, counted, places], "from_the_front")

    def _less(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return self._nodes.add("Less", [one, other], "is_less")

    def _either(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return self._nodes.add("Or", [one, other], "is_either")


def _every_axis_is_proved(node: GuardedNode) -> bool:
    """Whether as many axes as there are are named in every run."""
    obligations = node.examined.obligations
    about = [o for o in obligations if isinstance(o.rule.requirement, EveryAxis)]
    return all(obligation.status is Status.PROVED for obligation in about)


def _as_if_all_were_there(
    nodes: StandardNodes, shape: ir.Value, axes: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """A shape and axes that Gather does not refuse before the number of axes is told.

    Where that is another than the rank, whatever the first size is takes the place of all sizes.
    """
    as_many = nodes.add("Equal", [nodes.shape(axes), nodes.shape(shape)], "as_many")
    # Counted from either end the sizes are the same, and of a scalar there is one as well.
    around = nodes.add(
        "Concat", [shape, nodes.constant([1], "one_more"), shape], "sizes", {"axis": 0}
    )
    return around, nodes.add("Where", [as_many, axes, nodes.constant(0, "first")], "axes")

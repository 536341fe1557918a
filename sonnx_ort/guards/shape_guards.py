"""Guards of Slice, and of the sizes that a Reshape infers.

Shape(X), axes -> Gather -> sizes, which are compared with starts, ends and steps

They read shapes, and the few elements that name sizes or axes.
"""

from sonnx_ort.guards.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    GuardNodes,
    Operands,
    Precondition,
    Value,
    any_true,
)
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.reshaping import InferableSize
from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.terms.operand import Operand


def slice_guard(requirement: Slicing) -> DecidingGuard:
    """The guard of one requirement of Slice."""

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Check each sliced axis."""
        in_place = _names_axes_in_order(node)
        broken = _Comparison(nodes, operands, node, in_place=in_place).breaking(requirement.demand)
        if in_place:
            return Flag(broken, when_kept=False)
        return Flag(any_true(nodes, broken, "any_beyond"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


class _Comparison:
    """Compares the indices of a Slice with the sizes of its axes.

    Constant starts from the front and steps forwards, which most Slices have, need the fewest
    nodes.
    """

    def __init__(
        self, nodes: GuardNodes, operands: Operands, node: GuardedNode, *, in_place: bool
    ) -> None:
        """Compute the sizes of the axes; these are the whole shape if they are named in order."""
        data, *indices = operands
        self._nodes = nodes
        _, starts, _, _, steps = node.operands
        self._forwards = _none_below(steps, 1)
        self._first = starts.constant if self._forwards and _none_below(starts, 0) else None
        types = (operand.element_type for operand in node.operands[1:])
        self._starts, self._ends, axes, steps_in_run = (
            index if known == "int64" else nodes.cast(index, ElementType.INT64, "index")
            for index, known in zip(indices, types, strict=True)
        )
        shape = nodes.shape(data)
        if not node.names_every_axis:
            shape, axes = _always_gatherable(nodes, shape, axes)
        self._sizes = shape
        if not in_place:
            self._sizes = nodes.add("Gather", [shape, axes], "sizes", {"axis": 0})
        self._zero = nodes.constant(0, "zero")
        if not self._forwards:
            self._downwards = self._less(steps_in_run, self._zero)

    def breaking(self, demand: SliceDemand) -> Value:
        """Which axes violate a demand."""
        match demand:
            case SliceDemand.START_WITHIN if self._first is not None:
                after = self._nodes.constant([int(first) + 1 for first in self._first], "behind")
                return self._less(self._sizes, after)
            case SliceDemand.START_WITHIN:
                lowest = self._nodes.add("Neg", [self._sizes], "negative")
                beyond = self._nodes.add("Not", [self._less(self._starts, self._sizes)], "beyond")
                return self._either(self._less(self._starts, lowest), beyond)
            case SliceDemand.END_WITHIN:
                lowest = self._nodes.add("Neg", [self._sizes], "negative")
                highest = self._sizes
                if not self._forwards:
                    shift = self._nodes.cast(self._downwards, ElementType.INT64, "shift")
                    lowest = self._nodes.add("Sub", [lowest, shift], "lowest")
                    highest = self._nodes.add("Sub", [self._sizes, shift], "highest")
                return self._either(self._less(self._ends, lowest), self._less(highest, self._ends))
            case SliceDemand.IN_ORDER:
                end = self._from_the_front(self._ends)
                if self._first is not None:
                    return self._less(end, self._starts)
                start = self._from_the_front(self._starts)
                if self._forwards:
                    return self._less(end, start)
                # ONNX Runtime implements Where for numbers, but not for booleans.
                first = self._nodes.add("Where", [self._downwards, end, start], "lowest")
                last = self._nodes.add("Where", [self._downwards, start, end], "highest")
                return self._less(last, first)

    def _from_the_front(self, places: Value) -> Value:
        counted = self._nodes.add("Add", [places, self._sizes], "counted")
        from_the_end = self._less(places, self._zero)
        return self._nodes.add("Where", [from_the_end, counted, places], "from_the_front")

    def _less(self, one: Value, other: Value) -> Value:
        return self._nodes.add("Less", [one, other], "is_less")

    def _either(self, one: Value, other: Value) -> Value:
        return self._nodes.add("Or", [one, other], "is_either")


def _none_below(operand: Operand, least: int) -> bool:
    return operand.constant is not None and bool((operand.constant >= least).all())


def _names_axes_in_order(node: GuardedNode) -> bool:
    """Whether the Slice certainly names all axes, from the first to the last."""
    data, axes = node.operands[0], node.operands[3]
    if not data.shape or data.scalar_inputs or axes.constant is None:
        return False
    return bool(axes.constant.tolist() == list(range(len(data.shape))))


def _always_gatherable(nodes: GuardNodes, shape: Value, axes: Value) -> tuple[Value, Value]:
    """A shape and axes for which Gather never fails, before the number of axes is checked.

    If the number of axes is not the rank, the first size replaces all sizes.
    """
    as_many = nodes.add("Equal", [nodes.shape(axes), nodes.shape(shape)], "as_many")
    # Indices from either end give the same sizes, and a scalar has one size as well.
    around = nodes.add(
        "Concat", [shape, nodes.constant([1], "one_more"), shape], "sizes", {"axis": 0}
    )
    return around, nodes.add("Where", [as_many, axes, nodes.constant(0, "first")], "axes")


def inferable_size_guard(requirement: InferableSize) -> DecidingGuard:
    """The guard of a size of -1."""

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Whether a size is -1, and another of the result is 0."""
        data, sizes = operands
        others = nodes.shape(data) if requirement.copies_zeros else sizes
        zeros = nodes.add("Equal", [others, nodes.constant(0, "zero")], "is_zero")
        if node.operands[1].constant is not None:
            # One of them is -1: else the rule is proved.
            if requirement.copies_zeros and not node.may_be_scalar:
                return Flag(zeros, when_kept=False)
            return Flag(any_true(nodes, zeros, "some_zero"), when_kept=False)
        inferred = nodes.add("Equal", [sizes, nodes.constant(-1, "minus_one")], "is_inferred")
        found = [any_true(nodes, zeros, "some_zero"), any_true(nodes, inferred, "some_inferred")]
        return Flag(nodes.add("And", found, "not_inferable"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)

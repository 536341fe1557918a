"""Guards of axes: shapes that are equal but on one, and axes that are named once.

Shape(X0), Shape(X1) -> Equal -> Or(on the axis) -> all?
"""

from collections.abc import Sequence

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
from sonnx_ort.profile.requirements.axes import AxesNamedOnce, EqualButOnAxis, named_axes
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand


def equal_but_on_axis_guard(requirement: EqualButOnAxis) -> DecidingGuard:
    """The guard of shapes that are equal but on one axis."""

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Compare axis by axis what is not proved to be equal."""
        known = node.operands
        first, *others = (nodes.shape(operand) for operand in operands)
        rank = None if has_equal_ranks(known) else nodes.shape(first)
        places = None if rank is None else _places(nodes, rank)
        on_axis = _on_axis(nodes, requirement.axis, known[0], rank, places)
        flags = []
        open_ones = [
            other
            for other, facts in zip(others, known[1:], strict=True)
            if requirement.judge([known[0], facts]).status is not Status.PROVED
        ]
        # Without a certificate, all of them may be proved.
        for other in open_ones or others:
            sizes = other
            if rank is not None and places is not None:
                flags.append(nodes.add("Equal", [nodes.shape(other), rank], "equal_rank"))
                # As many sizes as the first operand has; they count if the ranks are equal.
                many = nodes.add("Concat", [other, first], "sizes", {"axis": 0})
                sizes = nodes.add("Gather", [many, places], "sizes", {"axis": 0})
            equal = nodes.add("Equal", [sizes, first], "equal")
            flags.append(nodes.add("Or", [equal, on_axis], "equal_or_the_axis"))
        kept = nodes.together("And", flags, "all_equal")
        if not node.may_be_scalar:
            return Flag(kept, when_kept=True)
        # What passes on a scalar is decided by one flag.
        differs = nodes.negated(kept, "differs")
        return Flag(any_true(nodes, differs, "any_differs"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


def _on_axis(
    nodes: GuardNodes, axis: int, known: Operand, rank: Value | None, places: Value | None
) -> Value:
    """Whether each axis of the first operand is the one on which sizes may differ."""
    if rank is None or places is None:
        count = len(known.shape or ())
        flags = [place == (axis + count if axis < 0 else axis) for place in range(count)]
        return nodes.constant(flags, "is_the_axis", ElementType.BOOL)
    number = nodes.constant([axis], "axis")
    if axis < 0:
        number = nodes.add("Add", [number, rank], "axis_from_the_front")
    return nodes.add("Equal", [places, number], "is_the_axis")


def has_equal_ranks(operands: Sequence[Operand]) -> bool:
    """Whether the operands are known to have equal ranks."""
    ranks = {None if o.shape is None else len(o.shape) for o in operands}
    return len(ranks) == 1 and None not in ranks and not operands[0].scalar_inputs


def _places(nodes: GuardNodes, count: Value) -> Value:
    """The numbers from 0 on, as many as a vector of one element says."""
    zero, one = nodes.constant(0, "zero"), nodes.constant(1, "one")
    scalar = nodes.add("Reshape", [count, nodes.constant([], "scalar")], "count")
    return nodes.add("Range", [zero, scalar, one], "places")


def axes_named_once_guard(requirement: AxesNamedOnce) -> DecidingGuard:
    """The guard of axes that are named once."""

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Look at the rank if the axes are known, and at each pair of axes otherwise."""
        data, *named = operands
        axes = named_axes(node.operands, {"axes": requirement.axes})
        rank = nodes.shape(nodes.shape(data))
        if axes is None:
            return _named_twice(nodes, named[0], rank)
        # Of such a rank, an axis from the front is one from the end.
        ranks = sorted({one - other for one in axes for other in axes if other < 0 <= one})
        broken = nodes.add("Equal", [rank, nodes.constant(ranks, "ranks")], "is_one_axis")
        return Flag(any_true(nodes, broken, "any_named_twice"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


def _named_twice(nodes: GuardNodes, axes: Value, rank: Value) -> Flag:
    """Compare each axis with all after it, counted from the front."""
    axes = nodes.add("Reshape", [axes, nodes.constant([-1], "line")], "axes_in_line")
    negative = nodes.add("Less", [axes, nodes.constant(0, "zero")], "is_negative")
    counted = nodes.add("Add", [axes, rank], "counted")
    axes = nodes.add("Where", [negative, counted, axes], "from_the_front")
    places = _places(nodes, nodes.shape(axes))
    column = nodes.constant([-1, 1], "column")
    standing = [nodes.add("Reshape", [v, column], "in_column") for v in (axes, places)]
    equal = nodes.add("Equal", [standing[0], axes], "is_equal")
    after = nodes.add("Less", [standing[1], places], "is_behind")
    twice = nodes.add("And", [equal, after], "is_named_twice")
    return Flag(any_true(nodes, twice, "any_named_twice"), when_kept=False)

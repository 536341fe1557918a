"""The native backend's decision about a Broadcast.

In front of a node that reads all operands, the operators that expand them decide as well: an
`Expand` refuses sizes that differ and are not 1. What is left is a size of 0 against one of 1.

    Expand(A, Where(Shape(A) + Shape(B) = 1, 2, Shape(B))) -> A
    Expand(B, Shape(of the expanded A)) -> B

    Reshape(A, Max(Shape(A), 1)) -> A       where only A has sizes that are not 1
    Expand(B, Shape(A)) -> B

Where it takes more, the shapes are looked at alone:

    Shape(X0), Shape(X1) -> largest size of each axis -> Reshape -> common
                            [rank, or -code where a size is neither the largest nor 1] -^

What refuses is the guard: its message tells the operator, the node and the rule.
"""

from collections.abc import Sequence
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import BroadcastPlan
from sonnx_ort.custom_ops.failure_channel import guard_name, refusing_guard_name
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.operand import Dimension, Operand
from sonnx_ort.profile.requirements.broadcastable import aligned_axes, fit_in_every_run
from sonnx_ort.rewriting.broadcast_lowering import ShapeDecisions, expand
from sonnx_ort.rewriting.native.alignment import aligned_shape
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_PAIR = 2

_MAX_OF_INTEGERS = 12
"""The first version of the standard operators in which Max takes integers."""


def _expanded(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> Sequence[ir.Value]:
    """Bring values to their common shape; a node that reads all of them fails if there is none.

    Args:
        nodes: Takes the new nodes.
        label: The name of the node that the values are operands of.
        values: The values, lined up at their last axes.
        plan: What is known of them.
    """
    operands = plan.operands
    if not plan.fits:
        bearer = _bearer(plan)
        if bearer is None and len(values) == _PAIR:
            return _expanded_to_each_other(nodes, label, values, operands)
        if bearer is not None:
            exempt = _axes_exempt_from_size_0(operands, bearer)
            if exempt is not None:
                return _expanded_to_positive(nodes, label, values, plan, (bearer, exempt))
            if len(values) == _PAIR and _rank(operands) is not None:
                return _expanded_to_one(nodes, label, values, operands, bearer)
    return expand(nodes, values, plan, _common_shape(nodes, label, values, plan))


def _bearer(plan: BroadcastPlan) -> int | None:
    """The position of the first value that has the common shape, if there is one."""
    return next((i for i, expanded in enumerate(plan.expanded) if not expanded), None)


def _expanded_to_positive(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    bearing: tuple[int, Sequence[bool]],
) -> list[ir.Value]:
    """Expand to the shape of one value, which a size of 0 keeps from passing.

    Args:
        nodes: Takes the new nodes.
        label: The name of the node that the values are operands of.
        values: The values.
        plan: What is known of them.
        bearing: The position of the value, and the axes of it that may have the size 0.
    """
    bearer, exempt = bearing
    sizes = nodes.shape(values[bearer])
    if any(exempt) or nodes.opset < _MAX_OF_INTEGERS:
        forbidden = nodes.constant([-1 if axis else 0 for axis in exempt] or [0], "forbidden")
        empty = nodes.add("Equal", [sizes, forbidden], "is_empty")
        kept = _kept_unless(nodes, label, values[bearer], sizes, empty)
    else:
        # An empty tensor cannot be given a shape without a 0.
        positive = nodes.add("Max", [sizes, nodes.constant([1], "one")], "positive_sizes")
        name = refusing_guard_name(BROADCAST.name, label, E1)
        kept = nodes.add("Reshape", [values[bearer], positive], "kept", name=name)
    results = expand(nodes, values, plan, sizes)
    results[bearer] = kept
    return results


def _kept_unless(
    nodes: StandardNodes, label: str, value: ir.Value, sizes: ir.Value, clash: ir.Value
) -> ir.Value:
    """A value, reachable only where no axis clashes."""
    code = nodes.constant([-E1.code], "code")
    asked = nodes.add("Where", [clash, code, sizes], "sizes_or_code")
    name = guard_name(BROADCAST.name, label, [E1])
    return nodes.add("Reshape", [value, asked], "kept", name=name)


def _expanded_to_one(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    operands: Sequence[Operand],
    bearer: int,
) -> list[ir.Value]:
    """Expand one of two values of known ranks to the shape of the other, which stays as it is."""
    results = list(values)
    sizes = nodes.shape(values[bearer])
    if _may_clash_at_0(operands):
        clash = _zero_against_one(nodes, *_padded_shapes(nodes, values, operands))
        results[bearer] = _kept_unless(nodes, label, values[bearer], sizes, clash)
    name = refusing_guard_name(BROADCAST.name, label, E1)
    other = 1 - bearer
    results[other] = nodes.add("Expand", [values[other], sizes], "expanded", name=name)
    return results


def _expanded_to_each_other(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    operands: Sequence[Operand],
) -> list[ir.Value]:
    """Expand each of two values to the shape of the other."""
    one, other = values
    if _may_clash_at_0(operands):
        sizes, wanted = _padded_shapes(nodes, values, operands)
        # Neither 0 nor 1 can be expanded to 2 and fit the other.
        impossible = nodes.constant([2], "impossible")
        clash = _zero_against_one(nodes, sizes, wanted)
        wanted = nodes.add("Where", [clash, impossible, wanted], "sizes_or_impossible")
    else:
        wanted = nodes.shape(other)
    name = refusing_guard_name(BROADCAST.name, label, E1)
    first = nodes.add("Expand", [one, wanted], "expanded", name=name)
    second = nodes.add("Expand", [other, nodes.shape(first)], "expanded", name=f"{name} (B)")
    return [first, second]


def _zero_against_one(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    """For each axis of two shapes of one length, whether a size is 0 and the other 1."""
    sums = nodes.add("Add", [one, other], "sums")
    return nodes.add("Equal", [sums, nodes.constant([1], "one")], "is_0_against_1")


def _may_clash_at_0(operands: Sequence[Operand]) -> bool:
    """Whether two operands may have the sizes 0 and 1 on an axis."""
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands):
        return True
    return any(
        not fit_in_every_run(operands, sizes)
        and all(size in (0, 1) for size in sizes if isinstance(size, int))
        for _, sizes in aligned_axes(shapes)
    )


def _common_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> ir.Value:
    """Find the common shape, and check that there is one where that is not proved.

    Args:
        nodes: Takes the new nodes.
        label: The name of the node that the values are operands of.
        values: The values, lined up at their last axes.
        plan: What is known of them.
    """
    if len(values) == 1:
        return nodes.shape(values[0])
    operands = plan.operands
    bearer = _bearer(plan)
    proved = plan.fits
    if bearer is not None:
        sizes = nodes.shape(values[bearer])
        exempt = None if proved else _axes_exempt_from_size_0(operands, bearer)
        if proved:
            return sizes
        if exempt is not None:
            fits = _positive(nodes, sizes, exempt)
            return _guarded(nodes, label, sizes, fits, _rank(operands))
    shapes = _padded_shapes(nodes, values, operands)
    largest = reduce(lambda one, other: _maximum(nodes, one, other), shapes)
    if proved:
        return largest
    match shapes:
        case [one, other]:
            fits = _equal_or_one(nodes, one, other)
        case _:
            fits = _all(nodes, [_largest_or_one(nodes, shape, largest) for shape in shapes])
    return _guarded(nodes, label, largest, fits, _rank(operands))


def _axes_exempt_from_size_0(operands: Sequence[Operand], bearer: int) -> list[bool] | None:
    """For each axis of the common shape, whether its sizes fit in every run.

    None if there are others on which more can go wrong than a size of 0 against one of 1, or if
    the rank is unknown and not everything but the bearer is a scalar.
    """
    others = [operand.shape for index, operand in enumerate(operands) if index != bearer]
    shape = operands[bearer].shape
    if shape is None:
        return [] if all(other == () for other in others) else None
    if any(other is None for other in others):
        return None
    exempt: list[bool] = []
    for _, sizes in aligned_axes([operand.shape or () for operand in operands]):
        certain = fit_in_every_run(operands, sizes)
        if not certain and any(s != 1 for i, s in enumerate(sizes) if i != bearer):
            return None
        exempt.append(certain and not _positive_size(sizes[bearer]))
    return exempt


def _positive_size(size: Dimension) -> bool:
    return isinstance(size, int) and size > 0


def _positive(nodes: StandardNodes, sizes: ir.Value, exempt: Sequence[bool]) -> ir.Value:
    """For each axis, whether its size is positive or need not be."""
    positive = nodes.add("Less", [nodes.constant([0], "zero"), sizes], "positive")
    if not any(exempt):
        return positive
    mask = nodes.constant([int(axis) for axis in exempt], "exempt", ir.DataType.BOOL)
    return nodes.add("Or", [positive, mask], "fits")


def _equal_or_one(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    """For each axis of two tensors, whether the sizes are equal or the smaller is 1."""
    smaller = nodes.add("Less", [one, other], "smaller")
    smallest = nodes.add("Where", [smaller, one, other], "smallest")
    repeated = nodes.add("Equal", [smallest, nodes.constant([1], "one")], "is_one")
    equal = nodes.add("Equal", [one, other], "is_equal")
    return nodes.add("Or", [equal, repeated], "fits")


def _largest_or_one(nodes: StandardNodes, sizes: ir.Value, largest: ir.Value) -> ir.Value:
    """For each axis, whether a tensor's size is the largest or 1."""
    one = nodes.add("Equal", [sizes, nodes.constant([1], "one")], "is_one")
    equal = nodes.add("Equal", [sizes, largest], "is_largest")
    return nodes.add("Or", [equal, one], "fits")


def _all(nodes: StandardNodes, conditions: Sequence[ir.Value]) -> ir.Value:
    return reduce(lambda one, other: nodes.add("And", [one, other], "all_fit"), conditions)


def _maximum(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    # Older versions of Max take no integers.
    smaller = nodes.add("Less", [one, other], "smaller")
    return nodes.add("Where", [smaller, other, one], "largest")


def _rank(operands: Sequence[Operand]) -> int | None:
    """The rank of the common shape, if that of each operand is known."""
    ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
    return max(ranks) if len(ranks) == len(operands) else None


def _padded_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], operands: Sequence[Operand]
) -> list[ir.Value]:
    """The shapes with sizes of 1 in front until all have one rank."""
    shapes = [nodes.shape(value) for value in values]
    rank = _rank(operands)
    if rank is None:
        return _padded_to_ranks_of_the_run(nodes, shapes)
    missing = [rank - len(operand.shape or ()) for operand in operands]
    return [
        _padded(nodes, shape, axes) if axes else shape
        for shape, axes in zip(shapes, missing, strict=True)
    ]


def _padded(nodes: StandardNodes, shape: ir.Value, axes: int) -> ir.Value:
    ones = nodes.constant([1] * axes, "ones")
    return nodes.add("Concat", [ones, shape], "aligned", {"axis": 0})


def _padded_to_ranks_of_the_run(nodes: StandardNodes, shapes: Sequence[ir.Value]) -> list[ir.Value]:
    ranks = [nodes.shape(shape) for shape in shapes]
    rank = reduce(lambda one, other: _maximum(nodes, one, other), ranks)
    padded = []
    for shape, own in zip(shapes, ranks, strict=True):
        missing = nodes.add("Add", [rank, nodes.add("Neg", [own], "negative_rank")], "missing")
        one = ir.tensor([1], ir.DataType.INT64)
        ones = nodes.add("ConstantOfShape", [missing], "ones", {"value": one})
        padded.append(nodes.add("Concat", [ones, shape], "aligned", {"axis": 0}))
    return padded


def _guarded(
    nodes: StandardNodes, label: str, sizes: ir.Value, fits: ir.Value, rank: int | None
) -> ir.Value:
    """The sizes, reachable only where every axis fits."""
    own_rank = nodes.constant([rank], "rank") if rank is not None else nodes.shape(sizes)
    code = nodes.constant([-E1.code], "code")
    per_axis = nodes.add("Where", [fits, own_rank, code], "rank_or_code")
    decided = per_axis if rank == 1 else _smallest(nodes, per_axis, own_rank, rank)
    name = guard_name(BROADCAST.name, label, [E1])
    return nodes.add("Reshape", [sizes, decided], "common_shape", name=name)


def _smallest(
    nodes: StandardNodes, per_axis: ir.Value, own_rank: ir.Value, rank: int | None
) -> ir.Value:
    """The rank if it stands at every axis, else the code."""
    if not rank:
        # The smallest of no axes would be no rank.
        per_axis = nodes.add("Concat", [per_axis, own_rank], "ranks_or_code", {"axis": 0})
    return nodes.add("ReduceMin", [per_axis], "decided", {"keepdims": 1})


BY_OPERATORS = ShapeDecisions(
    common=_common_shape, expanded=_expanded, aligned=aligned_shape, oldest_opset=9
)
"""Standard operators."""

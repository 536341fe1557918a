"""The native backend's decision about a Broadcast: standard operators on the shapes alone.

    Shape(X0), Shape(X1) -> largest size of each axis -> Reshape -> common
                            [rank, or -code where a size is neither the largest nor 1] -^

The `Reshape` is the guard: its message tells the operator, the node and the rule.
"""

from collections.abc import Sequence
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import BroadcastPlan
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.operand import Dimension, Operand
from sonnx_ort.profile.requirements.broadcastable import aligned_axes, fit_in_every_run
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def bearer_of(plan: BroadcastPlan) -> int | None:
    """The position of the first value that has the common shape, if there is one.

    Args:
        plan: What is known of the values.
    """
    return next((i for i, expanded in enumerate(plan.expanded) if not expanded), None)


def common_shape(
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
    bearer = bearer_of(plan)
    if bearer is not None:
        sizes = nodes.shape(values[bearer])
        if plan.fits:
            return sizes
        exempt = axes_exempt_from_size_0(operands, bearer)
        if exempt is not None:
            fits = _positive(nodes, sizes, exempt)
            return _guarded(nodes, label, sizes, fits, rank_of(operands))
    shapes = padded_shapes(nodes, values, operands)
    largest = reduce(lambda one, other: _maximum(nodes, one, other), shapes)
    if plan.fits:
        return largest
    match shapes:
        case [one, other]:
            fits = _equal_or_one(nodes, one, other)
        case _:
            fits = _all(nodes, [_largest_or_one(nodes, shape, largest) for shape in shapes])
    return _guarded(nodes, label, largest, fits, rank_of(operands))


def axes_exempt_from_size_0(operands: Sequence[Operand], bearer: int) -> list[bool] | None:
    """For each axis of the common shape, whether its sizes fit in every run.

    None if there are others on which more can go wrong than a size of 0 against one of 1, or if
    the rank is unknown and not everything but the bearer is a scalar.

    Args:
        operands: What is known of the tensors, lined up at their last axes.
        bearer: The position of one that has the common shape.
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


def rank_of(operands: Sequence[Operand]) -> int | None:
    """The rank of the common shape, if that of each operand is known.

    Args:
        operands: What is known of the tensors.
    """
    ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
    return max(ranks) if len(ranks) == len(operands) else None


def padded_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], operands: Sequence[Operand]
) -> list[ir.Value]:
    """The shapes with sizes of 1 in front until all have one rank.

    Args:
        nodes: Takes the new nodes.
        values: The tensors.
        operands: What is known of them.
    """
    shapes = [nodes.shape(value) for value in values]
    rank = rank_of(operands)
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
    one = ir.tensor([1])
    padded = []
    for shape, own in zip(shapes, ranks, strict=True):
        missing = nodes.add("Add", [rank, nodes.add("Neg", [own], "negative_rank")], "missing")
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

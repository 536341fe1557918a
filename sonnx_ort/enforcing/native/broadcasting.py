"""Guards of the rules of Broadcast.

Shape(X0), Shape(X1) -> largest size of each axis -> Reshape -> common
                            [rank, or -code if a size is neither the largest nor 1] -^

The `Reshape` is the guard: its name has the operator, the node and the rule.
"""

from collections.abc import Sequence
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import BroadcastPlan
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.requirements.broadcasting import aligned_axes, fit_in_every_run
from sonnx_ort.terms.operand import Operand


def index_of_common_shape(plan: BroadcastPlan) -> int | None:
    """The position of the first value that already has the common shape, or None."""
    return next((i for i, expanded in enumerate(plan.expanded) if not expanded), None)


def common_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> ir.Value:
    """Compute the common shape of values aligned at their last axes, checked where not proved."""
    if len(values) == 1:
        return nodes.shape(values[0])
    operands = plan.operands
    reference = index_of_common_shape(plan)
    if reference is not None:
        sizes = nodes.shape(values[reference])
        if plan.fits:
            return sizes
        exempt = axes_exempt_from_size_0(operands, reference)
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
            each_fits = [_largest_or_one(nodes, shape, largest) for shape in shapes]
            fits = nodes.together("And", each_fits, "all_fit")
    return _guarded(nodes, label, largest, fits, rank_of(operands))


def axes_exempt_from_size_0(operands: Sequence[Operand], reference: int) -> list[bool] | None:
    """For each axis of the common shape, whether its sizes are compatible in every run.

    None if anything other than a size of 0 against 1 can violate the rule, or if the rank is
    unknown and another operand is not a scalar.

    The operands are aligned at their last axes; `reference` is one that has the common shape.
    """
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands):
        scalars = all(o.shape == () for i, o in enumerate(operands) if i != reference)
        return [] if scalars else None
    exempt: list[bool] = []
    for _, sizes in aligned_axes(shapes):
        certain = fit_in_every_run(operands, sizes)
        if not certain and any(s != 1 for i, s in enumerate(sizes) if i != reference):
            return None
        size = sizes[reference]
        exempt.append(certain and not (isinstance(size, int) and size > 0))
    return exempt


def _positive(nodes: StandardNodes, sizes: ir.Value, exempt: Sequence[bool]) -> ir.Value:
    """For each axis, whether its size is positive or exempt."""
    positive = nodes.add("Less", [nodes.constant([0], "zero"), sizes], "positive")
    if not any(exempt):
        return positive
    mask = nodes.constant([int(axis) for axis in exempt], "exempt", ElementType.BOOL)
    return nodes.add("Or", [positive, mask], "fits")


def _equal_or_one(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    """For each axis, whether the sizes are equal or the smaller is 1."""
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


def _maximum(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    # Max takes integers only since opset 12.
    smaller = nodes.add("Less", [one, other], "smaller")
    return nodes.add("Where", [smaller, other, one], "largest")


def rank_of(operands: Sequence[Operand]) -> int | None:
    """The rank of the common shape, if the rank of each operand is known."""
    ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
    return max(ranks) if len(ranks) == len(operands) else None


def padded_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], operands: Sequence[Operand]
) -> list[ir.Value]:
    """The shapes, with leading sizes of 1 so that all have the same rank."""
    shapes = [nodes.shape(value) for value in values]
    rank = rank_of(operands)
    if rank is None:
        return _padded_to_ranks_of_the_run(nodes, shapes)
    missing = [rank - len(operand.shape or ()) for operand in operands]
    return [
        nodes.add("Concat", [nodes.constant([1] * axes, "ones"), shape], "aligned", {"axis": 0})
        if axes
        else shape
        for shape, axes in zip(shapes, missing, strict=True)
    ]


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
    """The shape, after a guard that checks every axis."""
    own_rank = nodes.constant([rank], "rank") if rank is not None else nodes.shape(sizes)
    code = nodes.constant([-E1.code], "code")
    per_axis = nodes.add("Where", [fits, own_rank, code], "rank_or_code")
    decided = per_axis if rank == 1 else _smallest(nodes, per_axis, own_rank, rank)
    name = guard_name(BROADCAST.name, label, [E1])
    return nodes.add("Reshape", [sizes, decided], "common_shape", name=name)


def _smallest(
    nodes: StandardNodes, per_axis: ir.Value, own_rank: ir.Value, rank: int | None
) -> ir.Value:
    """The rank if every axis has it, else the negative code."""
    if not rank:
        # ReduceMin of no axes would not give the rank.
        per_axis = nodes.add("Concat", [per_axis, own_rank], "ranks_or_code", {"axis": 0})
    return nodes.add("ReduceMin", [per_axis], "decided", {"keepdims": 1})

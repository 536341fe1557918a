"""Guards that check an axis, and the lines along it.

Shape(X) -> Shape -> Greater(axis)

Slice(Shape(X), from axis + 1) -> Greater(1) -> any?

ReduceMax(X, axis) -> Less(smallest finite number) ┐
ReduceSum(X, axis) -> Less(smallest finite number) ┴> And -> any?

ReduceMax passes over some NaN, depending on their places, and a sum over none.
"""

import numpy as np
import onnx_ir as ir

from sonnx_ort.enforcing.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Precondition,
    any_true,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.requirements.lines import (
    HasAxis,
    LinesAboveNegativeInfinity,
    ShortBehindAxis,
)

_BEYOND_ALL = 2**62
"""An end behind the last axis."""

_SLICE_BY_INPUTS = 10
_SUM_BY_INPUTS = 13
_LARGEST_BY_INPUTS = 18
"""The first opsets in which these operators get axes and places as inputs."""


def existing_axis_guard(requirement: HasAxis) -> DecidingGuard:
    """The guard of an axis that there has to be."""

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        del node
        (operand,) = operands
        axis = requirement.axis if requirement.axis >= 0 else -requirement.axis - 1
        rank = nodes.shape(nodes.shape(operand))
        flag = nodes.add("Greater", [rank, nodes.constant([axis], "axis")], "has_axis")
        return Flag(flag, when_kept=True)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


def short_behind_axis_guard(requirement: ShortBehindAxis) -> DecidingGuard:
    """The guard of the sizes behind an axis."""

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        del node
        (operand,) = operands
        first = requirement.axis + 1 if requirement.axis != -1 else _BEYOND_ALL
        sizes = _sliced(nodes, nodes.shape(operand), first)
        longer = nodes.add("Greater", [sizes, nodes.constant(1, "one")], "is_longer")
        return Flag(any_true(nodes, longer, "any_longer"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


def _sliced(nodes: StandardNodes, shape: ir.Value, first: int) -> ir.Value:
    """The sizes from a place on."""
    if nodes.opset < _SLICE_BY_INPUTS:
        attributes = {"axes": (0,), "starts": (first,), "ends": (_BEYOND_ALL,)}
        return nodes.add("Slice", [shape], "sizes_behind", attributes)
    places = [nodes.constant([place], "place") for place in (first, _BEYOND_ALL)]
    return nodes.add("Slice", [shape, *places], "sizes_behind")


def lines_guard(requirement: LinesAboveNegativeInfinity) -> DecidingGuard:
    """The guard of lines of floats."""

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        (operand,) = operands
        scalar = node.computed_in.numpy()
        lowest = nodes.constant(float(np.finfo(scalar).min), "limit", node.computed_in)
        flags = [
            nodes.add(
                "Less",
                [_reduced(nodes, operator, operand, requirement.axis, since), lowest],
                "is_below",
            )
            for operator, since in (
                ("ReduceMax", _LARGEST_BY_INPUTS),
                ("ReduceSum", _SUM_BY_INPUTS),
            )
        ]
        throughout = nodes.add("And", flags, "is_infinite")
        return Flag(any_true(nodes, throughout, "any_infinite"), when_kept=False)

    return DecidingGuard(look, lambda kind: kind.family is Family.FLOAT)


def _reduced(
    nodes: StandardNodes, operator: str, operand: ir.Value, axis: int, since: int
) -> ir.Value:
    """A number for each line."""
    purpose = "largest" if operator == "ReduceMax" else "sum"
    if nodes.opset < since:
        return nodes.add(operator, [operand], purpose, {"axes": (axis,), "keepdims": 0})
    axes = nodes.constant([axis], "axis")
    return nodes.add(operator, [operand, axes], purpose, {"keepdims": 0})

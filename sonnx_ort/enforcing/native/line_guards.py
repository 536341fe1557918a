"""The guard of lines of floats along an axis.

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
    any_true,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity

_SUM_BY_INPUTS = 13
_LARGEST_BY_INPUTS = 18
"""The first opsets in which these operators get axes and places as inputs."""


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

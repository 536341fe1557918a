"""The guard of `WithinInterval`."""

from functools import reduce

import numpy as np
import onnx_ir as ir

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.rewriting.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Presumed,
    any_true,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def interval_guard(requirement: WithinInterval) -> DecidingGuard:
    """The guard of one interval of one operand.

    Args:
        requirement: What is demanded.
    """

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """One pass over the operand for each end that its type goes beyond."""
        operand = operands[requirement.position]
        (name,) = requirement.deciding
        limits, computed_in = requirement.limits(node.element_type.dtype), node.type_of(name)
        if requirement.admits_nan:
            outside = _outside(nodes, operand, computed_in, limits)
        else:
            outside = _not_within(nodes, operand, computed_in, limits)
        return Flag(any_true(nodes, outside, "any_outside"), when_kept=False)

    def binds(element_type: ElementType) -> bool:
        return any(limit is not None for limit in requirement.limits(element_type.dtype))

    return DecidingGuard(look, binds, Presumed.NOTHING)


def _outside(
    nodes: StandardNodes,
    operand: ir.Value,
    computed_in: ir.DataType,
    limits: tuple[float | None, float | None],
) -> ir.Value:
    """Which elements are below the one limit or above the other; NaN is neither."""
    flags = [
        nodes.add(compare, [operand, nodes.constant(limit, "limit", computed_in)], told)
        for compare, limit, told in zip(
            ("Less", "Greater"), limits, ("is_below", "is_above"), strict=True
        )
        if limit is not None
    ]
    return reduce(lambda one, other: nodes.add("Or", [one, other], "is_outside"), flags)


def _not_within(
    nodes: StandardNodes,
    operand: ir.Value,
    computed_in: ir.DataType,
    limits: tuple[float | None, float | None],
) -> ir.Value:
    """Which elements are not within the limits, NaN among them."""
    if limits[1] == np.inf:
        # The number below the other limit may be one that ONNX Runtime is told to take for 0.
        below = _outside(nodes, operand, computed_in, (limits[0], None))
        not_a_number = nodes.add("IsNaN", [operand], "is_nan")
        return nodes.add("Or", [below, not_a_number], "is_outside")
    scalar = computed_in.numpy().type
    with np.errstate(over="ignore"):
        below_all = float(np.nextafter(scalar(limits[0]), scalar(-np.inf)))
        beyond = float(np.nextafter(scalar(limits[1]), scalar(np.inf)))
    large, small = (nodes.constant(limit, "limit", computed_in) for limit in (below_all, beyond))
    flags = [
        nodes.add("Greater", [operand, large], "is_large_enough"),
        nodes.add("Less", [operand, small], "is_small_enough"),
    ]
    return nodes.add("Not", [nodes.add("And", flags, "is_within")], "is_outside")

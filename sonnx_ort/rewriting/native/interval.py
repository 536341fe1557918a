"""The guard of `WithinInterval`."""

from functools import reduce

import onnx_ir as ir

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.rewriting.native.guard import ElementGuard, GuardedNode, Operands, any_true
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def interval_guard(requirement: WithinInterval) -> ElementGuard:
    """The guard of one interval of one operand.

    Args:
        requirement: What is demanded.
    """

    def decide(
        nodes: StandardNodes, operands: Operands, node: GuardedNode, code: int, decided: ir.Value
    ) -> ir.Value:
        """One pass over the operand for each end that its type goes beyond."""
        operand = operands[requirement.position]
        limits = requirement.limits(node.element_type.dtype)
        flags = [
            nodes.add(compare, [operand, nodes.constant(limit, "limit", node.computed_in)], told)
            for compare, limit, told in zip(
                ("Less", "Greater"), limits, ("is_below", "is_above"), strict=True
            )
            if limit is not None
        ]
        outside = reduce(lambda one, other: nodes.add("Or", [one, other], "is_outside"), flags)
        impossible = nodes.constant([-code], "code")
        any_outside = any_true(nodes, outside, "any_outside")
        return nodes.add("Where", [any_outside, impossible, decided], "shape_or_code")

    def binds(element_type: ElementType) -> bool:
        return any(limit is not None for limit in requirement.limits(element_type.dtype))

    return ElementGuard(decide, binds, lambda _: ())

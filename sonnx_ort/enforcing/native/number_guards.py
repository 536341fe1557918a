"""Guards that check differences of integers.

ReduceMax(zero point) -> above 0? -> Add(smallest int32) -> Greater(X) -> any?
"""

import numpy as np

from sonnx_ort.enforcing.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Precondition,
    any_true,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import ElementType

_INT32 = np.iinfo(np.int32)


def _difference_is_within_int32(
    nodes: StandardNodes, operands: Operands, node: GuardedNode
) -> Flag:
    """Compare the first operand with the limits that the second one leaves it, in int32."""
    operand, subtrahend = operands
    computed_in = node.computed_in
    zero = nodes.constant(0, "zero", computed_in)
    flags = []
    for beyond, reduction, compare, limit in (
        ("Less", "ReduceMax", "Greater", _INT32.min),
        ("Greater", "ReduceMin", "Less", _INT32.max),
    ):
        extreme = nodes.add(reduction, [subtrahend], "extreme", {"keepdims": 0})
        moves = nodes.add(compare, [extreme, zero], "moves_limit")
        shift = nodes.add("Where", [moves, extreme, zero], "shift")
        end = nodes.add("Add", [nodes.constant(limit, "end", computed_in), shift], "limit")
        flags.append(nodes.add(beyond, [operand, end], "is_beyond"))
    either = nodes.add("Or", flags, "is_outside")
    return Flag(any_true(nodes, either, "any_outside"), when_kept=False)


DIFFERENCE_WITHIN_INT32 = DecidingGuard(
    _difference_is_within_int32, lambda kind: kind is ElementType.INT32, Precondition.NOTHING
)
"""No difference of the two operands is outside int32."""

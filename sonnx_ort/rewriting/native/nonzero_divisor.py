"""The guard of `NonZeroDivisor`, and the form of results that `InfinityForZeroDivisor` demands."""

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from sonnx_ort.profile.element_type import Family
from sonnx_ort.rewriting.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Presumed,
    any_true,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_COMPARED = (ir.DataType.INT32, ir.DataType.INT64)
"""The integers that every version of Equal takes."""


def _look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One pass over B, for zeros."""
    _, b = operands
    zeros = _zeros(nodes, b, node.computed_in)
    return Flag(any_true(nodes, zeros, "has_zero"), when_kept=False)


def _passing(node: GuardedNode) -> Sequence[int]:
    """B, where ONNX Runtime may compute it before all runs.

    Its Div ends the start of a session then if B has a zero, wherever the node stands, and without
    its name.
    """
    last = len(node.examined.operands) - 1
    return [last] if node.examined.foldable[last] else []


NONZERO_DIVISOR = DecidingGuard(
    _look,
    lambda kind: kind.family is Family.INTEGER,
    Presumed.NOTHING,
    _passing,
    sufficient={-1: lambda _: 1},
)
"""No element of the last operand is zero, if it is an integer."""


def with_infinity(
    nodes: StandardNodes, quotient: ir.Value, operands: Operands, node: GuardedNode
) -> ir.Value:
    """Put +inf wherever B is zero, whatever the quotient is there.

    Args:
        nodes: Takes the new nodes.
        quotient: A divided by B.
        operands: A and B.
        node: The node that divides.
    """
    _, b = operands
    zeros = _falsities(nodes, b)
    infinity = nodes.constant(np.inf, "infinity", node.computed_in)
    # ONNX Runtime's Where makes -0 in its second input +0.
    return nodes.add("Where", [zeros, infinity, quotient], "infinity_or_quotient")


def _zeros(nodes: StandardNodes, b: ir.Value, element_type: ir.DataType) -> ir.Value:
    """Where a tensor has zeros."""
    if element_type in _COMPARED:
        return nodes.add("Equal", [b, nodes.constant(0, "zero", element_type)], "is_zero")
    return _falsities(nodes, b)


def _falsities(nodes: StandardNodes, b: ir.Value) -> ir.Value:
    """Where a tensor of any type has zeros, without comparing it."""
    nonzero = nodes.cast(b, ir.DataType.BOOL, "nonzero")
    # ONNX Runtime's optimizer takes a Not away.
    false = nodes.constant(False, "false", ir.DataType.BOOL)
    return nodes.add("Equal", [nonzero, false], "is_zero")

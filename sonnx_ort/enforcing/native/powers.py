"""The guard of powers of integers.

Pow(Cast(X, double), Cast(Y, double)) -> within limits? -> any not?

ONNX Runtime computes the same power for the node behind the guard. Rounding hides nothing. Below 64
bits the limits lie half-way between integers. Of 64 bits the limit is 2^53: a power with an
exponent above 1 is that number itself, which is exact, or farther away by 2^25 and more; and the
power of 1 is the base, whose conversion does not cross 2^53. What overflows is infinite.
"""

from typing import Any

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
from sonnx_ort.profile.requirements.powers import EXACT_IN_DOUBLE, exact_powers, is_wide


def _is_exact(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One power of each pair of elements."""
    double = ir.DataType.DOUBLE
    base, exponent = (nodes.cast(operand, double, "as_double") for operand in operands)
    power = nodes.add("Pow", [base, exponent], "power")
    below_all, above_all = _limits(node.element_type.dtype)
    flags = [
        nodes.add("Greater", [power, nodes.constant(below_all, "limit", double)], "large_enough"),
        nodes.add("Less", [power, nodes.constant(above_all, "limit", double)], "small_enough"),
    ]
    exact = nodes.add("And", flags, "is_exact")
    if is_wide(node.element_type.dtype):
        limit = nodes.constant(EXACT_IN_DOUBLE, "limit", double)
        known = nodes.add("Less", [exponent, limit], "exponent_is_exact")
        exact = nodes.add("And", [exact, known], "is_exact")
    inexact = nodes.add("Not", [exact], "is_inexact")
    return Flag(any_true(nodes, inexact, "any_inexact"), when_kept=False)


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Doubles between the exact powers of a type and all others."""
    allowed, beside = exact_powers(dtype), 1 if is_wide(dtype) else 0.5
    return allowed.lower - beside, allowed.upper + beside


EXACT_POWER = DecidingGuard(
    _is_exact, lambda kind: kind.family is Family.INTEGER, Precondition.ONE_SHAPE
)
"""Every power is one of its type, and exact if it is computed in double."""

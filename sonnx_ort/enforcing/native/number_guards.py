"""Guards that check single numbers, and differences of integers.

Less(scale, 0), Greater(scale, 0) -> Or -> Not -> any?

ReduceMin(X) -> int64 -> Sub(zero point) -> Less(smallest int32) -> any?
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
from sonnx_ort.profile.element_type import ElementType, Family

_INT32 = np.iinfo(np.int32)


def _is_number_other_than_zero(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """Neither below 0 nor above it is 0, and NaN."""
    (operand,) = operands
    zero = nodes.constant(0, "zero", node.computed_in)
    compared = [
        nodes.add(operator, [operand, zero], purpose)
        for operator, purpose in (("Less", "is_below"), ("Greater", "is_above"))
    ]
    other = nodes.add("Or", compared, "is_other_than_zero")
    # ONNX Runtime's optimizer removes a Not.
    false = nodes.constant(False, "false", ir.DataType.BOOL)
    found = nodes.add("Equal", [other, false], "is_zero_or_nan")
    return Flag(any_true(nodes, found, "any_zero_or_nan"), when_kept=False)


NONZERO_NUMBERS = DecidingGuard(
    _is_number_other_than_zero, lambda kind: kind.family is Family.FLOAT, Precondition.NOTHING
)
"""No element of the only operand is 0 or NaN."""


def _difference_is_within_int32(
    nodes: StandardNodes, operands: Operands, node: GuardedNode
) -> Flag:
    """Only the smallest and the largest element of the first operand matter.

    Of an empty tensor ReduceMin gives the largest number of the type, and ReduceMax the smallest;
    ONNX Runtime 1.23, which gives 0, refuses zero points itself.
    """
    del node
    operand, subtrahend = operands
    wide = nodes.cast(subtrahend, ir.DataType.INT64, "wide")
    flags = []
    for reduction, compare, limit in (
        ("ReduceMin", "Less", _INT32.min),
        ("ReduceMax", "Greater", _INT32.max),
    ):
        extreme = nodes.add(reduction, [operand], "extreme", {"keepdims": 0})
        wide_extreme = nodes.cast(extreme, ir.DataType.INT64, "wide_extreme")
        difference = nodes.add("Sub", [wide_extreme, wide], "difference")
        flags.append(nodes.add(compare, [difference, nodes.constant(limit, "limit")], "beyond"))
    beyond = nodes.add("Or", flags, "is_beyond")
    return Flag(any_true(nodes, beyond, "any_beyond"), when_kept=False)


DIFFERENCE_WITHIN_INT32 = DecidingGuard(
    _difference_is_within_int32, lambda kind: kind is ElementType.INT32, Precondition.NOTHING
)
"""No difference of the two operands is outside int32."""

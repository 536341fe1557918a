"""The guard of `RepresentableQuotient`: no division of the smallest value by -1.

One pass over A for the smallest value, and only where A has it one over both for a divisor of -1:

    Equal(A, smallest) -> any? -> Tile(0 or 1) -> And(., Equal(Tile(B), -1)) -> any?
"""

import onnx_ir as ir

from sonnx_ort.profile.element_type import smallest_value
from sonnx_ort.rewriting.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Presumed,
    any_true,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_EQUAL_OF_SMALL = 11
"""The first version of the standard operators in which Equal takes 8-bit and 16-bit integers."""

_COMPARED = (ir.DataType.INT32, ir.DataType.INT64)
"""The integers that every version of Equal takes."""


def _look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """Look for a divisor of -1 only where A has the smallest value somewhere."""
    a, b = operands
    compared = node.computed_in
    if compared not in _COMPARED and nodes.opset < _EQUAL_OF_SMALL:
        compared = ir.DataType.INT32
        a, b = (nodes.cast(value, compared, "compared") for value in operands)
    smallest = nodes.constant(smallest_value(node.element_type), "smallest", compared)
    at_smallest = nodes.add("Equal", [a, smallest], "is_smallest")
    copies = nodes.cast(any_true(nodes, at_smallest, "has_smallest"), ir.DataType.INT64, "copies")
    line = nodes.constant([-1], "line")
    copies = nodes.add("Reshape", [copies, line], "copies")
    # No If: ONNX Runtime's optimizer does not survive some of those in branches.
    at_smallest, divisors = (
        nodes.add("Tile", [nodes.add("Reshape", [value, line], "in_line"), copies], "if_needed")
        for value in (at_smallest, b)
    )
    minus_one = nodes.constant(-1, "minus_one", compared)
    at_minus_one = nodes.add("Equal", [divisors, minus_one], "is_minus_one")
    both = nodes.add("And", [at_smallest, at_minus_one], "overflows")
    return Flag(any_true(nodes, both, "some_overflow"), when_kept=False)


REPRESENTABLE_QUOTIENT = DecidingGuard(
    _look,
    lambda kind: kind.dtype.kind == "i",
    Presumed.ONE_SHAPE,
    sufficient={0: lambda kind: smallest_value(kind) + 1, -1: lambda _: 0},
)
"""No element of A is the smallest value where the one of B is -1."""

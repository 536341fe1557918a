"""The guard of `WithinInt32`: Cast to int32 and back gives every operand as it was."""

from functools import reduce

import onnx_ir as ir

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Presumed,
    any_true,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def _look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One pass over each operand."""
    del node
    found = [any_true(nodes, _beyond(nodes, operand), "some_beyond") for operand in operands]
    some = reduce(lambda one, other: nodes.add("Or", [one, other], "some_beyond"), found)
    return Flag(some, when_kept=False)


def _beyond(nodes: StandardNodes, operand: ir.Value) -> ir.Value:
    narrow = nodes.cast(operand, ir.DataType.INT32, "narrow")
    again = nodes.cast(narrow, ir.DataType.INT64, "wide_again")
    fits = nodes.add("Equal", [operand, again], "fits")
    # ONNX Runtime's optimizer takes a Not away.
    return nodes.add("Equal", [fits, nodes.constant(False, "false", ir.DataType.BOOL)], "beyond")


WITHIN_INT32 = DecidingGuard(_look, lambda kind: kind is ElementType.INT64, Presumed.NOTHING)
"""No element of any operand is beyond int32, if it is int64."""

"""The guards of what is demanded of the shapes of single operands.

Shape(A) -> Shape -> Equal(rank)
"""

from collections.abc import Callable
from functools import reduce

import onnx_ir as ir

from sonnx_ort.profile.requirements.axis_not_empty import AxisNotEmpty
from sonnx_ort.profile.requirements.own_rank import OwnRank
from sonnx_ort.rewriting.native.guard import DecidingGuard, Flag, GuardedNode, Operands, Presumed
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def rank_guard(requirement: OwnRank) -> DecidingGuard:
    """The guard of one rank of some operands.

    Args:
        requirement: What is demanded.
    """

    def kept(nodes: StandardNodes, operands: Operands) -> ir.Value:
        wanted = nodes.constant([requirement.rank], "wanted_rank")
        ranks = (nodes.shape(nodes.shape(operand)) for operand in operands)
        flags = [nodes.add("Equal", [rank, wanted], "is_of_rank") for rank in ranks]
        return reduce(lambda one, other: nodes.add("And", [one, other], "are_of_rank"), flags)

    return _deciding(kept)


def axis_guard(requirement: AxisNotEmpty) -> DecidingGuard:
    """The guard of one axis of an operand.

    Args:
        requirement: What is demanded.
    """

    def kept(nodes: StandardNodes, operands: Operands) -> ir.Value:
        # Gather refuses where there is no such axis.
        (operand,) = operands
        axis = nodes.constant([requirement.axis], "axis")
        size = nodes.add("Gather", [nodes.shape(operand), axis], "size", {"axis": 0})
        return nodes.add("Greater", [size, nodes.constant([0], "zero")], "holds_something")

    return _deciding(kept)


def _every_axis(nodes: StandardNodes, operands: Operands) -> ir.Value:
    operand, axes = operands
    rank = nodes.shape(nodes.shape(operand))
    return nodes.add("Equal", [nodes.shape(axes), rank], "names_every_axis")


def _deciding(kept: Callable[[StandardNodes, Operands], ir.Value]) -> DecidingGuard:
    """A guard of operands of any type, whatever else is known of the node."""

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        del node
        return Flag(kept(nodes, operands), when_kept=True)

    return DecidingGuard(look, lambda _: True, Presumed.NOTHING)


EVERY_AXIS = _deciding(_every_axis)
"""The guard of `EveryAxis`."""

"""Guards that compare sizes of axes with limits, and with other axes.

Shape(X) -> Gather -> Less(., smallest) -> any?

Shape(B) -> rank and sizes -> Equal(., rank and sizes that it shall have) -> all?
"""

from collections.abc import Sequence

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
from sonnx_ort.profile.requirements.sizes import LARGEST_SIZE, ShapeFrom, SizeOf, SizesWithin

_NO_SIZE = -1
"""Stands for the size of an axis that is not there."""


def sizes_guard(requirement: SizesWithin) -> DecidingGuard:
    """The guard of limits of sizes."""

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Compare each size with its limits."""
        del node
        (operand,) = operands
        axes = list(requirement.by_axis)
        limits = list(requirement.by_axis.values())
        sizes = _sizes(nodes, operand, axes)
        smallest = nodes.constant([limit.lower for limit in limits], "smallest")
        broken = nodes.add("Less", [sizes, smallest], "is_too_small")
        if any(limit.upper < LARGEST_SIZE for limit in limits):
            largest = nodes.constant([limit.upper for limit in limits], "largest")
            too_large = nodes.add("Greater", [sizes, largest], "is_too_large")
            broken = nodes.add("Or", [broken, too_large], "is_beyond")
        return Flag(any_true(nodes, broken, "any_beyond"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


def shape_guard(requirement: ShapeFrom) -> DecidingGuard:
    """The guard of a shape that attributes and other operands decide."""

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Compare the rank and each size."""
        del node
        *_, last = operands
        demanded = requirement.sizes or ()
        rank = nodes.shape(nodes.shape(last))
        wanted = [nodes.constant([len(demanded)], "wanted_rank")]
        wanted += [_wanted(nodes, size, operands) for size in demanded]
        own = [rank, _in_parts(nodes, _sizes(nodes, last, range(len(demanded))), demanded)]
        same = nodes.add(
            "Equal", [_joined(nodes, own, "own"), _joined(nodes, wanted, "wanted")], "is_same"
        )
        # ONNX Runtime's optimizer removes a Not.
        false = nodes.constant(False, "false", ir.DataType.BOOL)
        differs = any_true(nodes, nodes.add("Equal", [same, false], "differs"), "any_differs")
        if not requirement.or_scalar:
            return Flag(differs, when_kept=False)
        axes = nodes.add("Greater", [rank, nodes.constant([0], "zero")], "has_axes")
        return Flag(nodes.add("And", [axes, differs], "is_of_another_shape"), when_kept=False)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


def _in_parts(nodes: StandardNodes, sizes: ir.Value, demanded: Sequence[int | SizeOf]) -> ir.Value:
    """The sizes, each times the number of parts that it is one of."""
    parts = [1 if isinstance(size, int) else size.parts for size in demanded]
    if set(parts) == {1}:
        return sizes
    return nodes.add("Mul", [sizes, nodes.constant(parts, "parts")], "sizes_of_all_parts")


def _wanted(nodes: StandardNodes, size: int | SizeOf, operands: Operands) -> ir.Value:
    if isinstance(size, int):
        return nodes.constant([size], "wanted_size")
    return _sizes(nodes, operands[size.position], [size.axis])


def _sizes(nodes: StandardNodes, operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The sizes of axes; `_NO_SIZE` for one that is not there."""
    missing = nodes.constant([_NO_SIZE] * (max(axes) + 1), "no_sizes")
    all_sizes = _joined(nodes, [nodes.shape(operand), missing], "sizes_or_none")
    return nodes.add("Gather", [all_sizes, nodes.constant([*axes], "axes")], "sizes", {"axis": 0})


def _joined(nodes: StandardNodes, vectors: Sequence[ir.Value], purpose: str) -> ir.Value:
    return nodes.add("Concat", list(vectors), purpose, {"axis": 0})

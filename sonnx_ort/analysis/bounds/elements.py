"""Operators whose elements are elements of their inputs."""

from collections.abc import Mapping, Sequence

from sonnx_ort.analysis.bounds.rule import BoundedInputs, BoundsRule, Unbounded, hull
from sonnx_ort.profile.operand import Bounds

_ZERO = Bounds(0, 0)


def _of_the_first(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Every output has elements of the first input alone."""
    return [inputs.bounds(0)] * len(inputs.node.outputs)


def _of_any(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [hull(inputs.all_bounds())]


def _chosen(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [hull([inputs.bounds(1), inputs.bounds(2)])]


def _one_hot(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [inputs.bounds(2)]


def _padded(inputs: BoundedInputs) -> Sequence[Bounds]:
    """With zeros, where the node has no constant to pad with."""
    return [hull([inputs.bounds(0), inputs.bounds(2) if inputs.given(2) else _ZERO])]


def _triangle(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [hull([inputs.bounds(0), _ZERO])]


def _scattered(inputs: BoundedInputs) -> Sequence[Bounds]:
    if inputs.attribute("reduction", "none") != "none":
        raise Unbounded
    return [hull([inputs.bounds(0), inputs.bounds(2)])]


ELEMENTS: Mapping[str, BoundsRule] = {
    **dict.fromkeys(
        (
            *("Compress", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity"),
            *("Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
        ),
        _of_the_first,
    ),
    "Concat": _of_any,
    "OneHot": _one_hot,
    "Pad": _padded,
    "ScatterElements": _scattered,
    "ScatterND": _scattered,
    "Trilu": _triangle,
    "Where": _chosen,
}
"""The operators of this file by name."""

"""Operators that take axes away, or make them one element long."""

from collections.abc import Sequence

from sonnx_ort.analysis.shapes.rule import (
    ANY,
    FLAG,
    KnownInputs,
    ShapeRule,
    Unknown,
    counted_from_the_front,
)
from sonnx_ort.analysis.shapes.size import PartialSizes, Size


def _reduced(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    keeps = inputs.attribute("keepdims", True)
    try:
        axes = _axes(inputs)
    except Unknown:
        if not keeps:
            raise
        return (tuple(1 if size == 1 else None for size in shape),)
    reduced = {counted_from_the_front(axis, len(shape)) for axis in axes}
    # Up to 1.31.1 ONNX Runtime reduces no axis that is counted from the end of an empty tensor.
    counted = all(axis >= 0 for axis in axes)
    certain = counted or all(isinstance(size, int) and size > 0 for size in shape)
    if keeps:
        one = 1 if certain else None
        sizes = ((1 if s == 1 else one) if a in reduced else s for a, s in enumerate(shape))
        return (tuple[Size | None, ...](sizes),)
    if not certain:
        raise Unknown
    return (tuple(size for axis, size in enumerate(shape) if axis not in reduced),)


def _axes(inputs: KnownInputs) -> Sequence[int]:
    if inputs.node.op_type in _SEARCHES:
        return (inputs.attribute("axis", 0),)
    axes: Sequence[int] | None = inputs.attribute("axes")
    if inputs.value(1) is not None:
        axes = inputs.integers(1)
    if axes:
        return axes
    if inputs.attribute("noop_with_empty_axes"):
        raise Unknown
    return range(len(inputs.shape(0)))


_SEARCHES = ("ArgMax", "ArgMin")

_REDUCTIONS = {
    "ReduceL1": 18,
    "ReduceL2": 18,
    "ReduceLogSum": 18,
    "ReduceLogSumExp": 18,
    "ReduceMax": 20,
    "ReduceMean": 18,
    "ReduceMin": 20,
    "ReduceProd": 18,
    "ReduceSum": 13,
    "ReduceSumSquare": 18,
}
"""The last version of each that was verified."""

REDUCTIONS = {
    **{
        name: ShapeRule(
            (1, last), _reduced, {"axes": ANY, "keepdims": FLAG, "noop_with_empty_axes": FLAG}
        )
        for name, last in _REDUCTIONS.items()
    },
    **{
        name: ShapeRule(
            (1, 13), _reduced, {"axis": ANY, "keepdims": FLAG, "select_last_index": FLAG}
        )
        for name in _SEARCHES
    },
}
"""The operators of this file by name."""

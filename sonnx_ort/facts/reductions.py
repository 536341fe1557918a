"""The shapes of reductions, and of ArgMax and ArgMin."""

from .node import ANY, FLAG, Node, ShapeRule, Shapes, axes_to_reduce
from .sizes import (
    Rejected,
    Size,
    from_the_front,
    is_positive,
    require,
)


def _reduced(node: Node) -> Shapes:
    shape = node.shape(0)
    keeps = node.attribute("keepdims", True)
    try:
        searches = node.op_type in _SEARCHES
        axes = (node.attribute("axis", 0),) if searches else axes_to_reduce(node)
    except Rejected:
        if not keeps:
            raise
        return (tuple(1 if size == 1 else None for size in shape),)
    reduced = {from_the_front(axis, len(shape)) for axis in axes}
    # Up to 1.31.1 ONNX Runtime ignores negative axes of an empty tensor.
    counted = all(axis >= 0 for axis in axes)
    certain = counted or all(map(is_positive, shape))
    if keeps:
        one = 1 if certain else None
        sizes = ((1 if s == 1 else one) if a in reduced else s for a, s in enumerate(shape))
        return (tuple[Size | None, ...](sizes),)
    require(certain, "the tensor may be empty, and an axis is negative")
    return (tuple(size for axis, size in enumerate(shape) if axis not in reduced),)


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
"""The last verified version of each reduction."""


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
"""The reductions by name."""

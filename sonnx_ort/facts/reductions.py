"""The shapes of reductions, and of ArgMax and ArgMin."""

from collections.abc import Sequence

from .node import Node, Shapes, axes_to_reduce
from .sizes import Rejected, Size, from_the_front, is_positive, require


def reduced(node: Node) -> Shapes:
    """Reductions: without the axes that are reduced, or with 1 in their place."""
    shape = node.shape(0)
    try:
        axes = axes_to_reduce(node)
    except Rejected:
        if not node.attribute("keepdims", True):
            raise
        return (tuple(1 if size == 1 else None for size in shape),)
    return _reduced_shape(node, axes)


def searched(node: Node) -> Shapes:
    """ArgMax and ArgMin, which reduce one axis."""
    return _reduced_shape(node, (node.attribute("axis", 0),))


def _reduced_shape(node: Node, axes: Sequence[int]) -> Shapes:
    shape = node.shape(0)
    gone = {from_the_front(axis, len(shape)) for axis in axes}
    # Up to 1.31.1 ONNX Runtime ignores negative axes of an empty tensor.
    counted = all(axis >= 0 for axis in axes)
    certain = counted or all(map(is_positive, shape))
    if node.attribute("keepdims", True):
        one = 1 if certain else None
        sizes = ((1 if s == 1 else one) if a in gone else s for a, s in enumerate(shape))
        return (tuple[Size | None, ...](sizes),)
    require(certain, "the tensor may be empty, and an axis is negative")
    return (tuple(size for axis, size in enumerate(shape) if axis not in gone),)

"""Operators whose results have elements of operands alone, and what follows from that.

Each function tells whose elements the results of a node have. Bounds, intervals and signs of zeros
follow: a row of the table needs none of its own. Where a kernel may leave memory unwritten, or may
compute, nothing is told. `tests/soundness/test_moved_elements.py` tries each of these operators.
"""

from collections.abc import Sequence

from .bounds import bounds_of_operand, holds_truths
from .bounds import hull as hull_of_bounds
from .intervals import element_count, hull, operand
from .layout import given_pads, pads_of
from .node import BoundsRule, IntervalRule, Moved, Moves, Node, reduced_axes
from .ranges import Interval
from .sizes import (
    Bounds,
    Size,
    Symbolic,
    from_the_front,
    is_at_most,
    is_positive,
    require,
)

_ZERO = Bounds(0, 0)


def first(_: Node) -> Moved:
    """All results have elements of the first operand."""
    return Moved([0])


def found(_: Node) -> Moved:
    """TopK and Unique: the first result has elements, and others have positions and counts."""
    return Moved([0], results=1)


def third(_: Node) -> Moved:
    """OneHot: its values."""
    return Moved([2])


def kept(node: Node) -> Moved:
    """Dropout: the first result is the operand, unless it trains."""
    require_known_ratio(node)
    trains = node.constant(2) if node.given(2) else False
    require(trains is not None and not trains, "it may train")
    return Moved([0], results=1)


def require_known_ratio(node: Node) -> None:
    """Reject a Dropout in whose place ONNX Runtime's optimizer gives a computed ratio.

    Raises:
        Rejected: The ratio or another operand is computed.
    """
    others = filter(node.given, range(1, node.operands))
    require(all(map(node.is_free, others)), "its ratio is computed")


def selected(node: Node) -> Moved:
    """Compress: where a byte of the condition is 0 or 1.

    Another byte counts as its number of elements, so that memory is left unwritten.
    """
    require(holds_truths(node, 1), "more elements may be counted than are written")
    return Moved([0])


def joined(node: Node) -> Moved:
    """Concat: elements of all operands.

    ONNX Runtime takes an operand that is empty whatever its other sizes are, counts its size on the
    joined axis, and leaves memory unwritten. Symbols that several axes share may differ in value.
    """
    every = Moved(range(node.operands))
    if node.operands == 1:
        return every
    shapes = node.operand_shapes()
    rank = len(shapes[0])
    axis = from_the_front(node.attribute("axis"), rank)
    require(all(len(shape) == rank for shape in shapes), "ranks differ")
    written = all(shape[axis] == 0 or all(map(is_positive, shape)) for shape in shapes)
    written = written or all(
        all(_is_certainly(own, size, node.shared) for size in others)
        for index, (own, *others) in enumerate(zip(*shapes, strict=True))
        if index != axis
    )
    require(written, "an operand may be empty and of other sizes")
    return every


def _is_certainly(size: Size, other: Size, shared: frozenset[str]) -> bool:
    """Whether two sizes are one number in every run."""
    certain = not isinstance(size, Symbolic) or shared.isdisjoint(size.names)
    return size == other and certain


def padded(node: Node) -> Moved:
    """Pad: the elements, and the one that is added."""
    require_filled(node)
    require(node.attribute("value") is None, "an attribute has what is added")
    return Moved([0, 2]) if node.given(2) else Moved([0], zero=True)


def require_filled(node: Node) -> None:
    """Reject a Pad of which elements of the result may be memory that nothing was written to.

    The kernels of 1.23 leave such elements where one axis is cut and another is padded, and where
    more is reflected than an axis has.

    Raises:
        Rejected: That may be so, or the pads are not known.
    """
    mode = node.attribute("mode", "constant")
    require(mode in _PADDING, f"the mode is {mode}")
    bounds = node.known_bounds(1)
    if mode != "reflect" and bounds is not None and bounds.lower >= 0:
        return
    pads = given_pads(node)
    added = all(pad is not None and is_at_most(0, pad) for pad in pads)
    require(added, "a pad may be negative")
    if mode == "reflect":
        shape = node.shape(0)
        axes, pads = pads_of(node, len(shape))
        sizes = [shape[from_the_front(axis, len(shape))] for axis in axes] * 2
        within = all(
            pad is not None and is_at_most(pad + 1, size)
            for pad, size in zip(pads, sizes, strict=True)
        )
        require(within, "more may be reflected than an axis has")


_PADDING = frozenset(["constant", "edge", "reflect"])
"""The modes of a Pad of which it is known what kernels write."""


def scattered(node: Node) -> Moved:
    """ScatterElements and ScatterND that do not reduce: the elements, and the updates."""
    require(node.attribute("reduction", "none") == "none", "it reduces")
    return Moved([0, 2])


def cut(_: Node) -> Moved:
    """Trilu: 0 on one side of a diagonal."""
    return Moved([0], zero=True)


def chosen(node: Node) -> Moved:
    """Where: of two operands; where the condition is no byte of 0 or 1, kernels give 0."""
    return Moved([1, 2], zero=not holds_truths(node, 0))


def extreme(node: Node) -> Moved:
    """ReduceMax and ReduceMin, unless they may be of no elements."""
    element_count(node, 0, reduced_axes(node)[0])
    return Moved([0])


def bounds_rule(moves: Moves) -> BoundsRule:
    """The rule of integers that follows."""

    def rule(node: Node) -> Sequence[Bounds]:
        moved = moves(node)
        parts = [bounds_of_operand(node, index) for index in moved.operands]
        return [hull_of_bounds([*parts, *[_ZERO] * moved.zero])] * (moved.results or node.results)

    return rule


def interval_rule(moves: Moves) -> IntervalRule:
    """The rule of floats that follows."""

    def rule(node: Node) -> Sequence[Interval]:
        moved = moves(node)
        parts = [operand(node, index) for index in moved.operands]
        parts += [Interval.of(0, 0)] * moved.zero
        return [hull(parts)] * (moved.results or node.results)

    return rule

"""Operators that reorder or select the elements of a tensor."""

import math
from collections.abc import Sequence

from .node import ANY, EVERY, FLAG, POSITIVE, Node, ShapeRule, Shapes
from .sizes import (
    END_OF_ALL,
    Bounds,
    PartialSizes,
    Rejected,
    Size,
    Symbolic,
    bounds_of_size,
    equal_parts,
    from_the_front,
    is_at_most,
    is_positive,
    is_within,
    larger,
    quotient,
    require,
    selected,
    smaller,
)


def _transposed(node: Node) -> Shapes:
    shape = node.shape(0)
    order = node.attribute("perm") or range(len(shape))[::-1]
    require(sorted(order) == list(range(len(shape))), "perm is no order of the axes")
    return (tuple(shape[axis] for axis in order),)


def _concatenated(node: Node) -> Shapes:
    shapes = node.operand_shapes()
    rank = len(shapes[0])
    axis = from_the_front(node.attribute("axis"), rank)
    require(all(len(shape) == rank for shape in shapes), "ranks differ")
    sizes: list[Size | None] = []
    for index, (first, *others) in enumerate(zip(*shapes, strict=True)):
        if index == axis:
            sizes.append(sum(others, start=first))
        else:
            # ONNX Runtime skips empty inputs, whatever their other sizes are.
            sizes.append(first if all(size == first for size in others) else None)
    return (tuple(sizes),)


def require_written(node: Node) -> None:
    """Reject a Concat of which elements of the result may be memory that nothing was written to.

    ONNX Runtime takes an operand that is empty whatever its other sizes are, and counts its size
    on the joined axis. Symbols that several axes share may differ in value.

    Raises:
        Rejected: An operand may be empty and of other sizes, or a shape is not known.
    """
    if node.operands == 1:
        return
    shapes = node.operand_shapes()
    rank = len(shapes[0])
    axis = from_the_front(node.attribute("axis"), rank)
    require(all(len(shape) == rank for shape in shapes), "ranks differ")
    written = all(shape[axis] == 0 or all(map(is_positive, shape)) for shape in shapes)
    written = written or all(
        all(_is_certainly(first, size, node.shared) for size in others)
        for index, (first, *others) in enumerate(zip(*shapes, strict=True))
        if index != axis
    )
    require(written, "an operand may be empty and of other sizes")


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
    pads = _given_pads(node)
    added = all(pad is not None and is_at_most(0, pad) for pad in pads)
    require(added, "a pad may be negative")
    if mode == "reflect":
        shape = node.shape(0)
        axes, pads = _pads(node, len(shape))
        sizes = [shape[from_the_front(axis, len(shape))] for axis in axes] * 2
        within = all(
            pad is not None and is_at_most(pad + 1, size)
            for pad, size in zip(pads, sizes, strict=True)
        )
        require(within, "more may be reflected than an axis has")


_PADDING = frozenset(["constant", "edge", "reflect"])
"""The modes of a Pad of which it is known what kernels write."""


def _is_certainly(size: Size, other: Size, shared: frozenset[str]) -> bool:
    """Whether two sizes are one number in every run."""
    certain = not isinstance(size, Symbolic) or shared.isdisjoint(size.names)
    return size == other and certain


def _flattened(node: Node) -> Shapes:
    shape = node.shape(0)
    axis = node.attribute("axis", 1)
    require(-len(shape) <= axis <= len(shape), f"there is no axis {axis}")
    return ((math.prod(shape[:axis]), math.prod(shape[axis:])),)


def _squeezed(node: Node) -> Shapes:
    shape = node.shape(0)
    axes = axes_of(node)
    if not axes:
        # ONNX Runtime takes an empty list for none.
        require(all(isinstance(size, int) for size in shape), "its axes are not given")
        return (tuple(size for size in shape if size != 1),)
    dropped = {from_the_front(axis, len(shape)) for axis in axes}
    return (tuple(size for axis, size in enumerate(shape) if axis not in dropped),)


def _unsqueezed(node: Node) -> Shapes:
    shape = node.shape(0)
    axes = axes_of(node)
    if axes is None:
        raise Rejected("its axes are not given")
    rank = len(shape) + len(axes)
    added = {from_the_front(axis, rank) for axis in axes}
    require(len(added) == len(axes), "an axis is named twice")
    kept = iter(shape)
    return (tuple(1 if axis in added else next(kept) for axis in range(rank)),)


def axes_of(node: Node) -> Sequence[int] | None:
    """The axes from the attribute of older versions or the second input; None if omitted."""
    if node.given(1):
        return node.integers(1)
    axes: Sequence[int] | None = node.attribute("axes")
    return axes


def _sliced(node: Node) -> Shapes:
    shape = node.shape(0)
    try:
        starts, ends, axes, steps = slices_of(node, len(shape))
    except Rejected:
        return ((None,) * len(shape),)
    sizes: list[Size | None] = list(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index = from_the_front(axis, len(shape))
        sizes[index] = sliced_size(shape[index], start, end, step)
    return (tuple(sizes),)


def slices_of(
    node: Node, rank: int
) -> tuple[PartialSizes, PartialSizes, Sequence[int], Sequence[int]]:
    """The starts, ends, axes and steps of a Slice of a tensor of this rank.

    Raises:
        Rejected: They are not known, or do not fit.
    """
    if node.version < 10:
        starts, ends = node.attribute("starts"), node.attribute("ends")
        axes, steps = node.attribute("axes"), None
    else:
        starts, ends = node.every_element(1), node.every_element(2)
        axes = node.integers(3) if node.given(3) else None
        steps = node.every_integer(4) if node.given(4) else None
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    fits = len(starts) == len(ends) == len(axes) == len(steps) and 0 not in steps
    require(fits, "its parts do not fit")
    distinct = {from_the_front(axis, rank) for axis in axes}
    require(len(distinct) == len(axes), "an axis is named twice")
    return starts, ends, axes, steps


def sliced_size(size: Size, start: Size | None, end: Size | None, step: int) -> Size | None:
    """The number of elements that a Slice with a nonzero step selects on an axis; None if open.

    For negative steps and an end that means all of the axis, ONNX Runtime differs from ONNX.
    """
    if start is None or end is None or (step < 0 and end in END_OF_ALL):
        return None
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(selected(size, start, end, step))
    first, last = _place(size, start), _place(size, end)
    if first is not None and last is not None and step > 0:
        count = larger(last + first * -1, 0)
        if count is not None:
            return quotient(count + (step - 1), step)
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    known = bounds_of_size(size)
    if (start, step) == (0, 1) and end >= 0:
        ends = None if known is None else Bounds(min(known.lower, end), min(known.upper, end))
        return size if end in END_OF_ALL else Symbolic.named(f"min({size}, {end})", ends)
    ends = None if known is None else Bounds(0, known.upper)
    return Symbolic.named(f"sliced({size}, {start}, {end}, {step})", ends)


def _place(size: Size, given: Size) -> Size | None:
    """A place of a Slice, from the front and within its axis; None if no bounds decide it."""
    known = bounds_of_size(given)
    if known is None or bounds_of_size(size) is None:
        return None
    if known.lower >= 0:
        return smaller(given, size)
    return larger(given + size, 0) if known.upper < 0 else None


def _split(node: Node) -> Shapes:
    shape = node.shape(0)
    axis = node.axis(0, len(shape))
    parts = _parts(node, shape[axis])
    return [(*shape[:axis], part, *shape[axis + 1 :]) for part in parts]


def _parts(node: Node, size: Size) -> Sequence[Size | None]:
    count = node.results
    if node.given(1) or node.attribute("split"):
        try:
            parts = node.attribute("split") or node.integers(1)
        except Rejected:
            return [None] * count
        require(len(parts) == count, "it has another number of parts")
        return list(parts)
    require(node.attribute("num_outputs", count) == count, "it has another number of parts")
    if isinstance(size, Symbolic):
        equal = size.bounds is not None and size.is_multiple_of(count)
        return [quotient(size, count) if equal else None] * count
    parts = equal_parts(size, count)
    unequal = node.version < _UNEQUAL_PARTS and size % count
    require(not unequal and parts[-1] >= 0, "the parts are not equal")
    return parts


_UNEQUAL_PARTS = 18
"""The first version of Split in which the last part may be smaller."""


def _gathered(node: Node) -> Shapes:
    shape, indices = node.shape(0), node.shape(1)
    axis = node.axis(0, len(shape))
    return ((*shape[:axis], *indices, *shape[axis + 1 :]),)


def _gathered_tuples(node: Node) -> Shapes:
    shape, indices = node.shape(0), node.shape(1)
    batch = node.attribute("batch_dims", 0)
    match indices:
        case (*front, int() as depth) if batch < len(indices) and batch + depth <= len(shape):
            return ((*front, *shape[batch + depth :]),)
    raise Rejected("a size that it reads is open")


def _depth_to_space(node: Node) -> Shapes:
    match node.shape(0):
        case (batch, int() as depth, height, width):
            block = node.attribute("blocksize")
            return ((batch, depth // (block * block), height * block, width * block),)
    raise Rejected("a size that it reads is open")


def _space_to_depth(node: Node) -> Shapes:
    match node.shape(0):
        case (batch, depth, height, width) if None not in map(bounds_of_size, (height, width)):
            block = node.attribute("blocksize")
            parts = quotient(height, block), quotient(width, block)
            return ((batch, depth * block * block, *parts),)
    raise Rejected("a size that it reads is open")


def _padded(node: Node) -> Shapes:
    shape = node.shape(0)
    try:
        axes, pads = _pads(node, len(shape))
    except Rejected:
        return ((None,) * len(shape),)
    sizes: list[Size | None] = list(shape)
    before, after = pads[: len(axes)], pads[len(axes) :]
    for axis, first, last in zip(axes, before, after, strict=True):
        index = from_the_front(axis, len(shape))
        padded = None if first is None or last is None else first + last
        sizes[index] = None if padded is None else shape[index] + padded
    return (tuple(sizes),)


def _given_pads(node: Node) -> PartialSizes:
    """The pads, an attribute before version 11."""
    pads: PartialSizes = node.attribute("pads", ())
    return pads if node.version < 11 else node.every_element(1)


def _pads(node: Node, rank: int) -> tuple[Sequence[int], PartialSizes]:
    pads = _given_pads(node)
    require(is_within(pads), "a number is beyond int32")
    axes: Sequence[int] = node.integers(3) if node.given(3) else range(rank)
    distinct = {from_the_front(axis, rank) for axis in axes}
    fits = len(pads) == 2 * len(axes) and len(distinct) == len(axes)
    require(fits, "its pads do not fit")
    return axes, pads


def _best(node: Node) -> Shapes:
    shape = node.shape(0)
    axis = node.axis(-1, len(shape))
    try:
        (count,) = [node.attribute("k")] if node.version < 10 else node.small_elements(1)
    except Rejected:
        count = None
    if isinstance(count, Symbolic) and not node.shared.isdisjoint(count.names):
        # A new name is one size wherever it stands.
        count = None
    found = (*shape[:axis], count, *shape[axis + 1 :])
    return (found, found)


_AXES = {"axes": ANY}
_BLOCK = {"blocksize": POSITIVE}

LAYOUT = {
    "Concat": ShapeRule((4, 13), _concatenated, {"axis": ANY}),
    "DepthToSpace": ShapeRule(
        (1, 13), _depth_to_space, {**_BLOCK, "mode": ("DCR", "CRD")}, moves=True
    ),
    "Flatten": ShapeRule((1, 25), _flattened, {"axis": ANY}, moves=True),
    "Gather": ShapeRule((1, 13), _gathered, {"axis": ANY}, moves=True),
    "GatherElements": ShapeRule((11, 13), lambda node: (node.shape(1),), {"axis": ANY}, moves=True),
    # It does not move: kernels up to 1.25 read beyond an empty axis where an index is 0.
    "GatherND": ShapeRule((11, 13), _gathered_tuples, {"batch_dims": ANY}),
    "Pad": ShapeRule(
        (2, 25),
        _padded,
        {"mode": ("constant", "reflect", "edge", "wrap"), "pads": ANY, "value": ANY},
    ),
    "Slice": ShapeRule((1, 13), _sliced, {"axes": ANY, "starts": EVERY, "ends": EVERY}, moves=True),
    "SpaceToDepth": ShapeRule((1, 13), _space_to_depth, _BLOCK, moves=True),
    "Split": ShapeRule(
        (2, 18), _split, {"axis": ANY, "split": ANY, "num_outputs": POSITIVE}, moves=True
    ),
    "Squeeze": ShapeRule((1, 25), _squeezed, _AXES, moves=True),
    "TopK": ShapeRule((1, 24), _best, {"axis": ANY, "k": ANY, "largest": FLAG, "sorted": FLAG}),
    "Transpose": ShapeRule((1, 25), _transposed, {"perm": ANY}, moves=True),
    "Unsqueeze": ShapeRule((1, 25), _unsqueezed, _AXES, moves=True),
}
"""The layout operators by name."""

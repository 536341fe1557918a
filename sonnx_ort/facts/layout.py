"""Operators that reorder or select the elements of a tensor."""

import math
from collections.abc import Sequence

from .node import Node, Shapes
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
    is_within,
    larger,
    quotient,
    require,
    selected,
    smaller,
)


def transposed(node: Node) -> Shapes:
    """Transpose: the sizes in another order."""
    shape = node.shape(0)
    order = node.attribute("perm") or range(len(shape))[::-1]
    require(sorted(order) == list(range(len(shape))), "perm is no order of the axes")
    return (tuple(shape[axis] for axis in order),)


def concatenated(node: Node) -> Shapes:
    """Concat: the sizes of one axis are added."""
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


def flattened(node: Node) -> Shapes:
    """Flatten: the sizes before an axis are multiplied, and those from it on."""
    shape = node.shape(0)
    axis = node.attribute("axis", 1)
    require(-len(shape) <= axis <= len(shape), f"there is no axis {axis}")
    return ((math.prod(shape[:axis]), math.prod(shape[axis:])),)


def squeezed(node: Node) -> Shapes:
    """Squeeze: without the axes that are named, or without those of size 1."""
    shape = node.shape(0)
    axes = axes_of(node)
    if not axes:
        # ONNX Runtime takes an empty list for none.
        require(all(isinstance(size, int) for size in shape), "its axes are not given")
        return (tuple(size for size in shape if size != 1),)
    dropped = {from_the_front(axis, len(shape)) for axis in axes}
    return (tuple(size for axis, size in enumerate(shape) if axis not in dropped),)


def unsqueezed(node: Node) -> Shapes:
    """Unsqueeze: with axes of size 1."""
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


def sliced(node: Node) -> Shapes:
    """Slice: on each axis as many elements as are selected."""
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


def split(node: Node) -> Shapes:
    """Split: the sizes of the parts on one axis."""
    shape = node.shape(0)
    axis = node.axis(0, len(shape))
    parts = _part_sizes(node, shape[axis])
    return [(*shape[:axis], part, *shape[axis + 1 :]) for part in parts]


def _part_sizes(node: Node, size: Size) -> Sequence[Size | None]:
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


def gathered(node: Node) -> Shapes:
    """Gather: the shape of the indices in the place of one axis."""
    shape, indices = node.shape(0), node.shape(1)
    axis = node.axis(0, len(shape))
    return ((*shape[:axis], *indices, *shape[axis + 1 :]),)


def like_second(node: Node) -> Shapes:
    """GatherElements: the result has the shape of the second operand."""
    return (node.shape(1),)


def gathered_tuples(node: Node) -> Shapes:
    """GatherND: the shape of the indices, whose last axis names axes of the operand."""
    shape, indices = node.shape(0), node.shape(1)
    batch = node.attribute("batch_dims", 0)
    match indices:
        case (*front, int() as depth) if batch < len(indices) and batch + depth <= len(shape):
            return ((*front, *shape[batch + depth :]),)
    raise Rejected("a size that it reads is open")


def depth_to_space(node: Node) -> Shapes:
    """DepthToSpace: blocks of channels become blocks of an image."""
    match node.shape(0):
        case (batch, int() as depth, height, width):
            block = node.attribute("blocksize")
            return ((batch, depth // (block * block), height * block, width * block),)
    raise Rejected("a size that it reads is open")


def space_to_depth(node: Node) -> Shapes:
    """SpaceToDepth: blocks of an image become channels."""
    match node.shape(0):
        case (batch, depth, height, width) if None not in map(bounds_of_size, (height, width)):
            block = node.attribute("blocksize")
            parts = quotient(height, block), quotient(width, block)
            return ((batch, depth * block * block, *parts),)
    raise Rejected("a size that it reads is open")


def padded(node: Node) -> Shapes:
    """Pad: to each size its pads are added."""
    shape = node.shape(0)
    try:
        axes, pads = pads_of(node, len(shape))
    except Rejected:
        return ((None,) * len(shape),)
    sizes: list[Size | None] = list(shape)
    before, after = pads[: len(axes)], pads[len(axes) :]
    for axis, first, last in zip(axes, before, after, strict=True):
        index = from_the_front(axis, len(shape))
        padded = None if first is None or last is None else first + last
        sizes[index] = None if padded is None else shape[index] + padded
    return (tuple(sizes),)


def given_pads(node: Node) -> PartialSizes:
    """The pads, an attribute before version 11."""
    pads: PartialSizes = node.attribute("pads", ())
    return pads if node.version < 11 else node.every_element(1)


def pads_of(node: Node, rank: int) -> tuple[Sequence[int], PartialSizes]:
    """The axes that are padded, and the pads of their beginnings and ends.

    Raises:
        Rejected: They are not known, or do not fit.
    """
    pads = given_pads(node)
    require(is_within(pads), "a number is beyond int32")
    axes: Sequence[int] = node.integers(3) if node.given(3) else range(rank)
    distinct = {from_the_front(axis, rank) for axis in axes}
    fits = len(pads) == 2 * len(axes) and len(distinct) == len(axes)
    require(fits, "its pads do not fit")
    return axes, pads


def best(node: Node) -> Shapes:
    """TopK: on one axis as many elements as are asked for."""
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

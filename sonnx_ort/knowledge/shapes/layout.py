"""Operators that reorder or select the elements of a tensor."""

import math
from collections.abc import Sequence

from sonnx_ort.certificates.checker.arithmetic import END_OF_ALL, equal_parts, selected
from sonnx_ort.knowledge.shapes.rule import (
    ANY,
    EVERY,
    FLAG,
    POSITIVE,
    KnownInputs,
    PartialSizes,
    ShapeRule,
    Size,
    Symbolic,
    Unknown,
    counted_from_the_front,
)


def _transposed(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    order = inputs.attribute("perm") or range(len(shape))[::-1]
    if sorted(order) != list(range(len(shape))):
        raise Unknown
    return (tuple(shape[axis] for axis in order),)


def _concatenated(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shapes = [inputs.shape(index) for index in range(len(inputs.node.inputs))]
    rank = len(shapes[0])
    axis = counted_from_the_front(inputs.attribute("axis"), rank)
    if any(len(shape) != rank for shape in shapes):
        raise Unknown
    sizes: list[Size | None] = []
    for index, (first, *others) in enumerate(zip(*shapes, strict=True)):
        if index == axis:
            sizes.append(sum(others, start=first))
        else:
            # ONNX Runtime skips empty inputs, whatever their other sizes are.
            sizes.append(first if all(size == first for size in others) else None)
    return (tuple(sizes),)


def _flattened(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    axis = inputs.attribute("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise Unknown
    return ((math.prod(shape[:axis]), math.prod(shape[axis:])),)


def _squeezed(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    axes = _given_axes(inputs)
    if not axes:
        # ONNX Runtime takes an empty list for none.
        if not all(isinstance(size, int) for size in shape):
            raise Unknown
        return (tuple(size for size in shape if size != 1),)
    dropped = {counted_from_the_front(axis, len(shape)) for axis in axes}
    return (tuple(size for axis, size in enumerate(shape) if axis not in dropped),)


def _unsqueezed(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    axes = _given_axes(inputs)
    if axes is None:
        raise Unknown
    rank = len(shape) + len(axes)
    added = {counted_from_the_front(axis, rank) for axis in axes}
    if len(added) < len(axes):
        raise Unknown
    kept = iter(shape)
    return (tuple(1 if axis in added else next(kept) for axis in range(rank)),)


def _given_axes(inputs: KnownInputs) -> Sequence[int] | None:
    """The axes from the attribute of older versions or the second input; None if omitted."""
    if inputs.value(1) is not None:
        return inputs.integers(1)
    axes: Sequence[int] | None = inputs.attribute("axes")
    return axes


def _sliced(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    try:
        starts, ends, axes, steps = _slices(inputs, len(shape))
    except Unknown:
        return ((None,) * len(shape),)
    sizes: list[Size | None] = list(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index = counted_from_the_front(axis, len(shape))
        sizes[index] = sliced_size(shape[index], start, end, step)
    return (tuple(sizes),)


def _slices(
    inputs: KnownInputs, rank: int
) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
    if inputs.version < 10:
        starts, ends = inputs.attribute("starts"), inputs.attribute("ends")
        axes, steps = inputs.attribute("axes"), None
    else:
        starts, ends = inputs.every_integer(1), inputs.every_integer(2)
        axes = inputs.integers(3) if inputs.value(3) is not None else None
        steps = inputs.every_integer(4) if inputs.value(4) is not None else None
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    fits = len(starts) == len(ends) == len(axes) == len(steps) and 0 not in steps
    if not fits or len({counted_from_the_front(axis, rank) for axis in axes}) < len(axes):
        raise Unknown
    return starts, ends, axes, steps


def sliced_size(size: Size, start: int, end: int, step: int) -> Size | None:
    """The number of elements that a Slice with a nonzero step selects on an axis.

    For negative steps and an end that means all of the axis, ONNX Runtime differs from ONNX.
    """
    if step < 0 and end in END_OF_ALL:
        return None
    if isinstance(size, int):
        return len(selected(size, start, end, step))
    if (start, step) == (0, 1) and end >= 0:
        return size if end in END_OF_ALL else Symbolic.named(f"min({size}, {end})")
    return Symbolic.named(f"sliced({size}, {start}, {end}, {step})")


def _split(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    axis = inputs.axis(0, len(shape))
    parts = _parts(inputs, shape[axis])
    return [(*shape[:axis], part, *shape[axis + 1 :]) for part in parts]


def _parts(inputs: KnownInputs, size: Size) -> Sequence[Size | None]:
    count = len(inputs.node.outputs)
    if inputs.value(1) is not None or inputs.attribute("split"):
        try:
            parts = inputs.attribute("split") or inputs.integers(1)
        except Unknown:
            return [None] * count
        if len(parts) != count:
            raise Unknown
        return list(parts)
    if not isinstance(size, int):
        return [None] * count
    if inputs.attribute("num_outputs", count) != count:
        raise Unknown
    parts = equal_parts(size, count)
    if (inputs.version < 18 and size % count) or parts[-1] < 0:
        raise Unknown
    return parts


def _gathered(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape, indices = inputs.shape(0), inputs.shape(1)
    axis = inputs.axis(0, len(shape))
    return ((*shape[:axis], *indices, *shape[axis + 1 :]),)


def _like_indices(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    return (inputs.shape(1),)


def _gathered_tuples(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape, indices = inputs.shape(0), inputs.shape(1)
    batch = inputs.attribute("batch_dims", 0)
    match indices:
        case (*front, int() as depth) if batch < len(indices) and batch + depth <= len(shape):
            return ((*front, *shape[batch + depth :]),)
    raise Unknown


def _depth_to_space(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    match inputs.shape(0):
        case (batch, int() as depth, height, width):
            block = inputs.attribute("blocksize")
            return ((batch, depth // (block * block), height * block, width * block),)
    raise Unknown


def _space_to_depth(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    match inputs.shape(0):
        case (batch, depth, int() as height, int() as width):
            block = inputs.attribute("blocksize")
            return ((batch, depth * block * block, height // block, width // block),)
    raise Unknown


def _padded(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    try:
        axes, pads = _pads(inputs, len(shape))
    except Unknown:
        return ((None,) * len(shape),)
    sizes: list[Size | None] = list(shape)
    before, behind = pads[: len(axes)], pads[len(axes) :]
    for axis, first, last in zip(axes, before, behind, strict=True):
        index = counted_from_the_front(axis, len(shape))
        sizes[index] = shape[index] + first + last
    return (tuple(sizes),)


def _pads(inputs: KnownInputs, rank: int) -> tuple[Sequence[int], Sequence[int]]:
    axes: Sequence[int] = range(rank)
    if inputs.version < 11:
        pads = inputs.attribute("pads")
    else:
        pads = inputs.integers(1)
        axes = inputs.integers(3) if inputs.value(3) is not None else axes
    distinct = {counted_from_the_front(axis, rank) for axis in axes}
    if len(pads) != 2 * len(axes) or len(distinct) < len(axes):
        raise Unknown
    return axes, pads


def _best(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    axis = inputs.axis(-1, len(shape))
    try:
        (count,) = [inputs.attribute("k")] if inputs.version < 10 else inputs.integers(1)
    except Unknown:
        count = None
    found = (*shape[:axis], count, *shape[axis + 1 :])
    return (found, found)


_AXES = {"axes": ANY}
_BLOCK = {"blocksize": POSITIVE}

LAYOUT = {
    "Concat": ShapeRule((4, 13), _concatenated, {"axis": ANY}),
    "DepthToSpace": ShapeRule((1, 13), _depth_to_space, {**_BLOCK, "mode": ("DCR", "CRD")}),
    "Flatten": ShapeRule((1, 25), _flattened, {"axis": ANY}),
    "Gather": ShapeRule((1, 13), _gathered, {"axis": ANY}),
    "GatherElements": ShapeRule((11, 13), _like_indices, {"axis": ANY}),
    "GatherND": ShapeRule((11, 13), _gathered_tuples, {"batch_dims": ANY}),
    "Pad": ShapeRule(
        (2, 25),
        _padded,
        {"mode": ("constant", "reflect", "edge", "wrap"), "pads": ANY, "value": ANY},
    ),
    "Slice": ShapeRule((1, 13), _sliced, {"axes": ANY, "starts": EVERY, "ends": EVERY}),
    "SpaceToDepth": ShapeRule((1, 13), _space_to_depth, _BLOCK),
    "Split": ShapeRule((2, 18), _split, {"axis": ANY, "split": ANY, "num_outputs": POSITIVE}),
    "Squeeze": ShapeRule((1, 25), _squeezed, _AXES),
    "TopK": ShapeRule((1, 24), _best, {"axis": ANY, "k": ANY, "largest": FLAG, "sorted": FLAG}),
    "Transpose": ShapeRule((1, 25), _transposed, {"perm": ANY}),
    "Unsqueeze": ShapeRule((1, 25), _unsqueezed, _AXES),
}
"""The layout operators by name."""

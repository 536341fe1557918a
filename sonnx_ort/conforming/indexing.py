"""Operators that choose, repeat or place elements, written by operators of the set.

An element of a tensor has a place in the tensor without axes: the sum of its indices times the
products of the sizes that follow. So what chooses elements by indices is a Gather of such places.
"""

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.bounds import SAME_NUMBERS
from sonnx_ort.conforming.change import MOST_ELEMENTS, NoChangeError, filled
from sonnx_ort.conforming.elementwise import either
from sonnx_ort.conforming.operators import Operators, Template
from sonnx_ort.facts.node import IEEE_FLOATS, INTEGERS

_ANY = IEEE_FLOATS | INTEGERS | {"bool"}
_INT64 = ir.DataType.INT64

_BEYOND = 1 << 62
"""More elements than a tensor has."""

_WITH_ZERO_SIZES = 14
"""The first version of Reshape that can be asked for an empty tensor."""

_MOST_PARTS = 64
"""An axis of more elements is not summed element by element, nor repeated more often."""


def count_of_elements(op: Operators, x: ir.Value) -> ir.Value:
    """Size: the only size of X without axes."""
    return op.Squeeze(op.Shape(op.Reshape(x, [-1])), axes=[0])


def tile(op: Operators, x: ir.Value, repeats: ir.Value) -> ir.Value:
    """Tile: each axis as often as it is repeated, one after the other."""
    wanted = op.elements(repeats)
    if wanted.shape != (op.rank(x),):
        raise NoChangeError(f"it has not one number of repeats for each axis of '{x.name}'")
    for axis, times in enumerate(op.integers(repeats)):
        if not 0 < times <= _MOST_PARTS:
            raise NoChangeError(f"axis {axis} of '{x.name}' is repeated {times} times")
        x = op.Concat(*[x] * times, axis=axis) if times > 1 else x
    return op.Identity(x) if x is op.edit.input(0) else x


def one_hot(op: Operators, indices: ir.Value, depth: ir.Value, values: ir.Value) -> ir.Value:
    """OneHot: the second value where an index, counted from either end, is that of the new axis."""
    rank = op.rank(indices)
    axis = op.axis_of(op.attribute("axis"), rank + 1)
    if not 0 < op.integer(depth) <= MOST_ELEMENTS:
        raise NoChangeError(f"its depth is {op.integer(depth):,}")
    if op.edit.shape(values) != (2,):
        raise NoChangeError(f"'{values.name}' is not a vector of two values")
    size = op.cast(op.squeeze(depth, [0] if op.rank(depth) else []), _INT64)
    places = op.Reshape(_count_up(op, size), _along(axis, rank + 1))
    chosen = op.Unsqueeze(op.cast(indices, _INT64), axes=[axis])
    hit = either(op, op.Equal(chosen, places), op.Equal(chosen, op.Sub(places, size)))
    off, on = (op.at(values, 0, each) for each in (0, 1))
    return op.Where(hit, on, off)


def _count_up(op: Operators, end: ir.Value) -> ir.Value:
    return op.Range(op.number(0, _INT64), end, op.number(1, _INT64))


def _along(axis: int, rank: int) -> list[int]:
    """The shape of numbers along an axis."""
    return [-1 if each == axis else 1 for each in range(rank)]


def gather_elements(op: Operators, x: ir.Value, indices: ir.Value) -> ir.Value:
    """GatherElements: the elements at the indices along an axis."""
    axis, rank = op.axis(x), op.rank(x)
    _require_rank(op, indices, rank)
    along = _from_front(op, x, indices, axis)
    places = _places(op, indices, axis, along, rank)
    outside = _outside(op, x, along, axis)
    for other in range(rank):
        sizes = op.edit.shape(indices)[other], op.edit.shape(x)[other]
        fits = isinstance(sizes[0], int) and isinstance(sizes[1], int) and sizes[0] <= sizes[1]
        if other != axis and not fits:
            # The kernel refuses indices that are longer than X along another axis.
            outside = op.Add(outside, _outside(op, x, places[other], other))
    return _gather(op, x, places, outside)


def _require_rank(op: Operators, indices: ir.Value, rank: int) -> None:
    if op.rank(indices) != rank:
        raise NoChangeError(f"'{indices.name}' has {op.rank(indices)} axes, not {rank}")


def gather_along(op: Operators, x: ir.Value, indices: ir.Value, axis: int, rank: int) -> ir.Value:
    """The elements at indices along an axis, which are counted from its front and on it."""
    return _gather(op, x, _places(op, indices, axis, indices, rank))


def scatter_elements(op: Operators, x: ir.Value, indices: ir.Value, updates: ir.Value) -> ir.Value:
    """ScatterElements: a ScatterND at the indices along an axis."""
    if op.attribute("reduction") not in (None, "none"):
        raise NoChangeError("it combines the elements of equal indices")
    axis, rank = op.axis(x), op.rank(x)
    _require_rank(op, indices, rank)
    _require_places_of_their_own(op, x, indices, axis)
    shape, along = op.Shape(indices), _from_front(op, x, indices, axis)
    if not op.is_within(indices, 0):
        along = op.unless(op.Less(along, op.number(0, _INT64)), along)
    places = _places(op, indices, axis, along, rank)
    wide = [op.Unsqueeze(op.Expand(place, shape), axes=[op.rank(x)]) for place in places]
    return op.ScatterND(x, op.Concat(*wide, axis=op.rank(x)), updates)


def _require_places_of_their_own(op: Operators, x: ir.Value, indices: ir.Value, axis: int) -> None:
    """Refuse indices of which two may name one place: ScatterND writes in any order."""
    if op.edit.shape(indices)[axis] in (0, 1):
        return
    known, size = op.edit.facts.known_elements(indices), op.edit.shape(x)[axis]
    if known is None:
        raise NoChangeError(
            "whether two of its indices name the same element depends on the input; make "
            f"'{indices.name}' a constant",
            op.edit.fixing_elements(indices),
        )
    if (known < 0).any():
        if not isinstance(size, int):
            raise NoChangeError(
                f"which elements its negative indices name depends on the sizes of '{x.name}'",
                op.edit.fixing_sizes(x),
            )
        known = np.where(known < 0, known + size, known)
    lines = np.sort(known, axis=axis)
    if (np.diff(lines, axis=axis) == 0).any():
        raise NoChangeError("two of its indices name the same element")


def reverse_sequence(op: Operators, x: ir.Value, lengths: ir.Value) -> ir.Value:
    """ReverseSequence: the elements before each length from the last one to the first."""
    rank, time, batch = op.rank(x), op.attribute("time_axis"), op.attribute("batch_axis")
    if {time, batch} != {0, 1} or rank < 2:
        raise NoChangeError("its axes are not the first two of its operand")
    size = op.Squeeze(op.sizes(x, [time]), axes=[0])
    numbers = op.Reshape(_count_up(op, size), _along(time, rank))
    ends = op.Reshape(_lengths(op, x, lengths), _along(batch, rank))
    last = op.Sub(ends, op.number(1, _INT64))
    reverse = op.Where(op.Less(numbers, ends), op.Sub(last, numbers), numbers)
    return _gather(op, x, _places(op, x, time, reverse, rank))


def _lengths(op: Operators, x: ir.Value, lengths: ir.Value) -> ir.Value:
    """The lengths, one of each sequence; a run ends where one is no length, as it did."""
    time, batch = (op.edit.shape(x)[op.attribute(f"{name}_axis")] for name in ("time", "batch"))
    if op.rank(lengths) != 1:
        raise NoChangeError(f"'{lengths.name}' is no vector")
    if not (isinstance(batch, int) and op.edit.shape(lengths) == (batch,)):
        if op.edit.opset < _WITH_ZERO_SIZES:
            raise NoChangeError(
                "whether each sequence has a length depends on the input",
                op.edit.fixing_sizes(x, lengths),
            )
        lengths = op.Reshape(lengths, op.sizes(x, [op.attribute("batch_axis")]), allowzero=1)
    if isinstance(time, int) and op.is_within(lengths, 0, time):
        return lengths
    size = op.sizes(x, [op.attribute("time_axis")])
    wrong = either(op, op.Less(lengths, op.number(0, _INT64)), op.Less(size, lengths))
    return op.unless(wrong, lengths)


def _from_front(op: Operators, x: ir.Value, indices: ir.Value, axis: int) -> ir.Value:
    """The indices along an axis, with those from its end counted from its front."""
    wide = op.cast(indices, _INT64)
    below = op.cast(op.Less(wide, op.number(0, _INT64)), _INT64)
    return op.Add(wide, op.Mul(below, op.sizes(x, [axis])))


def _places(op: Operators, like: ir.Value, axis: int, along: ir.Value, rank: int) -> list[ir.Value]:
    """The index along each axis: of one axis given, of others that of the element of a tensor."""
    for size in op.edit.shape(op.edit.operand(0)):
        if isinstance(size, int) and size > MOST_ELEMENTS:
            raise NoChangeError(f"an axis has {size:,} elements")
    others = [each for each in range(rank) if each != axis]
    sizes = {each: op.Squeeze(op.sizes(like, [each]), axes=[0]) for each in others}
    return [
        along if each == axis else op.Reshape(_count_up(op, sizes[each]), _along(each, rank))
        for each in range(rank)
    ]


def _gather(
    op: Operators, x: ir.Value, places: Sequence[ir.Value], outside: ir.Value | None = None
) -> ir.Value:
    """The elements of X at these places; a place that is outside ends the run, as it did."""
    flat = places[0]
    for axis, place in enumerate(places[1:], start=1):
        flat = op.Add(op.Mul(flat, op.sizes(x, [axis])), place)
    if outside is not None:
        flat = op.Add(flat, op.Mul(outside, op.number(_BEYOND, _INT64)))
    return op.Gather(op.Reshape(x, [-1]), flat, axis=0)


def _outside(op: Operators, x: ir.Value, along: ir.Value, axis: int) -> ir.Value:
    """1 for each index that is on no place of an axis of X, otherwise 0."""
    before = op.Less(along, op.number(0, _INT64))
    last = op.Sub(op.sizes(x, [axis]), op.number(1, _INT64))
    return op.cast(either(op, before, op.Less(last, along)), _INT64)


def depth_to_space(op: Operators, x: ir.Value) -> ir.Value:
    """DepthToSpace: the parts of the channels become rows and columns."""
    block = op.attribute("blocksize")
    mode = op.attribute("mode")
    n, channels, height, width = _image_sizes(op, x)
    deep = _divided(channels, block**2, "channels")
    if mode in (None, "DCR"):
        parts = op.Reshape(x, [n, block, block, deep, height, width])
        order = [0, 3, 4, 1, 5, 2]
    else:
        parts = op.Reshape(x, [n, deep, block, block, height, width])
        order = [0, 1, 4, 2, 5, 3]
    moved = op.Transpose(parts, perm=order)
    return op.Reshape(moved, [n, deep, height * block, width * block])


def space_to_depth(op: Operators, x: ir.Value) -> ir.Value:
    """SpaceToDepth: the parts of rows and columns become channels."""
    block, by_channel = op.attribute("blocksize"), op.attribute("mode") == "CRD"
    n, channels, height, width = _image_sizes(op, x)
    high, wide = _divided(height, block, "rows"), _divided(width, block, "columns")
    parts = op.Reshape(x, [n, channels, high, block, wide, block])
    moved = op.Transpose(parts, perm=[0, 1, 3, 5, 2, 4] if by_channel else [0, 3, 5, 1, 2, 4])
    return op.Reshape(moved, [n, channels * block**2, high, wide])


def _image_sizes(op: Operators, x: ir.Value) -> tuple[int, int, int, int]:
    sizes = op.edit.sizes(x)
    if len(sizes) != 4 or 0 in sizes:
        raise NoChangeError(f"'{x.name}' is empty, or has not samples, channels, rows and columns")
    return sizes[0], sizes[1], sizes[2], sizes[3]


def _divided(count: int, block: int, what: str) -> int:
    if count % block:
        raise NoChangeError(f"{block} is no divisor of its {count:,} {what}")
    return count // block


def triangle(op: Operators, x: ir.Value, k: ir.Value | None = None) -> ir.Value:
    """Trilu: 0 on one side of a diagonal."""
    if op.rank(x) < 2:
        raise NoChangeError(f"'{x.name}' is no matrix")
    rows, columns = op.edit.sizes(x)[-2:]
    diagonal = 0 if k is None else op.integer(k)
    upper = bool(op.attribute("upper"))
    every = filled((rows, columns), 1, np.bool_)
    kept = np.triu(every, diagonal) if upper else np.tril(every, diagonal)
    return op.Where(kept, x, op.number(0))


def cumulative_sum(op: Operators, x: ir.Value, axis: ir.Value) -> ir.Value:
    """CumSum: from the first element on, each sum of the one before and of an element."""
    along = op.axis_of(op.integer(axis), op.rank(x))
    size = op.edit.sizes(x)[along]
    if not 0 < size <= _MOST_PARTS:
        raise NoChangeError(f"axis {along} of '{x.name}' has {size} elements")
    parts = [op.slice(x, along, index, index + 1) for index in range(size)]
    if op.attribute("reverse"):
        parts.reverse()
    if op.attribute("exclusive"):
        zeros = op.Expand(op.number(0), op.Shape(parts[0]))
        parts = [zeros, *parts[:-1]]
    sums = [parts[0]]
    for part in parts[1:]:
        sums.append(op.Add(sums[-1], part))
    if op.attribute("reverse"):
        sums.reverse()
    return op.Concat(*sums, axis=along)


TEMPLATES = (
    Template("Size", count_of_elements, _ANY),
    Template("Tile", tile, _ANY),
    Template("OneHot", one_hot, _ANY),
    Template("GatherElements", gather_elements, _ANY),
    Template("ScatterElements", scatter_elements, _ANY),
    Template("DepthToSpace", depth_to_space, _ANY),
    Template("SpaceToDepth", space_to_depth, _ANY),
    Template("ReverseSequence", reverse_sequence, _ANY),
    Template("Trilu", triangle, INTEGERS, IEEE_FLOATS, SAME_NUMBERS),
    Template("CumSum", cumulative_sum, INTEGERS | {"float", "double"}),
)
"""The templates of operators that choose, repeat or place elements."""

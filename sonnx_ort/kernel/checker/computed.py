"""The rules about values of a run: shapes and sizes, and elements of constants."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..elementwise import BROADCASTING
from ..node import INTEGERS
from ..sizes import Rejected, Size, along_axes, from_the_front, reach, require
from .node import Node
from .stated import FAMILIES, Demand

Limits = Callable[[Node], Mapping[int, int]]
"""The smallest sizes of axes, by axis."""

_UNSIGNED = tuple(sorted(kind for kind in INTEGERS if kind.startswith("u")))
_INT32 = 2**31


def _one_shape(node: Node) -> None:
    shapes = {node.model.true_shape(name) for name in node.names()}
    require(len(shapes) == 1, "shapes differ")
    for result in node.proto.output:
        node.model.require_claimed(result, *shapes)


def _rank(rank: int, *places: int) -> Demand:
    def demand(node: Node) -> None:
        for name in node.names(places):
            found = len(node.model.true_shape(name))
            require(found == rank, f"'{name}' is of rank {found}")

    return demand


def _elements(
    place: int, admits: Callable[[Any, str], Any], *harmless: str, missing: Sequence[int] = ()
) -> Demand:
    """The elements of a constant, or all integers within bounds, are admitted.

    Args:
        place: The place of the operand; all operands, if it is negative.
        admits: Whether a number of a type is admitted.
        harmless: The types of which all are.
        missing: The integers that are not, if those that are admitted have gaps.
    """

    def demand(node: Node) -> None:
        for name in node.names() if place < 0 else node.names([place]):
            element_type = node.model.known("type", name)
            if element_type in harmless:
                continue
            if node.model.knows("bounds", name) and not node.model.is_constant(name):
                bounds = node.model.known("bounds", name)
                ends = (bounds.lower, bounds.upper)
                within = all(admits(end, element_type) for end in ends)
                if within and not any(number in bounds for number in missing):
                    continue
            array = node.model.array(name)
            bad = [v for v in array.ravel().tolist() if not admits(v, str(array.dtype))]
            require(not bad, f"an element of '{name}' is {bad[:1]}")

    return demand


def _representable(node: Node) -> None:
    """The smallest number is not divided by -1."""
    try:
        _elements(1, lambda v, _: v != -1, *_UNSIGNED, missing=(-1,))(node)
    except Rejected as reason:
        try:
            _elements(0, lambda v, kind: not _is_smallest(v, kind))(node)
        except Rejected:
            raise reason from None


def _is_smallest(value: int, dtype: str) -> bool:
    bits = int(dtype.removeprefix("int"))
    return value == -(1 << (bits - 1))


def _is_number(value: float, _: str) -> bool:
    return not math.isnan(value)


def _finite(value: float, _: str) -> bool:
    return math.isfinite(value)


def _groups(node: Node) -> None:
    group = node.attribute("group", 1)
    require(group <= 1 or node.true_shape()[1] == group, "there are other groups")


def _channels(node: Node) -> None:
    (_, channels, *_), (_, taken, *_) = node.true_shape(0), node.true_shape(1)
    group = max(1, node.attribute("group", 1))
    require(channels == taken * group, "the channels differ")


def _shape(place: int, *wanted: Callable[[Node], Sequence[Size]]) -> Demand:
    """An operand, if it is given, has one of these shapes."""

    def demand(node: Node) -> None:
        if node.name(place):
            shapes = [tuple(each(node)) for each in wanted]
            found = node.true_shape(place)
            require(found in shapes, f"the shape is {found}, not {shapes}")

    return demand


def _outputs_of_w(node: Node) -> Sequence[Size]:
    return node.true_shape(1)[:1]


def _gates(node: Node) -> tuple[int, int, int]:
    """The directions of an LSTM, its gates' sizes, and the size of its state."""
    hidden = int(node.attribute("hidden_size"))
    directions = 2 if node.attribute("direction") == "bidirectional" else 1
    return directions, 4 * hidden, hidden


def _window(node: Node) -> list[tuple[int, int, tuple[int, int]]]:
    """Of each spatial axis its number, the span of the kernel and the pads of both ends."""
    kernel = node.attribute("kernel_shape")
    dilations = node.attribute("dilations", [1] * len(kernel))
    pads = node.attribute("pads", [0] * 2 * len(kernel))
    spans = [*map(reach, kernel, dilations)]
    pairs = zip(pads[: len(kernel)], pads[len(kernel) :], strict=True)
    return [(k, *each) for k, each in enumerate(zip(spans, pairs, strict=True), 2)]


def _window_sizes(node: Node) -> dict[int, int]:
    """The smallest sizes into which the window of a pool fits, by axis."""
    return {axis: span - sum(pads) for axis, span, pads in _window(node) if span > sum(pads)}


def _dilations_where_padded(node: Node) -> dict[int, int]:
    """The sizes of axes below which a window of a pool may hold padding alone."""
    dilations = node.attribute("dilations", [1, 1])
    pairs = zip(_window(node), dilations, strict=True)
    return {axis: dilation for (axis, _, pads), dilation in pairs if any(pads) and dilation > 1}


def _not_shorter(place: int, limits: Limits) -> Demand:
    """Axes of an operand are not shorter than limits; one that is left out has none."""

    def demand(node: Node) -> None:
        for axis, least in limits(node).items() if node.name(place) else ():
            size = node.true_shape(place)[axis]
            text = f"axis {axis} is {size}, and may be shorter than {least}"
            require(isinstance(size, int) and size >= least, text)

    return demand


def _padded_with_zero(node: Node) -> None:
    if any(node.attribute("pads", ())) and node.name(2):
        require(not node.model.array(node.name(2)).any(), "the zero point is not 0")


def _cuts(node: Node) -> list[tuple[Size, Size, Size, int]]:
    """Of each axis of a Slice that is named its size, start, end and step."""
    x = node.true_shape()
    axes, steps = node.listed("", 3), node.listed("", 4)
    sizes = [x[from_the_front(axis, len(x))] for axis in axes]
    return list(zip(sizes, node.certain_elements(1), node.certain_elements(2), steps, strict=True))


def _every_axis(node: Node) -> None:
    require(node.true_shape(3) == (len(node.true_shape()),), "not all axes are named")


def _starts(node: Node) -> None:
    for size, start, _, _ in _cuts(node):
        inside = isinstance(size, int) and isinstance(start, int) and -size <= start < size
        require(inside, "a start may be no place")


def _ends(node: Node) -> None:
    for size, _, end, step in _cuts(node):
        if isinstance(size, int) and isinstance(end, int):
            down = step < 0
            require(-size - down <= end <= size - down, "an end is beyond its axis")
        else:
            require(size == end and step > 0, "an end may be beyond its axis")


def _in_order(node: Node) -> None:
    for size, start, end, step in _cuts(node):
        if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
            first, last = (at + size if at < 0 else at for at in (start, end))
            require(first >= last if step < 0 else first <= last, "a start lies behind its end")
        else:
            require(start == 0 and size == end and step > 0, "a start may lie behind its end")


def _inferable(node: Node) -> None:
    """A size of -1 follows from the others; an open one of these elements is a size of a value."""
    asked, x = node.certain_elements(1), node.name(0)
    if -1 in asked and node.attribute("allowzero", 0) == 1:
        require(all(isinstance(size, int) and size for size in asked), "a size may be 0")
    elif -1 in asked:
        require(all(map(_is_positive, node.model.true_shape(x))), "X may be empty")


def _is_positive(size: Size) -> bool:
    """Whether a size is known not to be 0."""
    return isinstance(size, int) and size > 0


def _alike_but_on_axis(node: Node) -> None:
    shapes = [node.true_shape(k) for k in range(len(node.proto.input))]
    axis = node.axis(0, len(shapes[0]))
    rest = {(len(s), *s[:axis], *s[axis + 1 :]) for s in shapes}
    require(len(rest) == 1, "the shapes differ beside the axis")


def _named_once(node: Node) -> None:
    axes = node.listed("axes", 1)
    if len({axis < 0 for axis in axes}) > 1:
        axes = [from_the_front(axis, len(node.true_shape())) for axis in axes]
    require(len({*axes}) == len(axes), "an axis is named twice")


def _axis(node: Node) -> int:
    """The axis of an ArgMax or a Softmax."""
    default = 0
    if node.proto.op_type == "Softmax":
        default = 1 if node.model.version < 13 else -1
    return node.axis(default, len(node.true_shape()))


def _has_axis(node: Node) -> None:
    _axis(node)


def _axis_has_elements(node: Node) -> None:
    require(_is_positive(node.true_shape()[_axis(node)]), "the axis may be empty")


def _short_behind_axis(node: Node) -> None:
    behind = node.true_shape()[_axis(node) + 1 :]
    require(all(size in (0, 1) for size in behind), "an axis behind the axis is long")


def _difference(node: Node) -> None:
    if node.name(2):
        array = node.model.array(node.name(2))
        require(not array.any(), "a difference may be beyond int32")


def _broadcastable(node: Node) -> None:
    axes = along_axes([node.model.true_shape(name) for name in node.names()])
    require(all(map(_is_broadcastable, axes)), "the shapes do not fit")


def _is_broadcastable(sizes: Sequence[Size]) -> bool:
    """Whether each size is the largest one, or 1."""
    numbers = [size for size in sizes if isinstance(size, int)]
    return len({*sizes}) == 1 or {*sizes} <= {1, max(numbers, default=1)}


def _no_zero(value: Any, _: str) -> bool:
    return bool(value != 0)


RANKS: Mapping[str, tuple[int, ...]] = {
    "MatMul.C1": (2, 0, 1), "Clip.C1": (0, 1, 2), "QuantizeLinear.signature": (0, 1, 2),
    "DequantizeLinear.signature": (0, 1, 2), "Unsqueeze.A.rank": (1, 1),
    "Range.scalars": (0, 0, 1, 2), "Conv.R1": (4, 0, 1), "ConvInteger.R1": (4, 0, 1),
    "ConvInteger.x_zero_point": (0, 2), "MaxPool.R1": (4, 0), "Gemm.R1": (2, 0, 1, 2),
    "LSTM.X": (3, 0),
}  # fmt: skip
"""The rank that a rule demands, and the places of the operands."""

LIMITS: Mapping[str, tuple[int, Limits]] = {
    "Conv.kernel": (1, lambda _: {2: 1, 3: 1}), "ConvInteger.kernel": (1, lambda _: {2: 1, 3: 1}),
    "MaxPool.fits": (0, _window_sizes), "MaxPool.C1": (0, _dilations_where_padded),
    "Squeeze.A.names": (1, lambda _: {0: 1}), "LSTM.batch": (0, lambda _: {1: 1}),
    "LSTM.sequences": (0, lambda _: {0: 1}),
}  # fmt: skip
"""The place of an operand, and below which sizes its axes must not be."""

COMPUTED: Mapping[str, Demand] = {
    **{f"{operator}.{family}.R1": _one_shape for operator, families in FAMILIES.items()
       for family in families if operator in BROADCASTING},
    **{rule: _rank(*ranks) for rule, ranks in RANKS.items()},
    **{rule: _not_shorter(*limits) for rule, limits in LIMITS.items()},
    **dict.fromkeys(("Conv.R3", "ConvInteger.R3"), _groups),
    **dict.fromkeys(("Conv.channels", "ConvInteger.channels"), _channels),
    **dict.fromkeys(("Div.R1", "Div.R4", "Sub.R1"), _one_shape),
    **dict.fromkeys(("Div.int.C1", "Mod.int.C1", "Div.R5"), _elements(1, _no_zero, missing=(0,))),
    **dict.fromkeys(("Div.int.C2", "Mod.int.C2"), _representable),
    **dict.fromkeys(
        ("Max.int.C1", "Min.int.C1"),
        _elements(-1, lambda v, _: -_INT32 <= v < _INT32, *sorted(INTEGERS - {"int64"})),
    ),
    "Pow.int.C1": _elements(1, lambda v, _: v >= 0, *_UNSIGNED),
    "BitShift.int.C1": _elements(1, lambda v, kind: v in range(int(kind.removeprefix("uint")))),
    "Abs.int.C1": _elements(0, lambda v, k: not _is_smallest(v, k), *_UNSIGNED),
    "Acos.float.C1": _elements(0, lambda v, _: -1 <= v <= 1), "Broadcast.E1": _broadcastable,
    "BatchNormalization.C3": _elements(4, lambda v, _: v >= 0), "Slice.R2": _every_axis,
    "Slice.R8": _starts, "Slice.C2": _ends, "Slice.R6": _in_order,
    "ArgMax.R5": _axis_has_elements,
    "Clip.float.min.C2": _elements(1, _is_number), "Clip.float.max.C2": _elements(2, _is_number),
    "ArgMax.float.C1": _elements(0, _is_number), "Softmax.C2": _has_axis,
    "Softmax.C4": _short_behind_axis,
    "Softmax.float.C5": _elements(0, lambda v, _: v != math.inf),
    "QuantizeLinear.C1": _elements(1, lambda v, _: v != 0 and not math.isnan(v)),
    "QuantizeLinear.C2": _elements(0, _finite),
    "DequantizeLinear.C1": _difference, "Concat.C2": _alike_but_on_axis,
    "Reshape.allowzero.C3": _inferable, "Squeeze.A.C2": _named_once,
    "Conv.B": _shape(2, _outputs_of_w),
    "ConvInteger.w_zero_point": _shape(3, lambda _: (), _outputs_of_w),
    "ConvInteger.C1": _padded_with_zero,
    "MaxPool.float.C2": _elements(0, lambda v, _: v > -math.inf),
    "Gemm.R3": _shape(2, lambda node: (node.true_shape(0)[0], node.true_shape(1)[1])),
    "LSTM.W": _shape(1, lambda node: (*_gates(node)[:2], node.true_shape()[2])),
    "LSTM.R": _shape(2, _gates),
}  # fmt: skip
"""What each of these rules demands of a node."""

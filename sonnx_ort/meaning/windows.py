"""Reductions along axes, ArgMax among them, and over sliding windows: MaxPool and averages.

Sources: SONNX MaxPool, draft of the working group: padding is the lowest number of the type, and no
window may be padding alone. A NaN in a window gives NaN, as in the newer draft in ericjenn/sonnx;
the other does not say it. The working group's draft demands auto_pad NOTSET, ceil_mode 0 and
storage_order 0; others are ONNX MaxPool, version 22; averages ONNX AveragePool, version 22.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.facts.sizes import reach
from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.comparison import largest, less
from sonnx_ort.meaning.lines import PADDING, Lines, MakeLines, Numbers, of_arrays, padded
from sonnx_ort.meaning.node import BallNode, Node, are_balls
from sonnx_ort.meaning.numbers import Array, Exact, Indices, Kind, Number, encoded_elements, tensor
from sonnx_ort.meaning.results import (
    EXACT,
    UNDEFINED,
    Choices,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    mask,
)

if TYPE_CHECKING:
    from flint import arb

Reduce = Callable[[BallNode, Sequence[Any]], Any]
"""Makes one element of those along some axes."""


def reduction(compute: Reduce, since: int) -> Callable[[BallNode], tuple[Array, ...]]:
    """What computes a reduction; its axes are an attribute before a version."""

    def of_node(node: BallNode) -> tuple[Array, ...]:
        x, axes = node.operand(0), _axes_of_reduction(node, since)
        return (x,) if axes is None else (reduced(node, x, axes, compute),)

    return of_node


def _axes_of_reduction(node: Node, since: int) -> Sequence[int] | None:
    """The axes along which a node reduces; None if it is to reduce along none."""
    axes = node.listed(1, "axes", since)
    if not axes:
        return None if node.integer("noop_with_empty_axes", 0) else range(node.operand(0).ndim)
    return axes


def reduced(node: BallNode, x: Array, axes: Sequence[int], compute: Reduce) -> Array:
    """What a function makes of the elements along some axes.

    Raises:
        NotDefinedError: An axis does not exist.
    """
    along, kept, lines = _along(x, axes)
    flat = lines.reshape(prod(kept), -1)
    made = tensor((compute(node, line) for line in flat.tolist()), kept)
    if not are_balls(x):
        made = made.astype(x.dtype)
    return np.expand_dims(made, along) if node.integer("keepdims", 1) else made


def _along(x: Array, axes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], Array]:
    """The places of some axes, the sizes of the others, and a view with the others in front."""
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise NotFollowedError(f"not all of the axes {list(axes)} are in [{-x.ndim}, {x.ndim - 1}]")
    along = tuple(sorted({axis % x.ndim for axis in axes}))
    kept = [k for k in range(x.ndim) if k not in along]
    return along, tuple(x.shape[k] for k in kept), x.transpose(*kept, *along)


def lines_along(node: Node, operands: Numbers, axes: Sequence[int]) -> Lines:
    """Lines along some axes of the first operand, which become of size 1, or go."""
    (x,) = of_arrays(operands[:1])
    along, kept, lines = _along(x, axes)
    keeping = tuple(1 if k in along else size for k, size in enumerate(x.shape))
    # The other axes are of size 1 in a line.
    single = [len(kept) + k for k in range(x.ndim) if k not in along]
    return Lines(
        keeping if node.integer("keepdims", 1) else kept,
        [np.expand_dims(lines, single), *(None for _ in operands[1:])],
        {**node.attributes, "keepdims": 1},
        (1,) * x.ndim,
        x.size // max(prod(kept), 1),
        kept,
    )


def lines_of_reduction(since: int) -> MakeLines:
    """What makes the lines of a reduction; its axes are an attribute before a version."""

    def lines(node: Node, operands: Numbers) -> Lines | None:
        axes = _axes_of_reduction(node, since)
        return None if axes is None else lines_along(node, operands, axes)

    return lines


def total(node: BallNode, line: Sequence[Any]) -> Any:
    """The sum of some balls or integers."""
    made = sum(line)
    if node.binary is None or not line or isinstance(made, int):
        return made
    return node.rounded(made, len(line), sum(map(abs, line)))


def mean(node: BallNode, line: Sequence[Any]) -> Any:
    """The mean of some balls.

    Raises:
        NotFollowedError: There are none, or they are integers.
    """
    if not line or isinstance(line[0], int):
        raise NotFollowedError("it is the mean of nothing, or of integers")
    whole: Any = sum(map(abs, line))
    # The sum, which is before the quotient, may exceed the format.
    return node.rounded(sum(line) / len(line), len(line) + 1, whole / len(line), reach=(whole,))


def top(_: BallNode, line: Sequence[Any]) -> Any:
    """The largest of some balls or integers.

    Raises:
        NotFollowedError: There are none.
    """
    if not line:
        raise NotFollowedError("nothing has no largest element")
    return max(line) if isinstance(line[0], int) else largest(*line)


def bottom(node: BallNode, line: Sequence[Any]) -> Any:
    """The smallest of some balls or integers.

    Raises:
        NotFollowedError: There are none.
    """
    return -top(node, [-each for each in line])


def sum_of_squares(node: BallNode, line: Sequence[Any]) -> Any:
    """The sum of the squares of some balls.

    Raises:
        NotFollowedError: They are integers.
    """
    if line and isinstance(line[0], int):
        raise NotFollowedError("it squares integers")
    return total(node, [node.rounded(each * each) for each in line])


_ONLY_PADDING = "the window has no element of X"


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over spatial axes; all lists have an entry for each axis.

    Attributes:
        sizes: The sizes of the axes.
        kernel: The sizes of the window.
        strides: The distances between windows.
        dilations: The distances between the elements of a window.
        before: The sizes of the padding before the axes.
        counts: How many windows there are.
    """

    sizes: Sequence[int]
    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    before: Sequence[int]
    counts: Sequence[int]

    def over(self, x: Array, padding: Any) -> Array:
        """The elements of a tensor in each window: a view, whose last axes are those of a window.

        The axes of the tensor before the spatial ones come first, then one that counts the windows
        along each spatial axis.
        """
        axes = len(self.sizes)
        spans = [*map(reach, self.kernel, self.dilations)]
        around, index = [(0, 0)] * (x.ndim - axes), [slice(None)] * (x.ndim - axes)
        for k, (count, stride) in enumerate(zip(self.counts, self.strides, strict=True)):
            end = (max(count, 1) - 1) * stride + spans[k]
            around.append((self.before[k], max(0, end - self.before[k] - self.sizes[k])))
            index.append(slice(0, count * stride, stride))
        index += [slice(None, None, dilation) for dilation in self.dilations]
        whole = padded(x, around, padding)
        windows = np.lib.stride_tricks.sliding_window_view(whole, spans, tuple(range(-axes, 0)))
        return windows[tuple(index)]

    def places(self) -> Indices:
        """The flat indices of the elements of windows, a row for each window, -1 for padding."""
        indices = np.arange(prod(self.sizes)).reshape(self.sizes)
        return self.over(indices, PADDING).reshape(-1, prod(self.kernel))


def windows_of(node: Node, kernel: Sequence[int]) -> Windows:
    """The windows over the axes of the first operand after its second.

    Raises:
        NotDefinedError: Attributes do not fit the operand, or no window does.
    """
    sizes = node.operand(0).shape[2:]
    axes = len(sizes)
    strides = node.integers("strides", [1] * axes)
    dilations = node.integers("dilations", [1] * axes)
    pads = node.integers("pads", [0] * 2 * axes)
    lengths = (len(kernel), len(strides), len(dilations), len(pads) // 2)
    if axes == 0 or set(lengths) != {axes} or len(pads) % 2:
        raise NotDefinedError(f"attributes of lengths {lengths} do not fit {axes} spatial axes")
    if min((*strides, *dilations, *kernel)) < 1 or min(pads) < 0:
        raise NotDefinedError("strides, dilations and kernel are above 0, and pads not below")
    padding = str(node.attributes.get("auto_pad", "NOTSET"))
    ceil = bool(node.integer("ceil_mode", 0))
    before, counts = [], []
    for k in range(axes):
        extent = reach(kernel[k], dilations[k])
        if padding in ("NOTSET", "VALID"):
            first, last = (pads[k], pads[axes + k]) if padding == "NOTSET" else (0, 0)
            span = sizes[k] + first + last - extent
            count = (-(-span // strides[k]) if ceil else span // strides[k]) + 1
            # A window that would start in the padding after the axis is omitted.
            if ceil and (count - 1) * strides[k] >= sizes[k] + first:
                count -= 1
        else:
            count = -(-sizes[k] // strides[k])
            padded = max(0, (count - 1) * strides[k] + extent - sizes[k])
            first = padded // 2 if padding == "SAME_UPPER" else padded - padded // 2
        if count < 0:
            raise NotDefinedError(f"the window does not fit axis {k + 2}")
        before.append(first)
        counts.append(count)
    return Windows(sizes, kernel, strides, dilations, before, counts)


def max_pool(node: Node) -> tuple[Elements | Result, ...]:
    """MaxPool: the largest element of each window, and the index of such an element in X.

    An index counts the elements of the whole tensor X in row-major order. If several elements are
    the largest, it is that of the first one. No document says which of several NaNs it is: any is
    admitted. Balls come without indices.

    Raises:
        NotDefinedError: Attributes do not fit the operand.
    """
    x = node.exact(0)
    windows = windows_of(node, node.integers("kernel_shape", []))
    if isinstance(node, BallNode):
        made = _pooled(node, windows, lambda line, _: largest(*line))
        return (Elements(made, None),)
    size, rows = prod(windows.sizes), windows.places()
    order: Any = "F" if node.integer("storage_order", 0) else "C"
    numbers = np.arange(size).reshape(windows.sizes, order=order).ravel().tolist()
    tops, chosen, both_zeros = [], [], []
    for number, channel in enumerate(np.ndindex(*x.shape[:2])):
        elements = x[channel].ravel()
        for places in rows:
            found = places[places >= 0]
            data = elements[found].tolist()
            top, those = _largest(data, found.tolist())
            tops.append(top)
            both_zeros.append(_has_both_zeros(data))
            chosen.append({number * size + numbers[place] for place in those})
    shape = (*x.shape[:2], *windows.counts)
    undefined = mask((top is None for top in tops), shape)
    indices = Result(
        np.array([min(places, default=0) for places in chosen], np.int64).reshape(shape),
        Choices(np.zeros(shape, np.int64), [frozenset(places) for places in chosen]),
        undefined,
        "the first of the largest elements, and any NaN (ours: no document says which)",
        _ONLY_PADDING if undefined.any() else "",
    )
    element_type = node.element_type()
    if element_type is not None and node.is_of_integers():
        maxima = encoded_elements(tensor((top or 0 for top in tops), shape), element_type)
        return exactly(maxima, undefined, _ONLY_PADDING), indices
    points = [
        UNDEFINED if top is None else Enclosed(top, passed_on=not both)
        for top, both in zip(tops, both_zeros, strict=True)
    ]
    return Elements(tensor(points, shape), element_type, EXACT, _ONLY_PADDING), indices


def _largest(data: Sequence[Any], places: Sequence[int]) -> tuple[Any, list[int]]:
    """The largest of some elements, and where it is first; a NaN is the largest, anywhere."""
    if not data:
        return None, []
    if not isinstance(data[0], Number):
        top = max(data)
        return top, [places[data.index(top)]]
    top, pairs = largest(*data), zip(data, places, strict=True)
    if top.kind is Kind.NAN:
        return top, [place for datum, place in pairs if datum.kind is Kind.NAN]
    return top, [next(place for datum, place in pairs if not less(datum, top))]


def _has_both_zeros(data: Sequence[Any]) -> bool:
    """Whether there are zeros of both signs among some elements."""
    return len({each.negative for each in data if isinstance(each, Number) and each.is_zero}) > 1


def lines_of_windows(node: Node, operands: Numbers) -> Lines:
    """Lines of the elements of X in a window of a MaxPool, without those of padding."""
    windows = windows_of(node, node.integers("kernel_shape", []))
    (x,) = of_arrays(operands[:1])
    others = [1] * (len(windows.kernel) - 1)

    def without_padding(read: Numbers) -> tuple[Mapping[str, Any], Numbers]:
        (window,) = of_arrays(read)
        inside = window[window != PADDING]
        return {"kernel_shape": [max(1, inside.size), *others]}, [inside.reshape(1, 1, -1, *others)]

    return Lines(
        (*x.shape[:2], *windows.counts),
        [windows.over(x, PADDING)],
        {},
        (1,) * x.ndim,
        prod(windows.kernel),
        form=without_padding,
    )


def average_pool(node: BallNode) -> tuple[Array, ...]:
    """AveragePool: of the elements of a window, or with zeros for its padding."""
    if node.integer("ceil_mode", 0):
        raise NotFollowedError("ceil_mode is set")
    padded = bool(node.integer("count_include_pad", 0))

    def average(line: "Sequence[arb]", size: int) -> Any:
        return mean(node, [*line, *[line[0] * 0] * (size - len(line))] if padded else line)

    return (_pooled(node, windows_of(node, node.integers("kernel_shape", [])), average),)


def _pooled(node: BallNode, windows: Windows, compute: Any) -> Exact:
    """What a function makes of the elements of each window, given the window's size too."""
    x, places = node.operand(0), windows.places()
    if not (places >= 0).any(1).all():
        raise NotFollowedError("a window has no element of X")
    size = places.shape[1]
    made = np.empty((*x.shape[:2], *windows.counts), object)
    for channel in np.ndindex(*x.shape[:2]):
        elements = x[channel].ravel()
        found = (compute(elements[row[row >= 0]].tolist(), size) for row in places)
        made[channel] = tensor(found, windows.counts)
    return made


def elements_of_windows(node: Node) -> int:
    """How many elements the windows of a pooling have."""
    windows = windows_of(node, node.integers("kernel_shape", []))
    return prod((*node.operand(0).shape[:2], *windows.counts, *windows.kernel))


def global_average(node: BallNode) -> tuple[Array, ...]:
    """GlobalAveragePool: the mean of each channel."""
    x = node.operand(0)
    return (reduced(node, x, range(2, x.ndim), mean),)


def lines_of_channels(node: Node, operands: Numbers) -> Lines:
    """Lines of a channel, of a GlobalAveragePool."""
    return lines_along(node, operands, range(2, node.operand(0).ndim))

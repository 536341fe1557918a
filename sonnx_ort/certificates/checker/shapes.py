"""What follows from a node about the shapes of its results, by the operators' documents."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from .arithmetic import END_OF_ALL, LARGEST, equal_parts, reach, selected
from .node import Node, bodies_of
from .sizes import (
    Size,
    Sizes,
    added,
    common,
    divided,
    from_the_front,
    is_positive,
    multiplied,
    require,
    same,
)


def _broadcast(node: Node) -> list[Sizes]:
    return [common([node.shape(index) for index in range(len(node.proto.input))])]


def _broadcast_each(node: Node) -> Sequence[Sizes]:
    return _broadcast(node) * len(node.proto.output)


def _as_first(node: Node) -> Sequence[Sizes]:
    return [node.shape()]


def _matmul(node: Node) -> Sequence[Sizes]:
    a, b = node.shape(0), node.shape(1)
    require(len(a) > 1 and len(b) > 1, "an operand is no matrix")
    # Until onnxruntime 1.31.1 stacks are not broadcast if nothing is summed up.
    if a[:-2] != b[:-2] and not is_positive(a[-1]):
        require(len(a) == len(b), "the summed axis may be empty")
        return [(*[None] * (len(a) - 2), a[-2], b[-1])]
    return [(*common([a[:-2], b[:-2]]), a[-2], b[-1])]


def _gemm(node: Node) -> Sequence[Sizes]:
    node.only(alpha=(), beta=(), transA=(0, 1), transB=(0, 1))
    a, b = node.shape(0), node.shape(1)
    require(len(a) == len(b) == 2, "an operand is no matrix")
    return [(a[node.attribute("transA", 0)], b[1 - node.attribute("transB", 0)])]


def _windows(node: Node, kernel: Sequence[Size], sizes: Sequence[Size]) -> Iterator[Size]:
    ones = [1] * len(kernel)
    strides, dilations = node.attribute("strides", ones), node.attribute("dilations", ones)
    pads = node.attribute("pads", [0] * 2 * len(kernel))
    require(min([*strides, *dilations], default=1) > 0, "a stride or dilation is below 1")
    require(min(pads, default=0) >= 0, "a pad is below 0")
    for axis, (size, extent) in enumerate(zip(sizes, kernel, strict=True)):
        require(isinstance(extent, int) and extent > 0, "the kernel is not known")
        span = reach(int(extent), dilations[axis])
        room = added(size, pads[axis] + pads[axis + len(kernel)] - span)
        require(not isinstance(room, int) or room >= 0, "no window fits")
        yield added(divided(room, strides[axis]), 1)


_WINDOWS = dict.fromkeys(("dilations", "group", "kernel_shape", "pads", "strides"), ())


def _convolved(node: Node) -> Sequence[Sizes]:
    node.only(auto_pad=(b"NOTSET",), **_WINDOWS)
    x, w = node.shape(0), node.shape(1)
    require(len(x) == len(w) > 2, "X and W have other axes")
    return [(x[0], w[0], *_windows(node, w[2:], x[2:]))]


def _convolved_back(node: Node) -> Sequence[Sizes]:
    node.only(auto_pad=(b"NOTSET",), output_padding=(), **_WINDOWS)
    x, w = node.shape(0), node.shape(1)
    kernel, group = w[2:], node.attribute("group", 1)
    require(len(x) == len(w) > 2 and isinstance(w[1], int), "X and W have other axes")
    ones = [1] * len(kernel)
    strides, dilations = node.attribute("strides", ones), node.attribute("dilations", ones)
    pads = node.attribute("pads", [0] * 2 * len(kernel))
    further = node.attribute("output_padding", [0] * len(kernel))
    made: list[Size | None] = []
    for axis, (size, extent) in enumerate(zip(x[2:], kernel, strict=True)):
        cut = pads[axis] + pads[axis + len(kernel)] - further[axis]
        known = isinstance(size, int) and isinstance(extent, int)
        span = reach(int(extent), dilations[axis]) if known else 0
        made.append(strides[axis] * (int(size) - 1) + span - cut if known else None)
    return [(x[0], int(w[1]) * group, *made)]


def _pooled(node: Node) -> Sequence[Sizes]:
    padding = {"ceil_mode": (0,), "count_include_pad": (0, 1), "storage_order": (0,)}
    node.only(auto_pad=(b"NOTSET",), **padding, **_WINDOWS)
    x, kernel = node.shape(), node.attribute("kernel_shape")
    require(len(x) == len(kernel) + 2, "the kernel has other axes")
    return [(*x[:2], *_windows(node, kernel, x[2:]))]


def _pooled_globally(node: Node) -> Sequence[Sizes]:
    return [(*node.shape()[:2], *[1] * len(node.shape()[2:]))]


def _transposed(node: Node) -> Sequence[Sizes]:
    x = node.shape()
    order = node.attribute("perm", list(range(len(x)))[::-1])
    require(sorted(order) == list(range(len(x))), "perm is no order of the axes")
    return [tuple(x[axis] for axis in order)]


_MOST_AXES = 64
"""More than any tensor has; as many sizes do not take much memory."""


def _open(node: Node, index: int) -> Sizes | None:
    """As many open sizes as an operand has elements; None if the elements are known."""
    if node.model.knows("elements", node.name(index)):
        return None
    (count,) = node.shape(index)
    require(isinstance(count, int) and count <= _MOST_AXES, "its rank is not known")
    return (None,) * int(count)


def _reshaped(node: Node) -> Sequence[Sizes]:
    node.only(allowzero=(0, 1))
    open_sizes = _open(node, 1)
    if open_sizes is not None:
        return [open_sizes]
    asked, copies = node.elements(1), not node.attribute("allowzero")
    x = node.shape() if 0 in asked or -1 in asked else ()
    # An open element may be 0 in a run, and then stands for the size of X.
    made = [
        x[k]
        if size == 0 and copies
        else size
        if isinstance(size, int) or not copies or _at(node, k) == size
        else None
        for k, size in enumerate(asked)
    ]
    if -1 in asked:
        place = asked.index(-1)
        others = [size for k, size in enumerate(made) if k != place]
        # With allowzero, a size of 0 leaves another one than the rest.
        made[place] = _rest(x, others) if copies else None
    return [tuple(made)]


def _at(node: Node, axis: int) -> Size | None:
    """The size of an axis of X; None if there is none."""
    if not node.model.knows("shape", node.name(0)):
        return None
    return node.shape()[axis] if axis < len(node.shape()) else None


def _rest(x: Sequence[Size], others: Sequence[Size | None]) -> Size | None:
    """The size for -1. A size that is 0 has none, so that equal ones cancel out."""
    left, gone = [*x], list[Size]()
    for size in others:
        if size in left:
            left.remove(size)
        elif size is None:
            return None
        else:
            gone.append(size)
    dividend, divisor = multiplied(left), multiplied(gone)
    if divisor == 1:
        return dividend
    if isinstance(dividend, int) and isinstance(divisor, int) and dividend % divisor == 0:
        return dividend // divisor
    return None


def _flattened(node: Node) -> Sequence[Sizes]:
    x, axis = node.shape(), int(node.attribute("axis", 1))
    require(-len(x) <= axis <= len(x), f"there is no axis {axis}")
    return [(multiplied(x[:axis]), multiplied(x[axis:]))]


def _squeezed(node: Node) -> Sequence[Sizes]:
    x = node.shape()
    axes = {from_the_front(axis, len(x)) for axis in node.integers("axes", 1)}
    if not axes:
        require(all(isinstance(size, int) for size in x), "its axes are not given")
        axes = {axis for axis, size in enumerate(x) if size == 1}
    return [tuple(size for axis, size in enumerate(x) if axis not in axes)]


def _unsqueezed(node: Node) -> Sequence[Sizes]:
    x, asked = list(node.shape()), node.integers("axes", 1)
    axes = {from_the_front(axis, len(x) + len(asked)) for axis in asked}
    require(len(axes) == len(asked), "an axis is named twice")
    return [tuple(1 if k in axes else x.pop(0) for k in range(len(x) + len(axes)))]


def _joined(node: Node) -> Sequence[Sizes]:
    shapes = [node.shape(index) for index in range(len(node.proto.input))]
    axis, total = node.axis(0, len(shapes[0])), 0  # type: int, Size
    for shape in shapes:
        total = added(total, shape[axis])
    # ONNX Runtime passes over empty operands, whatever their other sizes are.
    along = enumerate(zip(*shapes, strict=True))
    return [tuple(total if k == axis else same({*sizes}) for k, sizes in along)]


def _gathered(node: Node) -> Sequence[Sizes]:
    x, indices = node.shape(0), node.shape(1)
    axis = node.axis(0, len(x))
    return [(*x[:axis], *indices, *x[axis + 1 :])]


def _split(node: Node) -> Sequence[Sizes]:
    node.only(axis=(), split=(), num_outputs=())
    x, count = node.shape(), len(node.proto.output)
    axis = node.axis(0, len(x))
    parts: Sequence[Size | None] = [None] * count
    if not node.name(1) or node.model.knows("elements", node.name(1)):
        parts = node.integers("split", 1) or _in_equal_parts(x[axis], count)
    require(len(parts) == count, "its parts are not known")
    return [(*x[:axis], part, *x[axis + 1 :]) for part in parts]


def _in_equal_parts(size: Size, count: int) -> Sequence[Size | None]:
    return equal_parts(size, count) if isinstance(size, int) else [None] * count


def _sliced(node: Node) -> Sequence[Sizes]:
    made: list[Size | None] = [*node.shape()]
    places = range(1, len(node.proto.input))
    if any(node.name(k) and not node.model.knows("elements", node.name(k)) for k in places):
        return [(None,) * len(made)]
    if not all(isinstance(e, int) for k in places if node.name(k) for e in node.elements(k)):
        return [(None,) * len(made)]
    starts, ends = node.every_integer("starts", 1), node.every_integer("ends", 2)
    axes = node.integers("axes", 3, range(len(starts)))
    steps = node.every_integer("steps", 4, [1] * len(starts))
    for start, end, asked, step in zip(starts, ends, axes, steps, strict=True):
        axis = from_the_front(asked, len(made))
        size = made[axis]
        if isinstance(size, int) and not (step < 0 and end in END_OF_ALL):
            made[axis] = len(selected(size, start, end, step))
        elif (start, step) != (0, 1) or end < LARGEST:
            made[axis] = None
    return [tuple(made)]


def _are_elements_known(shape: Sequence[Size], axes: Sequence[int]) -> bool:
    """Whether it is known that the axes of a tensor are reduced.

    By negative axes, onnxruntime until 1.31.1 leaves an empty tensor as it is.
    """
    return min(axes, default=0) >= 0 or all(map(is_positive, shape))


def _reduced(node: Node) -> Sequence[Sizes]:
    node.only(axes=(), keepdims=(0, 1), noop_with_empty_axes=(0, 1))
    x, asked = node.shape(), node.integers("axes", 1)
    require(asked or not node.attribute("noop_with_empty_axes"), "its axes are not given")
    axes = {from_the_front(axis, len(x)) for axis in asked or range(len(x))}
    kept: list[Size | None] = [1] if node.attribute("keepdims", 1) else []
    if not _are_elements_known(x, asked):
        require(kept, "the tensor may be empty, and an axis is negative")
        kept = [None]
    return [tuple(s for k, size in enumerate(x) for s in (kept if k in axes else [size]))]


def _largest(node: Node) -> Sequence[Sizes]:
    node.only(axis=(), keepdims=(0, 1), select_last_index=(0, 1))
    axis = node.axis(0, len(node.shape()))
    kept: list[Size | None] = [1] if node.attribute("keepdims", 1) else []
    if not _are_elements_known(node.shape(), [node.attribute("axis", 0)]):
        require(kept, "the tensor may be empty, and the axis is negative")
        kept = [None]
    return [(*node.shape()[:axis], *kept, *node.shape()[axis + 1 :])]


def _shape(node: Node) -> Sequence[Sizes]:
    return [(len(dimensions(node)),)]


def dimensions(node: Node) -> tuple[Size, ...]:
    """The sizes that a Shape gives."""
    return node.shape()[node.attribute("start") : node.attribute("end")]


def _scalar(_: Node) -> Sequence[Sizes]:
    return [()]


def _as_second(node: Node) -> Sequence[Sizes]:
    return [node.shape(1)]


def _filled(node: Node) -> Sequence[Sizes]:
    return [_open(node, 0) or node.elements(0)]


def _expanded(node: Node) -> Sequence[Sizes]:
    open_sizes = _open(node, 1)
    if open_sizes is not None:
        return [(None,) * max(len(open_sizes), len(node.shape()))]
    require(0 not in node.elements(1), "the shape that is asked for has a 0")
    return [common([node.shape(), node.elements(1)])]


def _padded(node: Node) -> Sequence[Sizes]:
    if not node.attribute("pads") and not node.model.knows("elements", node.name(1)):
        return [(None,) * len(node.shape())]
    x, pads = node.shape(), node.integers("pads", 1)
    require(len(pads) == 2 * len(x) and not node.name(3), "its pads are not those of all axes")
    return [tuple(added(size, pads[k] + pads[k + len(x)]) for k, size in enumerate(x))]


def _quantized(node: Node) -> Sequence[Sizes]:
    return [node.shape(), (), ()]


def _recurrent(node: Node) -> Sequence[Sizes]:
    """All steps, the last one and, of an LSTM, its cell."""
    require(node.attribute("layout", 0) == 0, "the layout is not known")
    steps, batch, _ = node.shape()
    hidden = node.attribute("hidden_size")
    require(isinstance(hidden, int), "hidden_size is left out")
    directions = 2 if node.attribute("direction") == b"bidirectional" else 1
    last = (directions, batch, int(hidden))
    return [(steps, *last), last, last]


def _highest(node: Node) -> Sequence[Sizes]:
    x, axis = [*node.shape()], node.axis(-1, len(node.shape()))
    (count,) = node.elements(1)
    return [(*x[:axis], count, *x[axis + 1 :])] * 2


def _resized(node: Node) -> Sequence[Sizes]:
    node.only(
        coordinate_transformation_mode=(b"half_pixel", b"asymmetric", b"align_corners",
                                        b"pytorch_half_pixel"),
        mode=(), nearest_mode=(), cubic_coeff_a=(), exclude_outside=(), extrapolation_value=(),
    )  # fmt: skip
    x = node.shape()
    if node.name(3):
        return [
            node.elements(3) if node.model.knows("elements", node.name(3)) else (None,) * len(x)
        ]
    if not node.model.is_constant(node.name(2)):
        return [(None,) * len(x)]
    scales = node.model.array(node.name(2)).ravel().tolist()
    return [tuple(_scaled(*pair) for pair in zip(x, scales, strict=True))]


def _scaled(size: Size, scale: float) -> Size | None:
    # Kernels multiply in float, in which products of small integers are exact.
    exact = isinstance(size, int) and scale == int(scale) and size * scale < 2**24
    return int(size) * int(scale) if exact else None


def _summed(node: Node) -> Sequence[Sizes]:
    """By the letters of an Einsum."""
    text = node.attribute("equation").decode().replace(" ", "")
    operands, arrow, result = text.partition("->")
    require(arrow and "." not in text, "the equation is not known")
    sizes: dict[str, set[Size]] = {}
    for k, letters in enumerate(operands.split(",")):
        for letter, size in zip(letters, node.shape(k), strict=True):
            sizes.setdefault(letter, set()).add(size)
    return [tuple(same(sizes[letter]) for letter in result)]


def _transformed(node: Node) -> Sequence[Sizes]:
    return [(None,) * len(node.shape())]


def _spectrum(node: Node) -> Sequence[Sizes]:
    return [(node.shape()[0], None, None, 2)]


def _vector(_: Node) -> Sequence[Sizes]:
    return [(None,)]


def _chosen(node: Node) -> Sequence[Sizes]:
    """What both branches of an If agree on."""
    names = [[value.name for value in body.output] for body in bodies_of(node.proto)]
    one, other = ([node.model.known("shape", name) for name in branch] for branch in names)
    require([*map(len, one)] == [*map(len, other)], "its branches have different ranks")
    pairs = [zip(*pair, strict=True) for pair in zip(one, other, strict=True)]
    return [tuple(a if a == b else None for a, b in pair) for pair in pairs]


BROADCASTING = (
    "Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "PRelu", "BitShift", "And", "Or",
    "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Where", "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual",
)  # fmt: skip
_KEEPING = (
    "Abs", "Acos", "Asin", "Atan", "BatchNormalization", "Cast", "Ceil", "Clip", "Cos", "CumSum",
    "DequantizeLinear", "Dropout", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "InstanceNormalization", "IsNaN", "LayerNormalization", "LeakyRelu",
    "Log", "LogSoftmax", "LRN", "Mish", "Neg", "Not", "QuantizeLinear", "Reciprocal", "Relu",
    "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Sqrt", "Tan", "Tanh",
    "Trilu",
)  # fmt: skip
_REDUCING = (
    "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
SHAPES: Mapping[str, Callable[[Node], Sequence[Sizes]]] = {
    **dict.fromkeys(BROADCASTING, _broadcast),
    **dict.fromkeys(_KEEPING, _as_first),
    **dict.fromkeys(_REDUCING, _reduced),
    **dict.fromkeys(("ArgMax", "ArgMin"), _largest),
    **dict.fromkeys(("MaxPool", "AveragePool"), _pooled),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _pooled_globally),
    **dict.fromkeys(("Conv", "ConvInteger"), _convolved),
    **dict.fromkeys(("MatMul", "MatMulInteger"), _matmul),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    "ConvTranspose": _convolved_back, "DynamicQuantizeLinear": _quantized, "TopK": _highest,
    "Resize": _resized, "Einsum": _summed, "STFT": _spectrum, "DFT": _transformed,
    "ReverseSequence": _as_first,
    "Gemm": _gemm, "Transpose": _transposed,
    "Reshape": _reshaped, "Flatten": _flattened, "Squeeze": _squeezed, "Unsqueeze": _unsqueezed,
    "Concat": _joined, "Gather": _gathered, "Split": _split, "Slice": _sliced, "If": _chosen,
    "Expand": _expanded, "Shape": _shape, "ConstantOfShape": _filled,
    "Broadcast": _broadcast_each, "Pad": _padded, "Range": _vector, "ScatterND": _as_first,
    "ScatterElements": _as_first, "GatherElements": _as_second, "Size": _scalar,
}  # fmt: skip
"""The shapes of the first results of an operator."""

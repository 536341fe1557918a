"""The shapes of products, convolutions, pooling and recurrent layers."""

import operator
from collections.abc import Sequence

from .node import Node, Shapes
from .sizes import (
    PartialSizes,
    Size,
    Sizes,
    common_shape,
    is_positive,
    quotient,
    reach,
    require,
)

_MATRIX = 2
"""The rank of a matrix; leading axes are batch axes."""

_OF_SEQUENCES = 3
"""The rank of X of a recurrent layer: steps, batch and inputs."""


def matrix_product(node: Node) -> Shapes:
    """MatMul: rows, columns, and the common batch."""
    return (_product_shape(node.shape(0), node.shape(1)),)


def quantized_matrix_product(node: Node) -> Shapes:
    """QLinearMatMul: each matrix is followed by its scale and its zero point."""
    return (_product_shape(node.shape(0), node.shape(3)),)


def _product_shape(a: Sizes, b: Sizes) -> PartialSizes:
    require(a and b, "an operand is a scalar")
    rows = a[-2:-1]
    columns = b[-1:] if len(b) >= _MATRIX else ()
    batches = a[:-_MATRIX], b[:-_MATRIX]
    if not all(batches):
        return (*(batches[0] or batches[1]), *rows, *columns)
    batch = common_shape(batches)
    if not is_positive(a[-1]):
        # For an empty sum, versions up to 1.31.1 give the first operand's batch.
        own = (1,) * (len(batch) - len(batches[0])) + batches[0]
        batch = tuple(c if c == o else None for c, o in zip(batch, own, strict=True))
    return (*batch, *rows, *columns)


def general_product(node: Node) -> Shapes:
    """Gemm: rows and columns."""
    a, b = node.shape(0), node.shape(1)
    require(len(a) == len(b) == _MATRIX, "an operand is no matrix")
    rows = a[1 if node.attribute("transA") else 0]
    columns = b[0 if node.attribute("transB") else 1]
    return ((rows, columns),)


def summed(node: Node) -> Shapes:
    """By the letters of an Einsum; a size of 1 is broadcast."""
    text = node.attribute("equation").replace(" ", "")
    operands, arrow, result = text.partition("->")
    terms = operands.split(",")
    plain = arrow and all(letter.isalpha() or letter == "," for letter in operands + result)
    require(plain and len(terms) == node.operands, "the equation is not known")
    sizes: dict[str, list[Size]] = {}
    for letters, shape in zip(terms, node.operand_shapes(), strict=True):
        require(len(letters) == len(shape), "a term has other axes than its operand")
        for letter, size in zip(letters, shape, strict=True):
            sizes.setdefault(letter, []).append(size)
    require(set(result) <= sizes.keys(), "the equation is not known")
    found = (sizes[letter] for letter in result)
    return (tuple(first if all(s == first for s in rest) else None for first, *rest in found),)


def convolved(node: Node) -> Shapes:
    """Conv: batch, filters, and windows."""
    (batch, _, *spatial), (filters, _, *kernel) = _image_and_filters(node)
    return ((batch, filters, *_windows(node, spatial, kernel)),)


def convolved_back(node: Node) -> Shapes:
    """ConvTranspose: batch, filters, and what windows spread to."""
    (batch, _, *spatial), (_, per_group, *kernel) = _image_and_filters(node)
    filters = per_group * node.attribute("group", 1)
    return ((batch, filters, *_spread(node, spatial, kernel)),)


def _image_and_filters(node: Node) -> tuple[Sizes, Sizes]:
    image, filters = node.shape(0), node.shape(1)
    require(len(image) == len(filters) > _MATRIX, "its operands have other axes")
    return image, filters


def pooled(node: Node) -> Shapes:
    """AveragePool, LpPool and MaxPool: windows."""
    shape = node.shape(0)
    require(len(shape) > _MATRIX, "there is no spatial axis")
    pooled = (*shape[:_MATRIX], *_windows(node, shape[_MATRIX:], ()))
    return (pooled,) * node.results


def pooled_to_one(node: Node) -> Shapes:
    """Global pooling: one window."""
    shape = node.shape(0)
    require(len(shape) > _MATRIX, "there is no spatial axis")
    return ((*shape[:_MATRIX], *(1 for _ in shape[_MATRIX:])),)


def _windows(node: Node, spatial: Sequence[Size], filters: Sequence[Size]) -> PartialSizes:
    """The number of windows per spatial axis, where kernels and document agree.

    With `ceil_mode` ONNX Runtime omits a window that starts in the padding at the end. With
    `auto_pad` and dilations its pooling computes the padding for an undilated window.
    """
    moves = window_moves(node, spatial, filters)
    padding = node.attribute("auto_pad", "NOTSET")
    doubtful = (
        node.attribute("ceil_mode")
        or (padding != "NOTSET" and any(node.attribute("pads") or ()))
        or (padding.startswith("SAME") and any(n != 1 for n in node.attribute("dilations") or ()))
    )
    if doubtful or moves is None:
        return (None,) * len(spatial)
    if padding.startswith("SAME"):
        axes = zip(spatial, moves, strict=True)
        return tuple(quotient(size + (stride - 1), stride) for size, (_, stride) in axes)
    return tuple(_fitting(room, stride) for room, stride in moves)


def window_moves(
    node: Node, spatial: Sequence[Size], filters: Sequence[Size]
) -> Sequence[tuple[Size, int]] | None:
    """How far the first window can move on each axis, and its stride; `auto_pad` is not counted.

    Where the window does not fit, the distance is negative. None if an attribute is for other axes,
    or the kernel is not known.
    """
    axes = _window_axes(node, spatial, filters)
    if axes is None:
        return None
    return [(size + padding - extent, stride) for size, extent, stride, padding in axes]


def _window_axes(
    node: Node, spatial: Sequence[Size], filters: Sequence[Size]
) -> Sequence[tuple[Size, int, int, int]] | None:
    """For each axis its size, how far a window reaches, its stride and the padding of both ends."""
    rank = len(spatial)
    kernel = node.attribute("kernel_shape") or filters
    strides = node.attribute("strides") or [1] * rank
    dilations = node.attribute("dilations") or [1] * rank
    pads = node.attribute("pads") or [0] * 2 * rank
    lengths = (len(kernel), len(strides), len(dilations), len(pads))
    if lengths != (rank, rank, rank, 2 * rank) or not all(isinstance(n, int) for n in kernel):
        return None
    reaches = map(reach, kernel, dilations)
    paddings = map(operator.add, pads[:rank], pads[rank:])
    return list(zip(spatial, reaches, strides, paddings, strict=True))


def _fitting(room: Size, stride: int) -> Size | None:
    """The number of windows, if the first one fits with some room to spare."""
    if isinstance(room, int) and room < 0:
        return None
    return quotient(room, stride) + 1


def _spread(node: Node, spatial: Sequence[Size], filters: Sequence[Size]) -> Sequence[Size | None]:
    rank, axes = len(spatial), _window_axes(node, spatial, filters)
    added = node.attribute("output_padding") or [0] * rank
    padded = node.attribute("auto_pad", "NOTSET") != "NOTSET"
    if padded or node.attribute("output_shape") is not None or axes is None or len(added) != rank:
        return [None] * rank
    return [
        (size - 1) * stride + (more + extent) - padding
        for (size, extent, stride, padding), more in zip(axes, added, strict=True)
    ]


def recurrent(node: Node) -> Shapes:
    """GRU, LSTM and RNN: all states, and the last ones."""
    shape = node.shape(0)
    hidden = node.attribute("hidden_size")
    known = len(shape) == _OF_SEQUENCES and not node.attribute("layout")
    require(known, "its layout is not known")
    steps, batch, _ = shape
    directions = 2 if node.attribute("direction") == "bidirectional" else 1
    state = (directions, batch, hidden)
    return ((steps, directions, batch, hidden), state, state)

"""What is certain of the shapes that `onnx.shape_inference` finds, operator by operator.

Each entry was seen to differ from what ONNX Runtime computes.
"""

from collections.abc import Callable, Mapping

import onnx_ir as ir

from sonnx_ort.profile.domain import STANDARD_DOMAIN

Certain = Callable[[ir.Node, ir.Shape], ir.Shape | None]
"""Gives what is certain of an inferred shape."""

_DISBELIEVED = frozenset({"Attention", "Loop", "PRelu", "Scan", "STFT"})
"""The operators for which no engine is believed at all.

ONNX Runtime broadcasts PRelu both ways, lets a Scan's state change its shape, and gives a Loop's
scan output of no iteration sizes of 0; for the others the inferred sizes are not the computed ones.
"""

_SHAPE_ARITHMETIC = frozenset(
    ["Concat", "Constant", "Gather", "Identity", "Shape", "Size", "Slice", "Squeeze", "Unsqueeze"]
)
"""The operators through which computed shapes are followed, besides those in int64 alone."""

_SHAPE_ARITHMETIC_INT64 = frozenset(["Add", "Div", "Mul", "Sub"])

_REDUCTIONS = frozenset(
    [
        *("ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"),
        *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
    ]
)

_ALWAYS_DOUBTFUL = _DISBELIEVED | _REDUCTIONS | {"Concat", "Expand", "NonZero"}

_SIZED_BY_ELEMENTS = frozenset(["ConstantOfShape", "Range", "Reshape", "Resize", "Tile"])
"""The operators whose output has the sizes that an operand's elements say."""

_SIZES = (ir.DataType.INT32, ir.DataType.INT64)

_MATRIX_PRODUCTS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3)}
"""Where the operands stand among the inputs."""

_MATRIX = 2
"""The rank of a matrix; the axes before its own are those of the batch."""


def is_doubtful(node: ir.Node) -> bool:
    """Whether the shapes that are inferred for a node's outputs may be wrong.

    Args:
        node: The node.
    """
    if node.domain != STANDARD_DOMAIN:
        return False
    if node.op_type in _MATRIX_PRODUCTS:
        return not _positive(_size(_matrices(node)[0], -1))
    if node.op_type in _SIZED_BY_ELEMENTS:
        return any(not _constant(value) for value in node.inputs[1:] or node.inputs)
    return node.op_type in _ALWAYS_DOUBTFUL


def certain_shape(node: ir.Node, output: ir.Value) -> ir.Shape | None:
    """What is certain of the shape that was inferred for a doubtful node's output.

    Args:
        node: The node.
        output: One of its outputs.

    Returns:
        The shape with the doubtful sizes left open; None if not even the rank is certain.
    """
    certain = _CERTAIN.get(node.op_type)
    return None if certain is None or output.shape is None else certain(node, output.shape)


def _certain_concat(node: ir.Node, shape: ir.Shape) -> ir.Shape:
    """ONNX Runtime skips empty inputs, whatever their other sizes are."""
    inputs = [value.shape for value in node.inputs if value is not None]
    attribute = node.attributes.get("axis")
    axis = (attribute.as_int() if attribute is not None else 1) % max(len(shape), 1)
    return ir.Shape(
        [
            size if index == axis or all(_size(s, index) == size for s in inputs) else None
            for index, size in enumerate(shape)
        ]
    )


def _certain_product(node: ir.Node, shape: ir.Shape) -> ir.Shape:
    """Where there is nothing to sum up, ONNX Runtime gives the first operand's own batch sizes."""
    first, second = _matrices(node)
    if any(operand is not None and len(operand) <= _MATRIX for operand in (first, second)):
        return shape
    batch = range(-len(shape), -_MATRIX)
    certain = [
        size if _size(first, axis) == size else None
        for axis, size in zip(batch, shape, strict=False)
    ]
    return ir.Shape([*certain, *shape[-_MATRIX:]])


def _matrices(node: ir.Node) -> tuple[ir.Shape | None, ir.Shape | None]:
    first, second = (node.inputs[index] for index in _MATRIX_PRODUCTS[node.op_type])
    return _shape(first), _shape(second)


def _shape(value: ir.Value | None) -> ir.Shape | None:
    return None if value is None else value.shape


def _certain_positions(node: ir.Node, shape: ir.Shape) -> ir.Shape:
    """ONNX Runtime gives one row for the axis that a scalar has not."""
    (searched,) = node.inputs
    sizes = _shape(searched)
    return shape if sizes is not None and len(sizes) > 0 else ir.Shape([None] * len(shape))


def _size(shape: ir.Shape | None, index: int) -> object:
    """The size on an axis, which may be counted from the end; None if there is no such axis."""
    if shape is None or not -len(shape) <= index < len(shape):
        return None
    return shape[index]


def _certain_reduction(node: ir.Node, shape: ir.Shape) -> ir.Shape | None:
    """ONNX Runtime reduces no axis of an empty tensor, if one is counted from the end."""
    (reduced, *_) = node.inputs
    sizes = _shape(reduced)
    never_empty = sizes is not None and all(map(_positive, sizes))
    if never_empty or _counted_from_the_front(node):
        return shape
    keeps = node.attributes.get("keepdims")
    if keeps is not None and keeps.as_int() == 0:
        return None
    return ir.Shape(
        [
            None if size == 1 and _size(sizes, index) != 1 else size
            for index, size in enumerate(shape)
        ]
    )


def _counted_from_the_front(node: ir.Node) -> bool:
    """Whether the axes that a node reduces are known, and none is counted from the end."""
    if len(node.inputs) > 1 and node.inputs[1] is not None:
        axes = node.inputs[1]
        tensor = None if axes.is_graph_input() else ir.convenience.get_const_tensor(axes)
        if tensor is None or isinstance(tensor, ir.ExternalTensor):
            return False
        return bool((tensor.numpy() >= 0).all())
    if "axis" in node.attributes:
        return node.attributes["axis"].as_int() >= 0
    return "axes" not in node.attributes or min(node.attributes["axes"].as_ints(), default=0) >= 0


def _positive(size: object) -> bool:
    return isinstance(size, int) and size > 0


def sizes_only(shape: ir.Shape) -> ir.Shape:
    """Leave open every size that is not a positive number.

    Args:
        shape: The shape.
    """
    return ir.Shape([size if _positive(size) else None for size in shape])


def _constant(value: ir.Value | None) -> bool:
    return value is None or (
        not value.is_graph_input() and ir.convenience.get_const_tensor(value) is not None
    )


def _follows_shapes(value: ir.Value | None) -> bool:
    """Whether a computed shape comes from shapes and constants by integer arithmetic alone.

    Casts between int32 and int64 are followed: no axis has 2^31 elements or more.
    """
    pending, seen = [value], set[ir.Value]()
    while pending:
        current = pending.pop()
        if current is None or current in seen or _constant(current):
            continue
        seen.add(current)
        node = current.producer()
        if node is None or node.domain != STANDARD_DOMAIN or not _followed(node):
            return False
        if node.op_type not in ("Shape", "Size"):
            pending.extend(node.inputs)
    return True


def _followed(node: ir.Node) -> bool:
    if node.op_type in _SHAPE_ARITHMETIC:
        return True
    types = [value.dtype for value in (*node.inputs, *node.outputs) if value is not None]
    if node.op_type == "Cast":
        return all(dtype in _SIZES for dtype in types)
    return node.op_type in _SHAPE_ARITHMETIC_INT64 and set(types) == {ir.DataType.INT64}


def _certain_reshape(node: ir.Node, shape: ir.Shape) -> ir.Shape | None:
    """A symbol in the target that is 0 in a run stands for the input's own size."""
    return sizes_only(shape) if _follows_shapes(node.inputs[1]) else None


def _certain_expansion(node: ir.Node, shape: ir.Shape) -> ir.Shape | None:
    """ONNX Runtime's optimizer leaves an Expand to a size of 0 out."""
    return None if any(size == 0 for size in shape) else _certain_from_sizes(node, shape)


def _certain_from_sizes(node: ir.Node, shape: ir.Shape) -> ir.Shape | None:
    operand = node.inputs[1] if len(node.inputs) > 1 else node.inputs[0]
    return shape if _follows_shapes(operand) else None


_CERTAIN: Mapping[str, Certain] = {
    "Concat": _certain_concat,
    "Expand": _certain_expansion,
    "NonZero": _certain_positions,
    "Reshape": _certain_reshape,
    **dict.fromkeys(("ConstantOfShape", "Range", "Tile"), _certain_from_sizes),
    **dict.fromkeys(_MATRIX_PRODUCTS, _certain_product),
    **dict.fromkeys(_REDUCTIONS, _certain_reduction),
}
"""How much is certain, where anything is."""

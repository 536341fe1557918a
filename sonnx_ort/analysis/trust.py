"""What is believed of an inference engine's answer, operator by operator.

Both engines are wrong for some operators and sizes; each entry here was seen to be so. Where an
answer is doubtful, the node is hidden from the engines and its output keeps only what is certain.
"""

import enum
from collections.abc import Iterator
from contextlib import contextmanager

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.targets import bodies_of
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import STANDARD_DOMAIN

_OPAQUE = "sonnx_ort.opaque"
"""A domain that no engine knows anything of."""

_UNARY = frozenset(
    [
        *("Abs", "Acos", "Asin", "Atan", "Cast", "Ceil", "Clip", "Cos", "Dropout", "Elu", "Erf"),
        *("Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log"),
        *("LogSoftmax", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid"),
        *("Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh"),
    ]
)

_BELIEVED_SYMBOLICALLY = _UNARY | {"Constant", "Shape", "Transpose", "Unsqueeze"}
"""The standard operators for which the symbolic engine is believed.

It takes the end of a Slice for the size of an open dimension, keeps every axis at a Squeeze without
axes, the first iteration of a Loop for all of them, and n for the result of n against m.
"""

_DISBELIEVED = frozenset({"Attention", "PRelu", "Scan", "STFT"})
"""The operators for which no engine is believed at all.

ONNX Runtime broadcasts PRelu both ways, and lets a Scan's state change its shape; for the others
the inferred sizes are not the computed ones.
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

_SIZES = (ir.DataType.INT32, ir.DataType.INT64)


@contextmanager
def hidden_from_symbols(model: ir.Model) -> Iterator[None]:
    """Hide the nodes for which the symbolic engine is not believed.

    Args:
        model: A model without claims.
    """
    nodes = RecursiveGraphIterator(model.graph)
    with _hidden(model, [n for n in nodes if not _believed_symbolically(n)]):
        yield


@contextmanager
def hidden_from_onnx(model: ir.Model) -> Iterator[None]:
    """Hide the nodes for which `onnx.shape_inference` is not believed, keeping what is certain.

    Args:
        model: A model whose types and shapes `onnx.shape_inference` has inferred once; those of
            doubtful outputs are reduced to what is certain, and all others are forgotten.
    """
    nodes = list(RecursiveGraphIterator(model.graph))
    doubtful = [node for node in nodes if _doubtful(node)]
    certain: dict[ir.Value, ir.Shape | None] = {}
    _find_certain_shapes(model.graph, certain, {})
    for node in nodes:
        for output in node.outputs:
            if output in certain:
                output.shape = certain[output]
            elif node.domain == STANDARD_DOMAIN:
                output.type = None
                output.shape = None
    with _hidden(model, doubtful):
        yield


class _Doubt(enum.IntEnum):
    """How much of the shapes behind a node can be wrong."""

    NONE = 0
    SYMBOLS = 1
    ALL = 2


def _find_certain_shapes(
    graph: ir.Graph,
    certain: dict[ir.Value, ir.Shape | None],
    doubts: dict[ir.Value, _Doubt],
) -> None:
    """Reduce the shapes of doubtful nodes' outputs, and of doubtful nodes behind them once more."""
    for node in graph:
        doubt = max((doubts.get(v, _Doubt.NONE) for v in node.inputs if v), default=_Doubt.NONE)
        for body in bodies_of(node):
            # What goes around in a loop may change its shape.
            doubts.update(dict.fromkeys(body.inputs, _Doubt.ALL))
            _find_certain_shapes(body, certain, doubts)
            doubt = max([doubt, *(doubts.get(v, _Doubt.NONE) for v in body.outputs)])
        for output in node.outputs:
            doubts[output] = doubt
            if _doubtful(node):
                shape = _reduced(_certain_shape(node, output), doubt)
                certain[output] = shape
                doubts[output] = max(doubt, _lost(output.shape, shape))


def _reduced(shape: ir.Shape | None, doubt: _Doubt) -> ir.Shape | None:
    if shape is None or doubt is _Doubt.ALL:
        return None
    return _sizes_only(shape) if doubt is _Doubt.SYMBOLS else shape


def _lost(inferred: ir.Shape | None, certain: ir.Shape | None) -> _Doubt:
    """What of an inferred shape was not certain."""
    if inferred is None:
        return _Doubt.NONE
    if certain is None:
        return _Doubt.ALL
    dropped = [a for a, b in zip(inferred, certain, strict=True) if a != b]
    if any(isinstance(size, int) for size in dropped):
        return _Doubt.ALL
    return _Doubt.SYMBOLS if dropped else _Doubt.NONE


def reveal(model: ir.Model) -> None:
    """Give hidden nodes their domain back.

    Args:
        model: A model that was made of one with hidden nodes.
    """
    for node in RecursiveGraphIterator(model.graph):
        if node.domain == _OPAQUE:
            node.domain = STANDARD_DOMAIN


@contextmanager
def _hidden(model: ir.Model, nodes: list[ir.Node]) -> Iterator[None]:
    model.opset_imports[_OPAQUE] = 1
    domains = [(node, node.domain) for node in nodes]
    for node in nodes:
        node.domain = _OPAQUE
    try:
        yield
    finally:
        for node, domain in domains:
            node.domain = domain


def _believed_symbolically(node: ir.Node) -> bool:
    if node.domain == STANDARD_DOMAIN:
        return node.op_type in _BELIEVED_SYMBOLICALLY
    return (node.domain, node.op_type) == (BROADCAST.domain, BROADCAST.name)


def _doubtful(node: ir.Node) -> bool:
    if node.domain != STANDARD_DOMAIN:
        return False
    match node.op_type:
        case "Concat" | "Loop":
            return True
        case "Reshape" | "Expand" | "ConstantOfShape" | "Tile" | "Range" | "Resize":
            return any(not _constant(value) for value in node.inputs[1:] or node.inputs)
        case name if name in _REDUCTIONS:
            return True
        case name:
            return name in _DISBELIEVED


def _certain_shape(node: ir.Node, output: ir.Value) -> ir.Shape | None:
    """What is certain of the shape that was inferred for a doubtful node's output."""
    shape = output.shape
    if shape is None or node.op_type in _DISBELIEVED or node.op_type == "Resize":
        return None
    match node.op_type:
        case "Loop":
            # A scan output of no iteration has sizes of 0.
            return None
        case "Concat":
            return _certain_concat(node, shape)
        case name if name in _REDUCTIONS:
            return _certain_reduction(node, shape)
        case "Reshape":
            # A symbol in the target that is 0 in a run stands for the input's own size.
            followed = _follows_shapes(node.inputs[1])
            return _sizes_only(shape) if followed else None
        case _:
            operand = node.inputs[1] if len(node.inputs) > 1 else node.inputs[0]
            return shape if _follows_shapes(operand) else None


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


def _size(shape: ir.Shape | None, index: int) -> object:
    return shape[index] if shape is not None and index < len(shape) else None


def _certain_reduction(node: ir.Node, shape: ir.Shape) -> ir.Shape:
    """With a negative axis ONNX Runtime keeps a size of 0 where it should give 1."""
    keeps = node.attributes.get("keepdims")
    if keeps is not None and keeps.as_int() == 0:
        return shape
    (reduced, *_) = node.inputs
    sizes = None if reduced is None else reduced.shape
    return ir.Shape(
        [
            None if size == 1 and not _positive(_size(sizes, index)) else size
            for index, size in enumerate(shape)
        ]
    )


def _positive(size: object) -> bool:
    return isinstance(size, int) and size > 0


def _sizes_only(shape: ir.Shape) -> ir.Shape:
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

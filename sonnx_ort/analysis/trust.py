"""What is believed of an inference engine's answer, operator by operator.

Both engines are wrong for some operators and sizes; each entry here was seen to be so. Where an
answer is doubtful, the node is hidden from the engines and its output keeps only what is certain.
"""

import enum
from collections.abc import Iterator
from contextlib import contextmanager

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.certain_shapes import certain_shape, is_doubtful, sizes_only
from sonnx_ort.loading.bodies import bodies_of
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
            doubtful outputs are reduced to what is certain, and all others forgotten.
    """
    nodes = list(RecursiveGraphIterator(model.graph))
    doubtful = [node for node in nodes if is_doubtful(node)]
    certain: dict[ir.Value, ir.Shape | None] = {}
    _find_certain_shapes(model.graph, certain, {})
    for node in nodes:
        for output in node.outputs:
            if output in certain:
                output.shape = certain[output]
            elif node.domain == STANDARD_DOMAIN:
                # The type stays: what stands in a hidden node's bodies is not inferred again.
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
            if is_doubtful(node):
                shape = _reduced(certain_shape(node, output), doubt)
                certain[output] = shape
                doubts[output] = max(doubt, _lost(output.shape, shape))


def _reduced(shape: ir.Shape | None, doubt: _Doubt) -> ir.Shape | None:
    if shape is None or doubt is _Doubt.ALL:
        return None
    return sizes_only(shape) if doubt is _Doubt.SYMBOLS else shape


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

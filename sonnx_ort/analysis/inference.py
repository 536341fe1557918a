"""Types and shapes by two engines, each of which finds what the other leaves open."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import onnx
import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.broadcast_inference import register_broadcast_inference
from sonnx_ort.loading.silence import silenced
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import STANDARD_DOMAIN

_OPAQUE = "sonnx_ort.opaque"
"""A domain that the symbolic engine knows nothing of."""

_ELEMENTWISE = frozenset(
    [
        *("Abs", "Acos", "Add", "And", "Asin", "Atan", "BatchNormalization", "Cast", "Ceil"),
        *("Clip", "Cos", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu"),
        *("Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu"),
        *("LayerNormalization", "Less", "LessOrEqual", "Log", "LogSoftmax", "Max", "Min", "Mish"),
        *("Mod", "Mul", "Neg", "Not", "Or", "Pow", "PRelu", "Reciprocal", "Relu", "Round"),
        *("Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Sub"),
        *("Sum", "Tan", "Tanh", "Where", "Xor"),
    ]
)

_RESHAPING = frozenset(
    [
        *("Concat", "Constant", "Flatten", "Gemm", "MatMul", "Shape", "Squeeze", "Transpose"),
        "Unsqueeze",
    ]
)

_TRUSTED = _ELEMENTWISE | _RESHAPING
"""The operators for which the symbolic engine is believed.

It is wrong for others: it takes the end of a Slice for the size of an open dimension, and the
first iteration of a Loop for all of them.
"""

_logger = logging.getLogger("sonnx_ort")


def infer(model: ir.Model) -> ir.Model:
    """Infer types and shapes from premises.

    Args:
        model: A model without claims; it may be changed.

    Returns:
        A model with the same nodes in the same order, and types and shapes where they follow.
        Where an engine fails, what the other finds.
    """
    inferred = _infer_once(model)
    broadcasts = sum(node.op_type == BROADCAST.name for node in RecursiveGraphIterator(model.graph))
    known = _known_shapes(inferred)
    for _ in range(broadcasts):
        # onnx.shape_inference ends at a Broadcast, and goes on from what the other engine found.
        inferred = _infer_once(inferred)
        before, known = known, _known_shapes(inferred)
        if known == before:
            break
    return inferred


def _infer_once(model: ir.Model) -> ir.Model:
    inferred = _infer_with_onnx(model)
    _infer_with_symbols(inferred)
    return inferred


def _known_shapes(model: ir.Model) -> int:
    values = (output for node in RecursiveGraphIterator(model.graph) for output in node.outputs)
    return sum(value.shape is not None for value in values)


def _infer_with_onnx(model: ir.Model) -> ir.Model:
    try:
        proto = ir.to_proto(model)
        return ir.from_proto(onnx.shape_inference.infer_shapes(proto, data_prop=True))
    except Exception as error:  # noqa: BLE001 - any failure means that nothing is known
        _logger.debug("onnx.shape_inference failed: %s", error)
        return model


def _infer_with_symbols(model: ir.Model) -> None:
    from onnx_shape_inference import infer_symbolic_shapes  # noqa: PLC0415 - imports sympy

    register_broadcast_inference()
    with _untrusted_hidden(model), silenced("onnx_shape_inference"):
        try:
            infer_symbolic_shapes(
                model, policy="refine", warn_on_missing=False, adopt_declared_symbols=False
            )
        except Exception as error:  # noqa: BLE001 - what was inferred until then stands
            _logger.debug("onnx_shape_inference failed: %s", error)


@contextmanager
def _untrusted_hidden(model: ir.Model) -> Iterator[None]:
    """Keep the symbolic engine from operators that it is not believed for."""
    hidden = [
        node
        for node in RecursiveGraphIterator(model.graph)
        if node.domain == STANDARD_DOMAIN and node.op_type not in _TRUSTED
    ]
    for node in hidden:
        node.domain = _OPAQUE
    try:
        yield
    finally:
        for node in hidden:
            node.domain = STANDARD_DOMAIN

"""Types and shapes by two engines, each of which finds what the other leaves open."""

import logging
from collections.abc import Iterator

import onnx
import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.broadcast_inference import register_broadcast_inference
from sonnx_ort.analysis.trust import hidden_from_onnx, hidden_from_symbols, reveal
from sonnx_ort.loading.silence import silenced
from sonnx_ort.profile.broadcast import BROADCAST

BELIEVED = "believed"
"""The key in an output's `meta` under which the shape stands that plain inference finds for it."""

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
    rough = _infer_with_onnx(model)
    believed = [output.shape for output in _outputs(rough)]
    with hidden_from_onnx(rough):
        inferred = _infer_with_onnx(rough)
    reveal(inferred)
    _infer_with_symbols(inferred)
    for output, shape in zip(_outputs(inferred), believed, strict=True):
        output.meta[BELIEVED] = shape
    return inferred


def _outputs(model: ir.Model) -> Iterator[ir.Value]:
    nodes = RecursiveGraphIterator(model.graph)
    # An output that is left out has no name, and may be gone in a copy.
    return (output for node in nodes for output in node.outputs if output.name)


def _known_shapes(model: ir.Model) -> int:
    values = (output for node in RecursiveGraphIterator(model.graph) for output in node.outputs)
    return sum(value.shape is not None for value in values)


def _infer_with_onnx(model: ir.Model) -> ir.Model:
    with silenced("onnx_ir"):
        try:
            proto = ir.to_proto(model)
            return ir.from_proto(onnx.shape_inference.infer_shapes(proto, data_prop=True))
        except Exception as error:  # noqa: BLE001 - any failure means that nothing is known
            _logger.debug("onnx.shape_inference failed: %s", error)
            return model


def _infer_with_symbols(model: ir.Model) -> None:
    from onnx_shape_inference import infer_symbolic_shapes  # noqa: PLC0415 - imports sympy

    register_broadcast_inference()
    with hidden_from_symbols(model), silenced("onnx_shape_inference"):
        try:
            infer_symbolic_shapes(
                model, policy="refine", warn_on_missing=False, adopt_declared_symbols=False
            )
        except Exception as error:  # noqa: BLE001 - what was inferred until then stands
            _logger.debug("onnx_shape_inference failed: %s", error)

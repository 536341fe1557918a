"""Shape inference for the profile's Broadcast, registered with onnx-shape-inference."""

import functools
from typing import Any

import onnx_ir as ir

from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.operand import Dimension
from sonnx_ort.profile.requirements.broadcastable import aligned_axes


@functools.cache
def register_broadcast_inference() -> None:
    """Let onnx-shape-inference know `sonnx::Broadcast`, once in a process."""
    from onnx_shape_inference import registry  # noqa: PLC0415 - imports sympy

    registry.register(BROADCAST.domain, BROADCAST.name, since_version=1)(infer_broadcast)


def infer_broadcast(context: Any, node: ir.Node) -> None:
    """Give every output the type of its own input and the common shape.

    Sizes that may differ come out as one new symbol for all outputs. What follows holds in every
    run that does not break the operator's rules.

    Args:
        context: The `ShapeInferenceContext` of onnx-shape-inference.
        node: The Broadcast.
    """
    pairs = [(i, o) for i, o in zip(node.inputs, node.outputs, strict=False) if i is not None]
    shapes = [value.shape for value, _ in pairs if value.shape is not None]
    for value, output in pairs:
        if value.dtype is not None:
            context.set_dtype(output, value.dtype)
    if len(shapes) < len(pairs):
        return
    known = [tuple(_dimension(d) for d in shape) for shape in shapes]
    common = [_common(context, sizes) for _, sizes in aligned_axes(known)]
    for _, output in pairs:
        context.set_shape(output, ir.Shape(common))


def _dimension(dimension: int | ir.SymbolicDim) -> Dimension:
    return dimension if isinstance(dimension, int) else dimension.value


def _common(context: Any, sizes: tuple[Dimension, ...]) -> int | str | ir.SymbolicDim:
    others = {size for size in sizes if size != 1}
    known = [size for size in others if isinstance(size, int)]
    if known:
        return known[0]
    if not others:
        return 1
    if len(others) == 1:
        (symbol,) = others
        if isinstance(symbol, str):
            return symbol
    fresh: ir.SymbolicDim = context.new_symbolic_dim()
    return fresh

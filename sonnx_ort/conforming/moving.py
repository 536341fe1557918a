"""Tensors that follow from stored ones by moving elements.

The operators here compute no element, so that what they give from stored tensors is the same on
every machine, to the bit.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from sonnx_ort.conforming.change import MOST_ELEMENTS
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import has_known_sizes

Array = npt.NDArray[Any]

_MOVING = frozenset(
    [
        *("Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze"),
        *("Tile", "Transpose", "Unsqueeze"),
    ]
)
"""The operators whose results are elements of their first operands."""

_FORMAT = 10
"""A version of the file's format that ONNX knows."""

_MOST_NODES = 64
"""A value that more nodes lead to is not computed."""


def stored_elements(value: ir.Value, facts: Facts, version: int) -> Array | None:
    """The elements of a tensor that is stored, or made of stored ones by moving elements.

    A ConstantOfShape of certain shape counts as stored, even if a run computes that shape.

    Args:
        value: The tensor.
        facts: What is certain of the values of the graph.
        version: The version of the standard operators.

    Returns:
        The elements; None if they follow from anything else.
    """
    if len(_producers(value)) > _MOST_NODES:
        return None
    return _elements(value, facts, version)


def _elements(value: ir.Value, facts: Facts, version: int) -> Array | None:
    tensor = constant_tensor(value)
    if tensor is not None:
        return tensor.numpy()
    node, shape = value.producer(), facts.shape(value)
    if node is None or not has_known_sizes(shape) or node.domain != STANDARD_DOMAIN:
        return None
    sizes = [size for size in shape or () if isinstance(size, int)]
    if math.prod(sizes) > MOST_ELEMENTS:
        return None
    if node.op_type == "ConstantOfShape":
        filling = node.attributes.get("value")
        element = np.zeros(1, np.float32) if filling is None else filling.as_tensor().numpy()
        return np.full(sizes, element.reshape(()), element.dtype)
    if node.op_type not in _MOVING or len(node.outputs) != 1:
        return None
    operands = [None if v is None else _elements(v, facts, version) for v in node.inputs]
    known = [operand for operand in operands if operand is not None]
    moved = None if len(known) < len(operands) else _run(node, known, version)
    return moved if moved is not None and moved.shape == shape else None


def _run(node: ir.Node, operands: list[Array], version: int) -> Array | None:
    """What a node gives, by ONNX's own implementation; None if that fails."""
    inputs = [
        ir.val(f"x{number}", ir.DataType.from_numpy(operand.dtype), operand.shape)
        for number, operand in enumerate(operands)
    ]
    alone = ir.node(node.op_type, inputs, node.attributes)
    alone.outputs[0].name = "y"
    graph = ir.Graph(inputs, alone.outputs, nodes=[alone], opset_imports={"": version})
    evaluator = ReferenceEvaluator(ir.to_proto(ir.Model(graph, ir_version=_FORMAT)))
    feeds = {str(value.name): operand for value, operand in zip(inputs, operands, strict=True)}
    try:
        (result,) = evaluator.run(None, feeds)
    except Exception:  # noqa: BLE001 - what fails gives nothing
        return None
    return np.asarray(result)


def _producers(value: ir.Value) -> list[ir.Node]:
    """The nodes that a value is made by moving elements with, as often as they are read."""
    found: list[ir.Node] = []
    pending = [value]
    while pending and len(found) <= _MOST_NODES:
        node = pending.pop().producer()
        if node is not None and node.op_type in _MOVING:
            found.append(node)
            pending += [read for read in node.inputs if read is not None]
    return found

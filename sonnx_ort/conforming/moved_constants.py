"""Tensors that follow from stored ones by moving elements, computed in advance.

The operators here compute no element, so that what they give from stored tensors is the same on
every machine, to the bit.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.change import (
    MOST_ELEMENTS,
    NodeEdit,
)
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import has_known_sizes

Array = npt.NDArray[Any]


SIZED_BY: Mapping[str, int] = {
    "ConstantOfShape": 0,
    **dict.fromkeys(("Expand", "Pad", "Reshape", "Slice"), 1),
}
"""The first of the inputs that tell the sizes of an operator's result."""


def store_sizes(edit: NodeEdit) -> bool:
    """Store the inputs that tell the sizes of a result, if they are integers that are known.

    Whoever derives shapes follows few operators on integers, and knows what is stored.
    """
    first = SIZED_BY.get(edit.node.op_type)
    if first is None:
        return False
    folded = any(v is not None and edit.facts.is_folded(v) for v in edit.node.inputs[first:])
    if has_known_sizes(edit.facts.shape(edit.node.outputs[0])) and not folded:
        return False
    stored: dict[int, Array] = {}
    for position, value in enumerate(edit.node.inputs):
        if value is None or position < first or constant_tensor(value) is not None:
            continue
        elements = edit.facts.known_elements(value)
        if elements is None:
            elements = stored_elements(value, edit.facts, edit.opset)
        if elements is not None and elements.dtype == np.int64:
            stored[position] = elements
    for position, elements in stored.items():
        edit.set_input(position, edit.constant(elements, "sizes"))
    return bool(stored)


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

    Returns:
        The elements; None if they follow from anything else.
    """
    if len(_producers(value)) > _MOST_NODES:
        return None
    return _elements(value, facts, version)


def _elements(value: ir.Value, facts: Facts, version: int) -> Array | None:
    """Elements that are stored, filled in, or moved from such; None for others."""
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
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - takes long to import

    inputs = [
        ir.val(f"x{number}", ir.DataType.from_numpy(operand.dtype), operand.shape)
        for number, operand in enumerate(operands)
    ]
    alone = ir.node(node.op_type, inputs, node.attributes)
    alone.outputs[0].name = "y"
    graph = ir.Graph(inputs, alone.outputs, nodes=[alone], opset_imports={"": version})
    feeds = {str(value.name): operand for value, operand in zip(inputs, operands, strict=True)}
    try:
        evaluator = ReferenceEvaluator(ir.to_proto(ir.Model(graph, ir_version=_FORMAT)))
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

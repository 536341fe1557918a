"""Tensors in the file: stored densely, in one attribute, as scalars, and moved in advance.

Constant: the tensor stands in the attribute `value`. ONNX says of each other attribute what tensor
it means (Constant-12): a number or a text is a scalar of float, int64 or string, and a list of them
a vector. The tensor is the same where it is stored.

Sparse tensors are stored densely: what they do not store is zero. ONNX says so of a
`SparseTensorProto`, and ONNX Runtime makes dense initializers of all sparse ones when a session
starts. The loaded graph has an input in the place of each.

Scalars where the profile wants a scalar. The kernels of Clip, QuantizeLinear, DequantizeLinear and
Range read one element of a bound, a scale, a zero point or a limit, whether it is a scalar or a
vector of one element. Removing the axis leaves them the same element.

Tensors that follow from stored ones by moving elements. The operators here compute no element, so
that what they give from stored tensors is the same on every machine, to the bit.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir
from onnx import numpy_helper
from onnx.external_data_helper import uses_external_data

from sonnx_ort.conforming.change import (
    MOST_ELEMENTS,
    Change,
    NoChangeError,
    NodeEdit,
)
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import SPARSE
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import has_known_sizes

Array = npt.NDArray[Any]

_TYPES = MappingProxyType({"float": np.float32, "int": np.int64, "string": object})
"""The types of what attributes hold that mean a tensor, and are none."""


def store_as_tensor(edit: NodeEdit) -> bool:
    """Store the numbers or texts of a Constant as its tensor."""
    names = sorted(edit.node.attributes)
    kind = names[0].removeprefix("value_").removesuffix("s") if len(names) == 1 else ""
    if kind not in _TYPES:
        raise NoChangeError(f"its attributes are {', '.join(names) or 'left out'}")
    elements = np.asarray(edit.node.attributes[names[0]].value, _TYPES[kind])
    edit.set_attribute("value", _tensor(elements))
    edit.remove_attribute(names[0])
    return True


def _tensor(elements: npt.NDArray[Any]) -> ir.TensorProtocol:
    if elements.dtype != object:
        return ir.tensor(elements)
    texts = [str(text).encode() for text in elements.flat]
    return ir.StringTensor(texts, shape=ir.Shape(elements.shape))


def store_densely(model: ir.Model) -> bool:
    """Store each sparse tensor of a model as an initializer, in place; say whether there was one.

    Raises:
        SonnxError: A tensor is too large for that, or not in the file.
    """
    sparse = [value for value in model.graph.inputs if SPARSE in value.meta]
    dense = [_dense(str(value.name), value.meta[SPARSE]) for value in sparse]
    for value, tensor in zip(sparse, dense, strict=True):
        model.graph.inputs.remove(value)
        value.type, value.shape = ir.TensorType(tensor.dtype), ir.Shape(tensor.numpy().shape)
        value.const_value = tensor
        del value.meta[SPARSE]
        model.graph.register_initializer(value)
    return bool(sparse)


def _dense(name: str, sparse: onnx.SparseTensorProto) -> ir.TensorProtocol:
    count = math.prod(sparse.dims)
    if count > MOST_ELEMENTS or any(map(uses_external_data, (sparse.values, sparse.indices))):
        why = f"it has {count:,} elements" if count > MOST_ELEMENTS else "it is in another file"
        raise SonnxError(
            f"the sparse tensor '{name}' cannot be stored densely: {why}; store it densely"
        )
    values, indices = map(numpy_helper.to_array, (sparse.values, sparse.indices))
    elements = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        elements.reshape(-1)[indices] = values
    else:
        elements[tuple(indices.T)] = values
    return ir.Tensor(elements, name=name)


def remove_axis(edit: NodeEdit, positions: Sequence[int]) -> bool:
    """Give scalars in place of vectors of one element: a constant, or by Squeeze.

    The profile wants the inputs at these positions to be scalars.
    """
    given = [(p, value) for p in positions if (value := edit.input(p)) is not None]
    vectors = [(p, value) for p, value in given if edit.facts.shape(value)]
    for _, value in vectors:
        shape = edit.shape(value)
        if any(not isinstance(size, int) for size in shape):
            raise NoChangeError(
                f"how many elements '{value.name}' has depends on the input",
                edit.fixing_sizes(value),
            )
        if shape != (1,):
            raise NoChangeError(f"'{value.name}' is not a vector of one element")
    for position, value in vectors:
        edit.set_input(position, _scalar(edit, value))
    return bool(vectors)


def _scalar(edit: NodeEdit, value: ir.Value) -> ir.Value:
    elements = edit.facts.constant(value)
    if elements is not None:
        return edit.constant(elements.reshape(()), "scalar")
    return Operators(edit).squeeze(value, [0])


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


CHANGES = (
    Change(
        "store the tensor as value",
        frozenset({"Constant.R1"}),
        store_as_tensor,
        verified_of("Constant"),
    ),
    Change(
        "convert the bounds to scalars",
        frozenset({"Clip.C1"}),
        partial(remove_axis, positions=(1, 2)),
        verified_of("Clip"),
    ),
    Change(
        "convert start, limit and step to scalars",
        frozenset({"Range.scalars"}),
        partial(remove_axis, positions=(0, 1, 2)),
        verified_of("Range"),
    ),
)
"""The changes of tensors in the file."""

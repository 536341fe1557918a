"""Tensors in the file: stored densely, in one attribute, and as scalars.

Constant: the tensor stands in the attribute `value`. ONNX says of each other attribute what tensor
it means (Constant-12): a number or a text is a scalar of float, int64 or string, and a list of them
a vector. The tensor is the same where it is stored.

Sparse tensors are stored densely: what they do not store is zero. ONNX says so of a
`SparseTensorProto`, and ONNX Runtime makes dense initializers of all sparse ones when a session
starts. The loaded graph has an input in the place of each.

Scalars where the profile wants a scalar. The kernels of Clip, QuantizeLinear, DequantizeLinear and
Range read one element of a bound, a scale, a zero point or a limit, whether it is a scalar or a
vector of one element. Removing the axis leaves them the same element.
"""

import math
from collections.abc import Sequence
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
from sonnx_ort.loading.canonical import SPARSE

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
    """The only element as a scalar: stored anew if it is constant, else squeezed."""
    elements = edit.facts.constant(value)
    if elements is not None:
        return edit.constant(elements.reshape(()), "scalar")
    return Operators(edit).squeeze(value, [0])


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

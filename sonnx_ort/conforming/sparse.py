"""Sparse tensors are stored densely: what they do not store is zero.

ONNX says so of a `SparseTensorProto`, and ONNX Runtime makes dense initializers of all sparse ones
when a session starts. The loaded graph has an input in the place of each.
"""

import math

import numpy as np
import onnx
import onnx_ir as ir
from onnx import numpy_helper
from onnx.external_data_helper import uses_external_data

from sonnx_ort.conforming.change import MOST_ELEMENTS
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import SPARSE


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
        value.meta.clear()
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

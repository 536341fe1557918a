"""Inputs for two models: those that are given, and random ones in the place of the others."""

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from sonnx_ort.differencing.tensors import Array
from sonnx_ort.errors import SonnxError

OPEN_SIZE = 3
"""The size of every axis that a model leaves open."""

_LARGEST = 9
"""Random integers are at most that far from zero, so that zeros and ones come up."""


def complete(model: onnx.ModelProto, given: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Find an array for each input that a model needs.

    Args:
        model: The model.
        given: Arrays by the names of inputs.
        seed: Of the random arrays for the others.

    Raises:
        SonnxError: There is no input of a given name, or none can be made up for one.
    """
    inputs = {value.name: value for value in model.graph.input}
    for name in given:
        if name not in inputs:
            raise SonnxError(
                f"there is no input '{name}'; the model's inputs are {', '.join(inputs)}"
            )
    constant = {tensor.name for tensor in model.graph.initializer}
    generator = np.random.default_rng(seed)
    return {
        name: given[name] if name in given else _random(value, generator)
        for name, value in inputs.items()
        if name in given or name not in constant
    }


def _random(value: onnx.ValueInfoProto, generator: np.random.Generator) -> Array:
    declared = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not declared.HasField("shape"):
        raise SonnxError(f"the input '{value.name}' has no declared shape; give it with --input")
    shape = [d.dim_value if d.HasField("dim_value") else OPEN_SIZE for d in declared.shape.dim]
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(declared.elem_type))
    if dtype.kind == "f" or dtype == ml_dtypes.bfloat16:
        return np.asarray(generator.uniform(-1, 1, shape)).astype(dtype)
    match dtype.kind:
        case "b":
            return np.asarray(generator.integers(0, 1, shape, endpoint=True)).astype(dtype)
        case "i" | "u":
            least = 0 if dtype.kind == "u" else -_LARGEST
            return np.asarray(generator.integers(least, _LARGEST, shape, endpoint=True)).astype(
                dtype
            )
        case _:
            raise SonnxError(
                f"no random tensor can be made for the input '{value.name}'; give it with --input"
            )

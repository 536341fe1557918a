"""Every shape that `check` rests on is the one that the operator's own test data shows.

The cases are those of the onnx package: one node each, with inputs and expected outputs, for nearly
all operators.
"""

import functools
import math
import re
import warnings
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sonnx_ort.analysis.facts import gather_facts
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.canonical import load

CHUNKS = 8

FUNCTIONS = {"floor": math.floor, "Max": max, "Min": min, "max": max, "min": min}


@functools.cache
def node_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415 - computes them

        cases = collect_testcases(None)
    return [c for c in cases if c.model is not None and c.data_sets]


def tensors(values):
    arrays = [numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in values]
    return [np.asarray(a) if isinstance(a, np.ndarray | np.generic) else None for a in arrays]


def with_symbols(case):
    """One symbol for each dimension of each input, and what they stand for."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    sizes = {}
    inputs = tensors(case.data_sets[0][0])
    for number, (declared, array) in enumerate(zip(model.graph.input, inputs, strict=False)):
        if array is None:
            continue
        names = [f"s{number}_{axis}" for axis in range(array.ndim)]
        sizes.update(zip(names, array.shape, strict=True))
        set_shape(declared, names)
    return model, sizes


def with_constants(case):
    """Inputs of known sizes, and those but the first constants that could be shapes or axes."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = tensors(case.data_sets[0][0])
    declared_inputs = list(model.graph.input)
    for number, (declared, array) in enumerate(zip(declared_inputs, inputs, strict=False)):
        if array is None:
            continue
        set_shape(declared, array.shape)
        if number and array.ndim <= 1 and array.dtype.kind in "iufb":
            tensor = numpy_helper.from_array(array, declared.name)
            if tensor.data_type == declared.type.tensor_type.elem_type:
                model.graph.initializer.append(tensor)
                model.graph.input.remove(declared)
    return model, {}


def set_shape(declared, dimensions):
    shape = declared.type.tensor_type.shape
    shape.Clear()
    for dimension in dimensions:
        if isinstance(dimension, str):
            shape.dim.add().dim_param = dimension
        else:
            shape.dim.add().dim_value = dimension


def misfits(case, variant) -> Iterator[str]:
    model, sizes = variant(case)
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    try:
        loaded = load(model).graph_model
    except InvalidModel:
        return
    facts = gather_facts(loaded)
    for output, array in zip(loaded.graph.outputs, tensors(case.data_sets[0][1]), strict=False):
        shape = facts.shape(output)
        if shape is None or array is None:
            continue
        known = [value_of(dimension, sizes) for dimension in shape]
        if len(known) != array.ndim or any(
            k is not None and k != size for k, size in zip(known, array.shape, strict=True)
        ):
            yield f"{case.name}: {output.name} is {array.shape}, inferred {shape} with {sizes}"


def value_of(dimension, sizes):
    """The size that a dimension stands for; None if it is open."""
    if not isinstance(dimension, str):
        return dimension
    names = re.findall(r"[^\W\d]\w*", dimension)
    if any(name not in sizes and name not in FUNCTIONS for name in names):
        return None
    return eval(dimension, {"__builtins__": {}}, FUNCTIONS | sizes)  # noqa: S307 - a sum or product


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("variant", [with_symbols, with_constants], ids=lambda v: v.__name__)
def test_inferred_shapes_are_those_of_the_operators_test_data(variant, chunk):
    cases = node_cases()[chunk::CHUNKS]
    assert len(cases) > 100
    assert [misfit for case in cases for misfit in misfits(case, variant)] == []

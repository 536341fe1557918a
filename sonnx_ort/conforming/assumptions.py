"""What `conform` is told of inputs: values and shapes that are the same in every run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.analysis.premises import ASSUMED, premises_of, shape_in_words
from sonnx_ort.errors import SonnxError
from sonnx_ort.facts.sizes import LARGEST as MOST_ELEMENTS
from sonnx_ort.facts.sizes import LARGEST_WRITTEN
from sonnx_ort.loading.file_traversal import all_tensors, nodes_within
from sonnx_ort.loading.source import LARGEST, ReadModel
from sonnx_ort.ort.feeds import GraphInput, as_tensors, graph_inputs, numpy_dtype, what_is_wrong
from sonnx_ort.terms.numbers import finite_numbers
from sonnx_ort.terms.operand import format_shape

_SHOWN = 8
"""Of a longer tensor the metadata have the number of its elements alone."""


def assuming(
    source: ReadModel, assume: Mapping[str, npt.ArrayLike], shapes: Mapping[str, Sequence[int]]
) -> ReadModel:
    """A model with constants for inputs that are known, and with sizes that are.

    Its metadata say so, for every later command.

    Raises:
        InvalidModel: What it was conformed for before cannot be read.
        SonnxError: There is no such input, what is assumed is not of its type or shape, or the
            model was conformed within a contract of the input.
    """
    if not assume and not shapes:
        return source
    premises = premises_of(source.proto)
    for name in (*assume, *shapes):
        if premises.limits(name):
            raise _misfit(
                f"the model was conformed within a contract of the input '{name}'; conform the "
                "original model with both at once"
            )
    proto = onnx.ModelProto()
    proto.CopyFrom(source.proto)
    for name, shape in shapes.items():
        _declare_shape(proto, name, shape)
        if not shape:
            _make_scalar(proto, name)
    inputs = {each.name: each for each in graph_inputs(proto)}
    given = {name: _converted(inputs.get(name), value) for name, value in assume.items()}
    arrays = as_tensors(tuple(inputs.values()), given)
    wrong = what_is_wrong([replace(each, required=False) for each in inputs.values()], arrays)
    if wrong:
        raise _misfit(wrong)
    for values in (proto.graph.input, proto.graph.initializer):
        kept = [value for value in values if value.name not in arrays]
        del values[:]
        values.extend(kept)
    told = {name: shape_in_words(tuple(map(int, shape))) for name, shape in shapes.items()}
    for name, array in arrays.items():
        _add_constant(proto, onnx.numpy_helper.from_array(array, name))
        told[name] = str(array.tolist()) if array.size <= _SHOWN else f"{array.size:,} elements"
    written = {f"{ASSUMED}{name}": text for name, text in told.items()}
    others = [entry for entry in proto.metadata_props if entry.key not in written]
    del proto.metadata_props[:]
    proto.metadata_props.extend(others)
    for key, text in written.items():
        proto.metadata_props.add(key=key, value=text)
    return replace(source, proto=proto)


def _misfit(reason: str) -> SonnxError:
    return SonnxError(f"the assumption does not fit: {reason}")


def _declare_shape(proto: onnx.ModelProto, name: str, shape: Sequence[int]) -> None:
    """Write the sizes of an input into the model, which every run has to give then."""
    value = next((value for value in proto.graph.input if value.name == name), None)
    for size in shape:
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or not 0 <= size <= LARGEST_WRITTEN:
            raise _misfit(
                f"the shape of the input '{name}': {size} is no size; give a whole number from 0 "
                f"to {LARGEST_WRITTEN}"
            )
    if math.prod(map(int, shape)) > MOST_ELEMENTS:
        raise _misfit(f"the shape of the input '{name}' has more than {MOST_ELEMENTS:,} elements")
    if value is not None and not value.type.HasField("tensor_type"):
        raise _misfit(f"the shape of the input '{name}': it is no tensor")
    declared = None if value is None else value.type.tensor_type.shape
    if value is not None and not value.type.tensor_type.HasField("shape"):
        value.type.tensor_type.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in shape)
        value.type.tensor_type.shape.SetInParent()
    if declared is None or len(declared.dim) != len(shape):
        has = "there is none" if declared is None else f"it has {len(declared.dim)} axes"
        raise _misfit(f"the shape of the input '{name}': {has}")
    for dimension, size in zip(declared.dim, shape, strict=True):
        if dimension.HasField("dim_value") and dimension.dim_value != size:
            raise _misfit(f"the input '{name}' has {dimension.dim_value}, not {size}")
        dimension.dim_value = size


def _add_constant(proto: onnx.ModelProto, tensor: onnx.TensorProto) -> None:
    """Add a constant; before version 4 of the format, an initializer was an input as well."""
    if proto.ir_version >= _INITIALIZERS_ALONE:
        proto.graph.initializer.append(tensor)
        return
    node = onnx.helper.make_node("Constant", [], [tensor.name], value=tensor)
    proto.graph.node.insert(0, node)


_INITIALIZERS_ALONE = 4


def _make_scalar(proto: onnx.ModelProto, name: str) -> None:
    """Let a Reshape hold an input to one element: ONNX Runtime takes any shape for a scalar."""
    nodes = nodes_within(proto.graph.node)
    taken = {tensor.name for tensor in all_tensors(proto)}
    taken.update(value for node in nodes for value in (*node.input, *node.output))
    free = (each for n in count() if (each := f"{name}_scalar_{n}") not in taken)
    scalar, sizes = next(free), next(free)
    for node in nodes:
        node.input[:] = [scalar if value == name else value for value in node.input]
    none = onnx.numpy_helper.from_array(np.zeros(0, np.int64), sizes)
    proto.graph.node.insert(0, onnx.helper.make_node("Reshape", [name, sizes], [scalar]))
    proto.graph.node.insert(0, onnx.helper.make_node("Constant", [], [sizes], value=none))


def _converted(declared: GraphInput | None, value: npt.ArrayLike) -> npt.ArrayLike:
    """Numbers in the type of their input; one number for all elements, if the shape is known.

    An array with axes stays as it is.
    """
    if declared is None or declared.dtype is None or declared.dtype == "string":
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        return value
    dtype = numpy_dtype(declared)
    try:
        numbers = np.array(value, dtype=object)
    except ValueError:
        # Lists of different lengths, of which `as_tensors` says what is wrong.
        return value
    found = np.empty(numbers.shape, dtype)
    for place, number in np.ndenumerate(numbers):
        found[place] = _number(declared, dtype, number)
    if found.ndim or declared.shape is None:
        return found
    shape = [size for size in declared.shape if isinstance(size, int) and size >= 0]
    if len(shape) != len(declared.shape):
        return found
    if math.prod(shape) * dtype.itemsize > LARGEST:
        raise _misfit(
            f"the input '{declared.name}' is of shape {format_shape(declared.shape)}, and a "
            "constant of it would be larger than 2 GiB"
        )
    return np.full(shape, found)


def _number(declared: GraphInput, dtype: np.dtype[Any], given: object) -> Any:
    """A number in the type of an input.

    Raises:
        SonnxError: It has no such number, or one that is far from it.
    """
    number: Any = given.item() if isinstance(given, np.generic) else given
    kind = str(declared.dtype)
    if kind.startswith(("float", "bfloat")):
        reason = _why_no_float(number, dtype)
    elif kind == "bool":
        reason = "" if isinstance(number, int) and number in (0, 1) else "give true or false"
    elif kind.startswith(("int", "uint")):
        reason = _why_no_integer(number, kind)
    else:
        reason = "give an array of this type"
    if not reason:
        with np.errstate(over="ignore", under="ignore"):
            return np.array(int(number) if "int" in kind else number).astype(dtype)
    given_kind = np.asarray(number).dtype
    needs = kind if declared.shape is None else f"{kind} of shape {format_shape(declared.shape)}"
    raise _misfit(
        f"the input '{declared.name}' is {given_kind} of shape (), but the model needs {needs}; "
        f"{number} is none: {reason}"
    )


def _why_no_float(number: Any, dtype: np.dtype[Any]) -> str:
    """Why a number cannot be a float of a type; empty if it can, rounded."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return "give a number"
    with np.errstate(over="ignore", under="ignore"):
        try:
            exact = float(number)
        except OverflowError:
            exact = math.inf
        found = float(np.float64(exact).astype(dtype))
    if math.isfinite(exact) != math.isfinite(found) or (math.isinf(exact) and number != exact):
        lower, upper = finite_numbers(dtype)
        return f"the type has numbers from {lower:.9g} to {upper:.9g}"
    if exact and not found:
        return "it would be rounded to 0"
    return ""


def _why_no_integer(number: Any, kind: str) -> str:
    """Why a number cannot be an integer of a type; empty if it is one."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return "give a whole number"
    if isinstance(number, float) and not number.is_integer():
        return "give a whole number"
    bits = int(kind.removeprefix("u").removeprefix("int"))
    lower, upper = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return "" if lower <= number <= upper else f"the type has numbers from {lower} to {upper}"

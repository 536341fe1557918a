"""The inputs of a run: what is wrong with them, and values of every type that it takes."""

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from sonnx_ort.errors import SonnxError, did_you_mean, printable
from sonnx_ort.ort.session_options import FATAL
from sonnx_ort.terms.operand import Shape, format_shape

_STRING = onnx.TensorProto.STRING
_DTYPES = {
    number: "string" if number == _STRING else helper.tensor_dtype_to_np_dtype(number).name
    for number in onnx.TensorProto.DataType.values()
    if number != onnx.TensorProto.UNDEFINED
}
"""The names of the dtypes of arrays, by their number in a model."""

_NUMPY = {name: helper.tensor_dtype_to_np_dtype(number) for number, name in _DTYPES.items()}
"""The dtypes by these names, of which numpy itself does not know all."""

_LOOKED_AT = 1000
"""At how many elements of an array of objects a message looks, to say of which type they are."""

_REFUSALS = (InvalidArgument, ValueError, RuntimeError)
"""The types of ONNX Runtime's errors if it refuses an input."""


@dataclass(frozen=True, slots=True)
class GraphInput:
    """What a model wants of an input.

    Attributes:
        name: Its name.
        dtype: The name of its dtype in arrays; None if it is no tensor.
        shape: The declared shape; None if there is none.
        required: Whether a run needs it.
    """

    name: str
    dtype: str | None
    shape: Shape | None
    required: bool


def numpy_dtype(declared: GraphInput) -> np.dtype[Any]:
    """The dtype of arrays for an input that is a tensor."""
    return _NUMPY[declared.dtype or ""]


def graph_inputs(model: onnx.ModelProto) -> tuple[GraphInput, ...]:
    """The inputs of a model, in their order."""
    with_default = {tensor.name for tensor in model.graph.initializer}
    return tuple(_graph_input(value, with_default) for value in model.graph.input)


def _graph_input(value: onnx.ValueInfoProto, with_default: set[str]) -> GraphInput:
    declared = value.type.tensor_type
    shape = None
    if declared.HasField("shape"):
        shape = tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or None
            for d in declared.shape.dim
        )
    required = value.name not in with_default and not value.type.HasField("optional_type")
    return GraphInput(value.name, _DTYPES.get(declared.elem_type), shape, required)


def in_machine_order(value: Any) -> Any:
    """An input with the bytes of numbers in the machine's order; others ONNX Runtime misreads.

    A list is a sequence, and a dictionary a map.
    """
    match value:
        case np.ndarray():
            native = value.dtype.isnative
            return value if native else value.astype(value.dtype.newbyteorder("="))
        case list() if any(isinstance(each, np.ndarray | dict) for each in value):
            return [in_machine_order(each) for each in value]
        case dict():
            return {key: in_machine_order(each) for key, each in value.items()}
    return value


def as_declared(inputs: Sequence[GraphInput], given: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs from files or callers of any type, of which arrays become what models take."""
    by_name = {each.name: each for each in inputs}
    return {
        name: _as_tensor(by_name.get(name), name, value)
        if isinstance(value, np.ndarray)
        else in_machine_order(value)
        for name, value in given.items()
    }


def as_tensors(inputs: Sequence[GraphInput], given: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as arrays that models take: in the machine's order, of the declared type.

    Lists and numbers become arrays, and bytes what they stand for: numpy writes types that it has
    not, such as bfloat16, as plain bytes. Text is an array of objects.

    Raises:
        SonnxError: An input is no tensor, or some of its elements are masked.
    """
    by_name = {declared.name: declared for declared in inputs}
    return {name: _as_tensor(by_name.get(name), name, value) for name, value in given.items()}


def _as_tensor(declared: GraphInput | None, name: str, value: Any) -> Any:
    if declared is None or _is_absent(value):
        return value
    if isinstance(value, np.ndarray) and declared.dtype is None:
        return in_machine_order(value)
    if declared.dtype is None or isinstance(value, dict | onnxruntime.OrtValue):
        raise SonnxError(f"the input '{name}' is no array; this command takes only arrays")
    if np.ma.is_masked(value):
        raise SonnxError(_is_masked(name))
    dtype = _NUMPY[declared.dtype]
    try:
        array = np.asarray(value, None if isinstance(value, np.ndarray | np.generic) else dtype)
    except (TypeError, ValueError) as error:
        raise SonnxError(f"the input '{name}' is no array: {error}; give an array") from error
    if array.dtype.kind == "U" and dtype.kind == "O":
        return array.astype(dtype)
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype != dtype:
        return array.view(dtype) if array.dtype.itemsize == dtype.itemsize else array
    return in_machine_order(array)


def _is_masked(name: str) -> str:
    return (
        f"elements of the input '{name}' are masked, and a tensor has all elements; give an array, "
        "for example by filled(0)"
    )


@contextmanager
def wrong_feeds_named(inputs: Sequence[GraphInput], feeds: Any) -> Iterator[None]:
    """Say of inputs that a run refuses what is wrong with them, in an error of the same type.

    Raises:
        InvalidArgument: An input is None, which ends the process in a custom operator.
    """
    if not isinstance(feeds, Mapping):
        yield
        return
    given = [(feeds[each.name], each.required) for each in inputs if each.name in feeds]
    if any((required and _is_absent(value)) or _has_mask(value) for value, required in given):
        raise InvalidArgument(what_is_wrong(inputs, feeds))
    try:
        yield
    except _REFUSALS as error:
        wrong = what_is_wrong(inputs, feeds)
        if not wrong or type(error) not in _REFUSALS:
            raise
        raise type(error)(wrong) from error


def require_bound(inputs: Sequence[GraphInput], binding: Any) -> None:
    """Check that a binding has all inputs, as far as this version of ONNX Runtime tells.

    Raises:
        ValueError: An input is not bound, which ends the process in a custom operator.
    """
    bound = getattr(binding, "_bound_inputs", None)
    missing = [] if bound is None else [i for i in inputs if i.required and i.name not in bound]
    if missing:
        raise ValueError("\n".join(printable(_is_missing(each.name, inputs)) for each in missing))


def what_is_wrong(inputs: Sequence[GraphInput], feeds: Mapping[str, object]) -> str:
    """What is wrong with the inputs of a run, a line for each; empty if nothing is."""
    by_name = {declared.name: declared for declared in inputs}
    lines = [
        f"there is no input '{name}'{did_you_mean(name, by_name)}; {_list_of_inputs(inputs)}"
        for name in feeds
        if name not in by_name
    ]
    lines += [
        _is_missing(declared.name, inputs)
        for declared in inputs
        if declared.required and declared.name not in feeds
    ]
    given = [
        _wrong(declared, feeds[declared.name]) for declared in inputs if declared.name in feeds
    ]
    return "\n".join(map(printable, [*lines, *filter(None, given)]))


def _list_of_inputs(inputs: Sequence[GraphInput]) -> str:
    return f"the model's inputs are {', '.join(declared.name for declared in inputs) or 'none'}"


def _is_missing(name: str, inputs: Sequence[GraphInput]) -> str:
    return f"the input '{name}' is missing; {_list_of_inputs(inputs)}"


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, onnxruntime.OrtValue) and not value.has_value())


def _has_mask(value: object) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _wrong(declared: GraphInput, value: object) -> str:
    """What is wrong with an input that is given; empty if nothing is known to be."""
    if _has_mask(value):
        return _is_masked(declared.name)
    if declared.dtype is None or (_is_absent(value) and not declared.required):
        return ""
    dtype, shape = _dtype(value), _shape(value)
    remedies = []
    if _is_absent(value):
        remedies.append("give an array")
    elif dtype not in {None, declared.dtype}:
        remedies.append(f"convert it, for example with astype('{declared.dtype}')")
    # ONNX Runtime takes any shape for a declared scalar.
    if shape is not None and declared.shape:
        remedies += _remedies_of_shape(declared.shape, shape)
    if not remedies:
        return ""
    given = dtype or ("None" if value is None else f"of type {type(value).__name__}")
    return (
        f"the input '{declared.name}' is {_in_words(given, shape)}, but the model needs "
        f"{_in_words(declared.dtype, declared.shape)}; {' and '.join(remedies)}"
    )


def _in_words(dtype: str, shape: Shape | None) -> str:
    return dtype if shape is None else f"{dtype} of shape {format_shape(shape)}"


def _remedies_of_shape(declared: Shape, given: Shape) -> list[str]:
    if len(given) != len(declared):
        return [f"give it {len(declared)} {'axis' if len(declared) == 1 else 'axes'}"]
    return [
        f"give axis {axis} size {size}"
        for axis, (size, found) in enumerate(zip(declared, given, strict=True))
        if isinstance(size, int) and size >= 0 and size != found
    ]


def _dtype(value: object) -> str | None:
    """The name of its dtype in numpy; None if it has none of its own, as a list."""
    if isinstance(value, onnxruntime.OrtValue):
        found = _DTYPES.get(value.element_type()) if value.is_tensor() else None
        return found or value.data_type()
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind == "O":
        texts = all(isinstance(each, str | bytes) for each in value.ravel()[:_LOOKED_AT])
        return "string" if texts else "object"
    return "string" if value.dtype.kind in "US" else value.dtype.name


def _shape(value: object) -> Shape | None:
    if isinstance(value, onnxruntime.OrtValue):
        return tuple(value.shape()) if value.is_tensor() else None
    try:
        return None if value is None else np.shape(cast(Any, value))
    except ValueError:
        # A list of lists of different lengths.
        return None


Array = npt.NDArray[Any]

_TENSOR = "tensor("
"""The start of the types of tensors."""

_OTHERS = 256
"""The number of the first dtype that is not numpy's own."""

_OPSET, _IR = 13, 7
"""The versions of a model that gives text."""


def to_ort_value(array: Array) -> onnxruntime.OrtValue:
    """Convert an array for ONNX Runtime.

    Raises:
        SonnxError: ONNX Runtime's interface takes no arrays of its dtype.
    """
    array = in_machine_order(array)
    if array.dtype.kind in "OU":
        return _text(array)
    if _is_of_numpy(array.dtype):
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    size = array.dtype.itemsize
    if array.dtype.num < _OTHERS or _bits(array.dtype) != 8 * size:
        raise SonnxError(
            f"ONNX Runtime's interface takes no arrays of {array.dtype}; give another type"
        )
    element_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    bits = np.ascontiguousarray(array).reshape(array.shape).view(f"u{size}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, element_type)


def _is_of_numpy(dtype: np.dtype[Any]) -> bool:
    """Whether it is a type of numbers or booleans of numpy's own."""
    return dtype.num < _OTHERS and dtype.kind in "biufc"


def _bits(dtype: np.dtype[Any]) -> int:
    """How many bits an element of a type of ml_dtypes has, which numpy stores in bytes."""
    try:
        return int(ml_dtypes.finfo(dtype).bits)  # type: ignore[no-untyped-call]
    except ValueError:
        return int(ml_dtypes.iinfo(dtype).bits)  # type: ignore[no-untyped-call]


def _text(array: Array) -> onnxruntime.OrtValue:
    """Text, which only a model can make an `OrtValue` of."""
    tensor = onnx.TensorProto(name="text", data_type=onnx.TensorProto.STRING, dims=array.shape)
    tensor.string_data.extend(str(each).encode() for each in array.ravel().tolist())
    result = helper.make_tensor_value_info("same", onnx.TensorProto.STRING, array.shape)
    node = helper.make_node("Identity", ["text"], ["same"])
    graph = helper.make_graph([node], "text", [], [result], [tensor])
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run_with_ort_values(None, {})[0]


def to_array(value: onnxruntime.OrtValue) -> Array | None:
    """Copy a tensor from ONNX Runtime; None if the value is not a tensor."""
    if not value.has_value() or not value.is_tensor():
        return None
    dtype = helper.tensor_dtype_to_np_dtype(value.element_type())
    if _is_of_numpy(dtype) or dtype.kind == "O":
        return np.array(value.numpy())
    # numpy() knows no such type, or takes it for one of plain bits.
    size = -(-math.prod(value.shape()) * _bits(dtype) // 8)
    tensor = onnx.TensorProto(data_type=value.element_type(), dims=value.shape())
    tensor.raw_data = ctypes.string_at(value.data_ptr(), size) if size else b""
    return np.array(numpy_helper.to_array(tensor))


def run_on_values(
    session: onnxruntime.InferenceSession, names: Sequence[str], feeds: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a session on inputs of any types: arrays, lists for sequences, dictionaries for maps.

    Returns:
        The outputs of these names: arrays, lists, dictionaries, None for an absent one.
    """
    types = [output.type for output in session.get_outputs() if output.name in names]
    tensors = all(isinstance(each, np.ndarray) for each in feeds.values())
    if not (tensors and all(each.startswith(_TENSOR) for each in types)):
        return dict(zip(names, session.run(names, feeds), strict=True))
    given = {name: to_ort_value(array) for name, array in feeds.items()}
    found = session.run_with_ort_values(names, given)
    return {name: to_array(value) for name, value in zip(names, found, strict=True)}

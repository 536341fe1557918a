"""What ONNX assumes where a node omits an attribute or an input.

ONNX states most defaults of attributes as values in its schemas; what it states in words stands
here. Each gives what ONNX Runtime computes with anyway: a window without `strides` moves by 1, a
`Pad` without `constant_value` adds zeros, a `Shape` without `end` ends at the rank.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.change import MOST_ELEMENTS
from sonnx_ort.conforming.verified import rank_of, schema_of
from sonnx_ort.profile.catalog import unsupported_attributes
from sonnx_ort.profile.graph import EDGES, GR4
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_RANK_OF_SEQUENCES = 3


Input = tuple[str, npt.NDArray[Any]]
"""An input's name and its elements."""


def write_attributes(
    node: ir.Node, versions: Mapping[str, int], facts: Facts, *, in_words: bool
) -> None:
    """Write the omitted attributes of a node for which ONNX assumes a value.

    Those that the operator's draft does not support stay omitted.

    With `in_words`, those are written too that ONNX states in words alone.
    """
    schema = schema_of(node, versions.get(node.domain, 1))
    if schema is None:
        return
    present = {*node.attributes, *unsupported_attributes(node.domain, node.op_type)}
    for name, attribute in schema.attributes.items():
        if name not in present and attribute.default_value.name:
            node.attributes[name] = ir.serde.deserialize_attribute(attribute.default_value)
    for stated in _stated(_ATTRIBUTES, node, facts) if in_words else ():
        if stated.name not in node.attributes and stated.name in schema.attributes:
            node.attributes.add(stated)


def omitted_inputs(
    node: ir.Node, versions: Mapping[str, int], facts: Facts, rule: str
) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """The omitted inputs that a rule wants: position and elements."""
    schema = schema_of(node, versions.get(node.domain, 1))
    if schema is None:
        return
    positions = {parameter.name: index for index, parameter in enumerate(schema.inputs)}
    for name, elements in _stated(_INPUTS[rule], node, facts):
        position = positions.get(name)
        if position is not None and (position >= len(node.inputs) or node.inputs[position] is None):
            yield position, elements


def _stated(table: Mapping[str, Callable[..., Any]], node: ir.Node, facts: Facts) -> Iterator[Any]:
    """What a table has for a node; nothing for one of another domain."""
    if node.domain == STANDARD_DOMAIN and node.op_type in table:
        yield from table[node.op_type](node, facts)


def _sizes_of_parts(node: ir.Node, facts: Facts) -> list[int] | None:
    """The sizes of the parts of a Split, if that of the axis is certain."""
    rank, axis, count = rank_of(node, facts), node.attributes.get_int("axis", 0), len(node.outputs)
    value = node.inputs[0] if node.inputs else None
    shape = None if value is None else facts.shape(value)
    if not rank or shape is None or not -rank <= axis < rank:
        return None
    size = shape[axis]
    if not isinstance(size, int):
        return None
    part = -(-size // count)
    sizes = [*[part] * (count - 1), size - part * (count - 1)]
    fits = "num_outputs" in node.attributes or size % count == 0
    return sizes if fits and sizes[-1] >= 0 else None


def _of_window(node: ir.Node, facts: Facts) -> Iterator[ir.Attr]:
    """The kernel is that of W; a window moves by 1, without holes, and nothing is added."""
    kernel = node.attributes.get_ints("kernel_shape") or _kernel_of_weights(node, facts)
    if kernel is None:
        return
    axes = len(kernel)
    yield ir.AttrInt64s("kernel_shape", list(kernel))
    yield ir.AttrInt64s("strides", [1] * axes)
    yield ir.AttrInt64s("dilations", [1] * axes)
    yield ir.AttrInt64s("output_padding", [0] * axes)
    if node.attributes.get_string("auto_pad", "NOTSET") == "NOTSET":
        yield ir.AttrInt64s("pads", [0] * (2 * axes))


def _kernel_of_weights(node: ir.Node, facts: Facts) -> list[int] | None:
    weights = node.inputs[1] if len(node.inputs) > 1 else None
    shape = None if weights is None else facts.shape(weights)
    if shape is None:
        return None
    kernel = [size for size in shape[2:] if isinstance(size, int)]
    return kernel if len(kernel) == len(shape) - 2 else None


_ACTIVATIONS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh")}


def _of_layer(node: ir.Node, _facts: Facts) -> Iterator[ir.Attr]:
    """The activations of each direction."""
    bidirectional = node.attributes.get_string("direction", "forward") == "bidirectional"
    default = [*_ACTIVATIONS[node.op_type] * (2 if bidirectional else 1)]
    yield ir.AttrStrings("activations", default)


def _of_shape(node: ir.Node, facts: Facts) -> Iterator[ir.Attr]:
    rank = rank_of(node, facts)
    if rank is not None:
        yield ir.AttrInt64("end", rank)


def _of_constant_of_shape(_node: ir.Node, _facts: Facts) -> Iterator[ir.Attr]:
    yield ir.AttrTensor("value", ir.tensor(np.zeros(1, np.float32)))


def _of_scan(node: ir.Node, _facts: Facts) -> Iterator[ir.Attr]:
    scanned = node.attributes.get_int("num_scan_inputs", 0)
    states = len(node.inputs) - scanned
    yield ir.AttrInt64s("scan_input_directions", [0] * scanned)
    yield ir.AttrInt64s("scan_output_directions", [0] * (len(node.outputs) - states))


def _of_all_axes(node: ir.Node, facts: Facts) -> Iterator[ir.Attr]:
    """All axes are reduced or resized; of versions whose axes are an attribute."""
    rank = rank_of(node, facts)
    if rank:
        yield ir.AttrInt64s("axes", list(range(rank)))


def _of_slice(node: ir.Node, _facts: Facts) -> Iterator[ir.Attr]:
    """The first axes are cut; of versions whose axes are an attribute."""
    yield ir.AttrInt64s("axes", list(range(len(node.attributes.get_ints("starts") or ()))))


def _of_split(node: ir.Node, facts: Facts) -> Iterator[ir.Attr]:
    """The parts are of one size; of versions whose sizes are an attribute."""
    sizes = _sizes_of_parts(node, facts)
    if sizes is not None:
        yield ir.AttrInt64s("split", sizes)


_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"),
    *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
)


_ATTRIBUTES: Mapping[str, Callable[[ir.Node, Facts], Iterator[ir.Attr]]] = {
    **dict.fromkeys((*_REDUCTIONS, "Resize"), _of_all_axes),
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose", "MaxPool", "AveragePool"), _of_window),
    **dict.fromkeys(_ACTIVATIONS, _of_layer),
    "Shape": _of_shape,
    "ConstantOfShape": _of_constant_of_shape,
    "Scan": _of_scan,
    "Slice": _of_slice,
    "Split": _of_split,
}
"""The defaults of attributes that ONNX states in words."""


def _of_pad(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """Zeros are added on all axes; a mode that repeats elements does not read the zero."""
    value = node.inputs[0] if node.inputs else None
    dtype = _dtype(facts, value)
    if dtype is not None:
        yield "constant_value", np.zeros((), dtype)
    rank = rank_of(node, facts)
    if rank is not None:
        yield "axes", np.arange(rank, dtype=np.int64)


def _of_clip(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """The bounds are the least and the largest finite number of the type."""
    dtype = _dtype(facts, node.inputs[0] if node.inputs else None)
    if dtype is not None and dtype.kind in "iuf":
        limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        yield "min", np.asarray(limits.min, dtype)
        yield "max", np.asarray(limits.max, dtype)


def _of_reduced_axes(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """All axes are reduced, unless no axes mean none."""
    rank = rank_of(node, facts)
    if rank and node.attributes.get_int("noop_with_empty_axes", 0) == 0:
        yield "axes", np.arange(rank, dtype=np.int64)


def _of_divided(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """The parts are of one size, or the last one is smaller where `num_outputs` allows it."""
    sizes = _sizes_of_parts(node, facts)
    if sizes is not None:
        yield "split", np.array(sizes, np.int64)


def _of_spectrum(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """A frame is as long as the window, in the type of the step."""
    step, window = (node.inputs[p] if p < len(node.inputs) else None for p in (1, 2))
    dtype = _dtype(facts, step)
    if dtype is None or window is None or facts.depends_on_scalar_inputs(window):
        return
    match facts.shape(window):
        case (int() as length,):
            yield "frame_length", np.asarray(length, dtype)


def _of_sequences(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """Each sequence of a GRU is as long as X; its kernel fills in the same."""
    match _known_sequences(node, facts):
        case (length, batch):
            yield "sequence_lens", np.full(batch, length, np.int32)


def _of_hidden_state(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """The hidden state of a GRU begins with zeros; its kernel fills in the same."""
    dtype, hidden = _dtype(facts, node.inputs[0]), node.attributes.get_int("hidden_size", 0)
    directions = 2 if node.attributes.get_string("direction", "forward") == "bidirectional" else 1
    match _known_sequences(node, facts):
        case (_, batch) if dtype is not None and 0 <= batch * hidden <= MOST_ELEMENTS:
            yield "initial_h", np.zeros((directions, batch, hidden), dtype)


def _known_sequences(node: ir.Node, facts: Facts) -> tuple[int, int] | None:
    """The length and the number of the sequences of a layer, if both are certain and admitted."""
    value = node.inputs[0]
    if value is None or rank_of(node, facts) != _RANK_OF_SEQUENCES:
        return None
    match facts.shape(value):
        case (int() as length, int() as batch, _) if max(length, batch) <= MOST_ELEMENTS:
            return None if node.attributes.get_int("layout", 0) else (length, batch)
        case _:
            return None


def _dtype(facts: Facts, value: ir.Value | None) -> np.dtype[Any] | None:
    element_type = None if value is None else facts.element_type(value)
    if element_type is None or element_type == "string":
        return None
    return ir.DataType[element_type.upper()].numpy()


def _of_bias(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """A bias of zeros, of the sign that changes no number.

    None where the kernel is dequantized: with a bias of floats no optimizer computes in integers.
    """
    kernel = node.inputs[1]
    producer = None if kernel is None else kernel.producer()
    if producer is not None and producer.op_type == "DequantizeLinear":
        return
    yield from _zeros(facts, kernel, 0, 1)


def _of_transposed_bias(node: ir.Node, facts: Facts) -> Iterator[Input]:
    """A bias of zeros, of the sign that changes no number, for each group of results."""
    yield from _zeros(facts, node.inputs[1], 1, node.attributes.get_int("group", 1))


def _zeros(facts: Facts, kernel: ir.Value | None, axis: int, times: int) -> Iterator[Input]:
    """A bias of -0 for each place of an axis of a kernel, so many times."""
    dtype = _dtype(facts, kernel)
    if dtype is None or kernel is None or facts.depends_on_scalar_inputs(kernel):
        return
    size = (*(facts.shape(kernel) or ()), None, None)[axis]
    if isinstance(size, int) and 0 <= size * times <= MOST_ELEMENTS:
        yield "B", np.full(size * times, -0.0, dtype)


def _of_resize(node: ir.Node, _facts: Facts) -> Iterator[Input]:
    """An empty region of interest, where none is cut out."""
    mode = node.attributes.get_string("coordinate_transformation_mode", "half_pixel")
    if mode != "tf_crop_and_resize":
        yield "roi", np.zeros(0, np.float32)


_INPUTS: Mapping[str, Mapping[str, Callable[[ir.Node, Facts], Iterator[Input]]]] = {
    GR4.id: {
        "Pad": _of_pad,
        "Clip": _of_clip,
        "STFT": _of_spectrum,
        "GRU": _of_sequences,
        "Split": _of_divided,
        **dict.fromkeys(_REDUCTIONS, _of_reduced_axes),
    },
    EDGES.id: {
        "Conv": _of_bias,
        "ConvTranspose": _of_transposed_bias,
        "GRU": _of_hidden_state,
        "Resize": _of_resize,
    },
}
"""By rule and operator: the defaults of inputs that ONNX states in words, and those without effect.
"""

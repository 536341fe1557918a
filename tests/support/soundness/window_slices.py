"""Slices behind windows that may not fit, for `support.soundness.isolated`, by their number."""

from itertools import product

import onnx
import onnxruntime as ort

import sonnx_ort
from support.graphs import parse
from support.sessions import on_one_thread

_OPERATORS = {
    "AveragePool": ("float", "x"),
    "Conv": ("float", "x, w"),
    "ConvInteger": ("uint8", "x, w"),
    "LpPool": ("float", "x"),
    "MaxPool": ("float", "x"),
    "QLinearConv": ("uint8", "x, q, z, w, q, z, q, z"),
}
"""The type of the operands x and w, and the operands."""

_OPSET = 22

CUBE = [
    (operator, size, tuple(filter(None, chosen)))
    for operator, size, *chosen in product(
        _OPERATORS,
        (1, 3),
        ("", 'auto_pad = "NOTSET"', 'auto_pad = "VALID"', 'auto_pad = "SAME_UPPER"'),
        ("", "pads = [0, 0]", "pads = [1, 0]"),
        ("", "dilations = [2]"),
        ("", "strides = [2]"),
        ("", "ceil_mode = 1"),
    )
    if "ceil_mode = 1" not in chosen or operator.endswith("Pool")
]
"""Operators, sizes of the operand on the axis of the windows, and attributes."""


def _graph(number: int) -> str:
    operator, size, chosen = CUBE[number]
    element, operands = _OPERATORS[operator]
    attributes = ", ".join([*chosen, "kernel_shape = [3]"])
    result = "int32" if operator == "ConvInteger" else element
    return (
        f"({element}[1,1,{size}] x, {element}[1,1,3] w, float q, uint8 z) => ({result}[?,?,?] y)"
        " <int64[1] s = {0}, int64[1] e = {1}, int64[1] k = {2}>"
        f" {{ a = {operator}<{attributes}>({operands}) y = Slice(a, s, e, k) }}"
    )


def stated(number: int) -> tuple[int, str]:
    """The size that ONNX infers on the axis of the windows, and what a check says if it refuses."""
    model, said = parse(_graph(number), opset=_OPSET), ""
    try:
        sonnx_ort.check(model, operators="default", forecast=False)
    except sonnx_ort.InvalidModel as error:
        said = str(error)
    del model.graph.node[1:]
    (result,) = onnx.shape_inference.infer_shapes(model).graph.value_info
    return result.type.tensor_type.shape.dim[2].dim_value, said


def start(number: int) -> None:
    """Start a session."""
    model = parse(_graph(number), opset=_OPSET)
    ort.InferenceSession(model.SerializeToString(), on_one_thread())

"""The rules about what stands in the file: types, attributes, inputs and sparse tensors."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..node import FLOATS, INTEGERS
from ..sizes import require
from .node import Node

Demand = Callable[[Node], None]

_SINGLES = frozenset({"float16", "float", "double"})
_SIGNED = frozenset({"int8", "int16", "int32", "int64"})
_BYTES = frozenset({"int8", "uint8"})
_BOOL = frozenset({"bool"})
_NUMBERS = FLOATS | INTEGERS


def _dense(node: Node) -> None:
    require(not any(each.name == "sparse_value" for each in node.proto.attribute), "it is sparse")
    sparse = [name for name in node.names() if not node.model.is_dense(name)]
    require(not sparse, "an operand is sparse")


def _types(admitted: frozenset[str] | None, *places: int) -> Demand:
    """All operands at these places have the same type; of all places if none is named."""

    def demand(node: Node) -> None:
        types = {node.model.known("type", name) for name in node.names(places)}
        require(len(types) < 2, "types differ")
        require(admitted is None or types <= admitted, f"the type is {' '.join(types)}")

    return demand


def _attribute(name: str, default: Any, admits: Callable[[Any], object]) -> Demand:
    """An attribute has an admitted value; without a default it may be left out."""

    def demand(node: Node) -> None:
        value = node.attribute(name, default)
        require(value is None or admits(value), f"the attribute {name} is {value}")

    return demand


def _is(name: str, wanted: Any) -> Demand:
    """An attribute has a value, which is its default."""
    return _attribute(name, wanted, lambda value: bool(value == wanted))


def _numbers(name: str, count: int, least: int) -> Demand:
    def admits(value: Any) -> bool:
        return len(value) == count and all(isinstance(n, int) and n >= least for n in value)

    return _attribute(name, None, admits)


def _stands(*names: str) -> Demand:
    """These attributes stand in the file."""

    def demand(node: Node) -> None:
        missing = [name for name in names if node.attribute(name) is None]
        require(not missing, f"the attribute {' '.join(missing)} is left out")

    return demand


def _given(place: int) -> Demand:
    def demand(node: Node) -> None:
        require(node.name(place), f"input {place} is left out")

    return demand


def _both(*demands: Demand) -> Demand:
    def demand(node: Node) -> None:
        for each in demands:
            each(node)

    return demand


def _not_signed_with_unsigned(node: Node) -> None:
    require((node.type(0), node.type(1)) != ("int8", "uint8"), "X is int8 and W uint8")


def _constant_operands(node: Node) -> None:
    computed = [name for name in node.names()[1:] if not node.model.is_constant(name)]
    require(not computed, f"'{' '.join(computed)}' is no constant")


def _activations(value: Any) -> bool:
    gates = (["Sigmoid", "Tanh", "Tanh"], ["Relu", "Tanh", "Tanh"])
    parts = [value[:3], value[3:]] if len(value) == 6 else [value]
    return all(part in gates for part in parts)


def _converts_to_no_integer(node: Node) -> None:
    integers = (2, 3, 4, 5, 6, 7, 12, 13)
    require(node.attribute("to") not in integers, "a float may be beyond the type")


def _true(_: Node) -> None:
    """By the operator alone."""


_TYPES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "Div Sub Add Mul Max Min PRelu Mod Pow Abs Neg MatMul Clip Where": {
        "float": FLOATS, "int": INTEGERS,
    },
    "Equal": {"float": FLOATS, "int": INTEGERS, "bool": _BOOL},
    "Less LessOrEqual Greater GreaterOrEqual ArgMax": {"float": FLOATS, "int": INTEGERS},
    "Reciprocal Sqrt Log Acos": {"float": FLOATS},
    "BitwiseAnd BitwiseOr BitwiseXor BitShift": {"int": INTEGERS},
    "And Or Xor": {"bool": _BOOL},
    "Sigmoid Tanh Exp Sin LeakyRelu Softmax": {"float": _SINGLES},
    "Relu": {"float": _SINGLES, "int": _SIGNED},
}  # fmt: skip

FAMILIES = {name: families for names, families in _TYPES.items() for name in names.split()}
"""The types of operators whose operands have the same type, by family; R2 of each."""


def _types_of_operators() -> Mapping[str, Demand]:
    """The rules of one pattern: one type, no sparse tensor."""
    rules: dict[str, Demand] = {}
    for operator, families in FAMILIES.items():
        places = {"Where": (1, 2), "Clip": (0, 1, 2)}.get(operator, ())
        for family, admitted in families.items():
            rules[f"{operator}.{family}.R2"] = _types(admitted, *places)
            rules[f"{operator}.{family}.RG1"] = _dense
    return rules


_CONVOLUTION: Mapping[str, Demand] = {
    "RG1": _dense, "R2": _both(_stands("auto_pad"), _is("auto_pad", "NOTSET")),
    "group": _attribute("group", 1, lambda value: isinstance(value, int) and value > 0),
    "strides": _numbers("strides", 2, 1), "dilations": _numbers("dilations", 2, 1),
    "pads": _numbers("pads", 4, 0),
}  # fmt: skip

STATED: Mapping[str, Demand] = {
    **_types_of_operators(),
    **{f"{name}.{tag}": demand for name in ("Conv", "ConvInteger")
       for tag, demand in _CONVOLUTION.items()},
    **dict.fromkeys(("Div.R2", "Sub.R2"), _dense),
    **dict.fromkeys(("Div.R3", "Sub.R3"), _types(_NUMBERS)), "Broadcast.C1": _true,
    "Cast.RG1": _dense, "Cast.R2": _types(_NUMBERS | _BOOL),
    "Cast.float.C1": _converts_to_no_integer, "LeakyRelu.R1": _stands("alpha"),
    "BatchNormalization.RG1": _dense, "BatchNormalization.R1": _is("training_mode", 0),
    "BatchNormalization.R2": _types(FLOATS, 0), "BatchNormalization.R3": _types(FLOATS, 1, 2),
    "BatchNormalization.R4": _types(FLOATS, 3, 4),
    "BatchNormalization.C1": _attribute("epsilon", 1e-5, lambda value: value > 0),
    "Slice.R9": _types(_NUMBERS | _BOOL, 0),
    "Slice.R10": _types(frozenset({"int32", "int64"}), 1, 2, 3, 4), "Slice.R4": _dense,
    "Slice.R1": _given(3), "Slice.R3": _given(4),
    "ArgMax.R4": _attribute("axis", 0, lambda value: value >= 0),
    "ArgMax.keepdims.C1": _attribute("keepdims", 1, lambda value: value in (0, 1)),
    "ArgMax.select_last_index.C1": _attribute("select_last_index", 0, lambda v: v in (0, 1)),
    "Clip.min.C2": _attribute("min", None, lambda value: not math.isnan(value)),
    "Clip.max.C2": _attribute("max", None, lambda value: not math.isnan(value)),
    "Softmax.R3": _stands("axis"),
    "Softmax.R4": _attribute("axis", None, lambda value: value >= 0),
    "QuantizeLinear.RG1": _dense, "QuantizeLinear.types": _types(frozenset({"float"}), 0, 1),
    "QuantizeLinear.zero_point": _types(frozenset({"uint8"}), 2),
    "QuantizeLinear.given": _given(2), "QuantizeLinear.R1": _is("axis", 1),
    "QuantizeLinear.R2": _is("block_size", 0), "QuantizeLinear.R3": _is("output_dtype", 0),
    "QuantizeLinear.R4": _is("precision", 0), "DequantizeLinear.RG1": _dense,
    "DequantizeLinear.types": _types(frozenset({"int32"}), 0, 2),
    "DequantizeLinear.scale": _types(frozenset({"float"}), 1),
    "DequantizeLinear.R1": _is("axis", 1), "DequantizeLinear.R2": _is("block_size", 0),
    "DequantizeLinear.R3": _is("output_dtype", 0), "Concat.RG1": _dense,
    "Concat.types": _types(None), "Concat.R1": _attribute("axis", None, lambda value: value >= 0),
    "Reshape.RG1": _dense, "Reshape.types": _types(None, 0), "Reshape.S": _given(1),
    "Reshape.S.type": _types(frozenset({"int64"}), 1),
    "Reshape.allowzero.C1": _attribute("allowzero", 0, lambda value: value in (0, 1)),
    "Flatten.RG1": _dense, "Flatten.types": _types(_SINGLES | INTEGERS), "Squeeze.RG1": _dense,
    "Squeeze.types": _types(None, 0), "Squeeze.A": _given(1),
    "Squeeze.A.type": _types(frozenset({"int64"}), 1), "Squeeze.axes": _stands("axes"),
    "Squeeze.axes.names": _attribute("axes", None, len), "Unsqueeze.RG1": _dense,
    "Unsqueeze.types": _types(None, 0), "Unsqueeze.A.type": _types(frozenset({"int64"}), 1),
    "Constant.R1": _stands("value"), "Constant.R2": _dense, "Shape.RG1": _dense,
    "Shape.types": _types(None), "Range.RG1": _dense,
    "Range.types": _types(frozenset({"float", "double", "int16", "int32", "int64"})),
    "Conv.types": _types(_SINGLES), "ConvInteger.X": _types(_BYTES, 0, 2),
    "ConvInteger.W": _types(_BYTES, 1, 3), "ConvInteger.signs": _not_signed_with_unsigned,
    "MaxPool.RG1": _dense, "MaxPool.types": _types(_SINGLES | _BYTES),
    "MaxPool.R2": _stands("auto_pad", "kernel_shape", "pads", "strides"),
    "MaxPool.R2.storage_order": _stands("storage_order"),
    "MaxPool.R2.dilations": _stands("ceil_mode", "dilations"),
    "MaxPool.R3": _is("auto_pad", "NOTSET"), "MaxPool.R4": _is("ceil_mode", 0),
    "MaxPool.R5": _is("storage_order", 0), "MaxPool.kernel_shape": _numbers("kernel_shape", 2, 1),
    "MaxPool.strides": _numbers("strides", 2, 1),
    "MaxPool.dilations": _numbers("dilations", 2, 1), "MaxPool.pads": _numbers("pads", 4, 0),
    "Gemm.RG1": _dense, "Gemm.types": _types(_SINGLES), "Gemm.R2.alpha": _is("alpha", 1),
    "Gemm.R2.beta": _is("beta", 1), "Gemm.R2.transA": _is("transA", 0),
    "Gemm.R2.transB": _is("transB", 0), "Gemm.R4": _given(2), "LSTM.RG1": _dense,
    "LSTM.types": _types(FLOATS, 0, 1, 2, 3, 5, 6, 7), "LSTM.constant": _constant_operands,
    **{f"LSTM.{name}": _given(place) for place, name in enumerate(
        ("B", "sequence_lens", "initial_h", "initial_c", "P"), 3)},
    "LSTM.activations": _both(
        _stands("activations"), _attribute("activations", None, _activations)),
    "LSTM.input_forget": _both(_stands("input_forget"), _is("input_forget", 0)),
    "LSTM.layout": _both(_stands("layout"), _is("layout", 0)),
    "LSTM.clip": _attribute("clip", None, lambda _: False),
}  # fmt: skip
"""What each of these rules demands of a node."""

"""Nodes of operators that keep the shape of an operand, or broadcast."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import defs

from support.soundness.nodes.maker import Array, Attributes, Made, Maker

_INT, _INTS, _FLOAT = (
    defs.OpSchema.AttrType.INT,
    defs.OpSchema.AttrType.INTS,
    defs.OpSchema.AttrType.FLOAT,
)


def like_first(make: Maker) -> Made:
    attributes: Attributes = {}
    schema = defs.get_schema(make.operator, make.version)
    shape = make.shape(least=make.rng.choice([0, 1, 2]))
    for name, attribute in schema.attributes.items():
        known = attribute.type in (_INT, _INTS, _FLOAT) or name in _CHOSEN
        if attribute.required or (known and make.maybe(0.3)):
            attributes[name] = _value_of(make, name, attribute.type, len(shape))
    outputs = 2 if make.operator == "Dropout" and make.maybe() else 1
    inputs: list[Array | None] = [make.array(shape)]
    if make.operator == "Clip" and make.version >= 11:
        bound = str(inputs[0].dtype) if inputs[0] is not None else "float32"
        inputs += [make.array([], bound) if make.maybe() else None for _ in range(2)]
    elif make.operator == "Dropout" and make.version >= 12 and make.maybe():
        inputs += [np.array(0.5, np.float32), np.array(make.maybe(0.3))]
    elif make.operator == "Trilu" and make.maybe():
        inputs.append(np.array(make.rng.randint(-2, 2), np.int64))
    elif make.operator == "CumSum":
        inputs.append(np.array(make.axis(len(shape)), make.rng.choice(["int32", "int64"])))
    return inputs, attributes, outputs


def _value_of(make: Maker, name: str, kind: Any, rank: int) -> Any:
    if name in ("axis", "axes"):
        return make.axis(rank) if name == "axis" else [make.axis(rank)]
    if name in _CHOSEN:
        return make.rng.choice(_CHOSEN[name])
    return {_INT: make.rng.choice([0, 1]), _INTS: [make.rng.choice([0, 1])]}.get(kind, 0.5)


_CHOSEN: Mapping[str, Sequence[Any]] = {
    "approximate": ["none", "tanh"],
    "direction": ["LEFT", "RIGHT"],
    "p": [1, 2],
    "size": [1, 3],
    "to": [1, 6, 7, 9, 10],
}


def normalized(make: Maker) -> Made:
    shape = [*make.shape(least=2, most=2), *make.shape(most=2)]
    channels = make.array([shape[1]], "float32")
    x = make.array(shape, "float32")
    number = {"BatchNormalization": 4, "InstanceNormalization": 2}[make.operator]
    attributes = {"epsilon": 1e-3} if make.maybe() else {}
    if make.maybe(0.3):
        attributes |= {"momentum": 0.5, "training_mode": 0, "spatial": 1}
    return [x, *[abs(channels) + 1] * number], attributes, 1


def layer_normalized(make: Maker) -> Made:
    shape = make.shape(least=1)
    axis = make.axis(len(shape))
    scale = make.array(shape[axis:] if axis else shape, "float32")
    bias = [scale] if make.operator == "LayerNormalization" and make.maybe() else []
    return [make.array(shape, "float32"), scale, *bias], {"axis": axis, "epsilon": 1e-3}, 1


def quantized(make: Maker) -> Made:
    shape = make.shape(least=1)
    axis = make.axis(len(shape))
    per_axis = make.version >= 13 and make.maybe()
    scale = make.array([shape[axis]] if per_axis else [], "float32") + np.float32(4)
    zero = make.array(scale.shape, "uint8")
    quantizes = make.operator == "QuantizeLinear"
    x = make.array(shape, "float32" if quantizes else "uint8")
    attributes = {"axis": axis} if per_axis or make.maybe(0.2) else {}
    return [x, scale, zero if make.maybe() else None], attributes, 1


def dynamically_quantized(make: Maker) -> Made:
    return [make.array(make.shape(), "float32")], {}, 3


def scattered(make: Maker) -> Made:
    data = make.array(make.shape(least=1), "float32")
    if make.operator == "ScatterND":
        count = make.rng.randint(0, 2)
        indices = np.zeros([count, 1], np.int64)
        return [data, indices, make.array([count, *data.shape[1:]], "float32")], {}, 1
    axis = make.axis(data.ndim)
    part = [make.rng.randint(0, size) for size in data.shape]
    attributes = {"axis": axis, **({"reduction": "add"} if make.maybe(0.3) else {})}
    return [data, np.zeros(part, np.int64), make.array(part, "float32")], attributes, 1


def broadcast(make: Maker) -> Made:
    count = {"Where": 3}.get(make.operator, 2)
    if make.operator in ("Max", "Mean", "Min", "Sum"):
        count = make.rng.randint(1, 4)
    common = make.shape()
    dtype = make.dtype(count - 1)
    inputs = [make.array(make.expandable(common), dtype) for _ in range(count)]
    if make.operator == "Where":
        inputs[0] = inputs[0].astype(bool)
    if dtype in ("int32", "int64", "uint8", "uint64") and make.operator in ("Div", "Mod"):
        inputs[1] = abs(inputs[1].astype("int64")).astype(dtype) + inputs[1].dtype.type(1)
    attributes: Attributes = {}
    if make.operator == "Mod":
        attributes = {"fmod": int(dtype == "float32")}
    if make.operator == "BitShift":
        attributes = {"direction": make.rng.choice(["LEFT", "RIGHT"])}
    return inputs, attributes, 1


MAKERS: Mapping[str, Callable[[Maker], Made]] = {
    **dict.fromkeys(
        (
            *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal"),
            *("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod"),
            *("Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor"),
        ),
        broadcast,
    ),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization"), normalized),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), layer_normalized),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), quantized),
    "DynamicQuantizeLinear": dynamically_quantized,
    **dict.fromkeys(("ScatterElements", "ScatterND"), scattered),
}

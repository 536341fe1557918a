"""Random single nodes of every operator whose shapes are believed, with tensors to run them on.

Attributes, optional inputs, versions and sizes vary, also to what the operator's document does not
allow: `check` may know nothing of such a node, but never something wrong.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper

from sonnx_ort.facts.operators import RULES
from support.soundness.arrays import Array
from support.soundness.makers import LAYOUT, Attributes, Inputs, Made, Maker

_RESIZE_OF_AXES = 18

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


def reduced(make: Maker) -> Made:
    shape = make.shape()
    attributes: Attributes = {"keepdims": make.rng.choice([0, 1])} if make.maybe(0.7) else {}
    if make.operator.startswith("Arg"):
        attributes |= {"axis": make.axis(len(shape)), "select_last_index": int(make.maybe())}
        return [make.array(shape)], attributes, 1
    axes = [make.axis(len(shape)) for _ in range(make.rng.randint(0, min(2, len(shape))))]
    if make.maybe(0.3):
        axes = [abs(axis) % max(len(shape), 1) for axis in axes]
    if make.version < (13 if make.operator == "ReduceSum" else 18):
        return [make.array(shape)], attributes | ({"axes": axes} if axes else {}), 1
    if make.maybe():
        attributes["noop_with_empty_axes"] = make.rng.choice([0, 1])
    return [make.array(shape), None if make.maybe(0.2) else make.ints(axes)], attributes, 1


def matrices(make: Maker) -> Made:
    inner = make.rng.choice([0, 1, 2, 3])
    batch = make.shape(most=2)
    a = [*make.expandable(batch), make.rng.randint(0, 3), inner]
    b = [*make.expandable(batch), inner, make.rng.randint(0, 3)]
    a = a[-1:] if make.maybe(0.1) else a
    b = b[-2:-1] if make.maybe(0.1) else b
    if make.operator == "MatMul":
        return [make.array(a, "float32"), make.array(b, "float32")], {}, 1
    x, y = make.array(a, "uint8"), make.array(b, "uint8")
    if make.operator == "MatMulInteger":
        return [x, y], {}, 1
    scale, zero = np.array(0.5, np.float32), np.array(1, np.uint8)
    return [x, scale, zero, y, scale, zero, scale, zero], {}, 1


def general_product(make: Maker) -> Made:
    rows, inner, columns = (make.rng.choice([0, 1, 2, 3]) for _ in range(3))
    turned = [make.rng.choice([0, 1]) for _ in range(2)]
    a = [inner, rows] if turned[0] else [rows, inner]
    b = [columns, inner] if turned[1] else [inner, columns]
    c = make.rng.choice([[columns], [rows, columns], [1], [rows, 1]])
    bias = [] if make.version >= 11 and make.maybe() else [make.array(c, "float32")]
    attributes = {"transA": turned[0], "transB": turned[1], "alpha": 0.5}
    return [make.array(a, "float32"), make.array(b, "float32"), *bias], attributes, 1


def windows(make: Maker) -> Made:
    rank = make.rng.randint(1, 3)
    kernel = [make.rng.choice([1, 2, 3]) for _ in range(rank)]
    attributes: Attributes = {"kernel_shape": kernel}
    if make.maybe():
        attributes["strides"] = [make.rng.choice([1, 2, 3]) for _ in range(rank)]
    if make.maybe(0.4):
        attributes["dilations"] = [make.rng.choice([1, 2]) for _ in range(rank)]
    if make.maybe(0.4):
        attributes["pads"] = [make.rng.choice([0, 1]) for _ in range(2 * rank)]
    elif make.maybe(0.4):
        modes = ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]
        attributes["auto_pad"] = make.rng.choice(modes)
    if make.maybe(0.3):
        attributes["ceil_mode"] = make.rng.choice([0, 1])
    size = [0, 1, 2, 3, 4, 5, 6, 7] if make.maybe(0.3) else [4, 5, 6, 7]
    spatial = [make.rng.choice(size) for _ in range(rank)]
    batch = make.rng.choice([1, 2, 0])
    if not make.operator.startswith("Conv"):
        x = make.array([batch, make.rng.choice([1, 2]), *spatial], "float32")
        return [x], attributes, 2 if make.operator == "MaxPool" and make.maybe(0.3) else 1
    group = make.rng.choice([1, 1, 2])
    inside, outside = (group * make.rng.choice([1, 2]) for _ in range(2))
    if make.operator != "ConvTranspose":
        filters = [outside, inside // group, *kernel]
    else:
        filters = [inside, outside // group, *kernel]
        if make.maybe(0.3):
            attributes["output_padding"] = [make.rng.choice([0, 1]) for _ in range(rank)]
    if make.maybe(0.3):
        del attributes["kernel_shape"]
    bias = [make.array([outside], "float32")] if make.maybe(0.3) else []
    x = make.array([batch, inside, *spatial], "float32")
    return [x, make.array(filters, "float32"), *bias], attributes | {"group": group}, 1


def integer_windows(make: Maker) -> Made:
    (image, filters, *_), attributes, _ = windows(make)
    inputs = [make.array(x.shape, "uint8") for x in (image, filters) if x is not None]
    return inputs, attributes, 1


def recurrent(make: Maker) -> Made:
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[make.operator]
    steps, batch, features, hidden = (make.rng.choice([1, 2, 3]) for _ in range(4))
    direction = make.rng.choice(["forward", "reverse", "bidirectional"])
    count = 2 if direction == "bidirectional" else 1
    inputs: list[Array | None] = [
        make.array([steps if make.maybe(0.9) else 0, batch, features], "float32"),
        make.array([count, gates * hidden, features], "float32"),
        make.array([count, gates * hidden, hidden], "float32"),
    ]
    if make.maybe():
        lengths = np.array([make.rng.randint(0, steps) for _ in range(batch)], np.int32)
        state = [count, batch, hidden]
        others = [make.array([count, 2 * gates * hidden], "float32"), lengths]
        others += [make.array(state, "float32") for _ in range(2 if gates == 4 else 1)]
        if gates == 4:
            others.append(make.array([count, 3 * hidden], "float32"))
        inputs += [each if make.maybe(0.7) else None for each in others]
    attributes: Attributes = {"hidden_size": hidden, "direction": direction}
    if make.maybe():
        known = _FUNCTIONS[make.operator]
        attributes["activations"] = [n for _ in range(count) for n in make.rng.choice(known)]
    if make.maybe(0.2):
        attributes["clip"] = make.rng.choice([0.1, 1.0, 9.0])
    flag = {"GRU": "linear_before_reset", "LSTM": "input_forget"}.get(make.operator)
    if flag and make.maybe(0.3):
        attributes[flag] = 1
    if make.maybe(0.1):
        attributes["layout"] = 1
    return inputs, attributes, make.rng.randint(1, 3 if make.operator == "LSTM" else 2)


_FUNCTIONS = {
    "GRU": [["Sigmoid", "Tanh"]],
    "LSTM": [["Sigmoid", "Tanh", "Tanh"], ["Relu", "Tanh", "Tanh"]],
    "RNN": [["Tanh"]],
}
"""What a direction computes with, of which something is known."""


def spectrum(make: Maker) -> Made:
    steps = make.rng.randint(4, 8)
    if make.operator == "STFT":
        length, step = make.rng.randint(1, 5), make.rng.randint(1, 3)
        given = make.rng.choice(["window", "length", "both"])
        window = None if given == "length" else make.array([length], "float32")
        last = [np.array(length, np.int64)] if given != "window" else []
        inputs = [make.array([2, steps, 1], "float32"), np.array(step, np.int64), window, *last]
        return inputs, {"onesided": make.rng.choice([0, 1])} if make.rng.random() < 0.7 else {}, 1
    attributes = {"axis": 1, "onesided": make.rng.choice([0, 1])}
    return [make.array([2, steps, make.rng.choice([1, 2])], "float32")], attributes, 1


def resized(make: Maker) -> Made:
    shape = [1, 1, make.rng.randint(1, 25), make.rng.randint(1, 25)]
    scales = np.array([1, 1, make.rng.choice([1, 2, 0.5, 0.3]), 2], np.float32)
    if make.maybe():
        scales[2:] = [make.rng.uniform(0.2, 4), make.rng.randint(1, 60) / 7]
    x = make.array(shape, "float32")
    attributes = {"mode": make.rng.choice(["nearest", "linear"])}
    if make.operator == "Upsample" and make.version < 9:
        return [x], attributes | {"scales": [float(s) for s in scales]}, 1
    if make.version < 11:
        return [x, scales], attributes, 1
    if make.version >= _RESIZE_OF_AXES:
        attributes["axes"] = make.rng.choice([[0, 1, 2, 3], [0, 1, 2, 3], [1, 0, 2, 3], [2, 3]])
        attributes["keep_aspect_ratio_policy"] = make.rng.choice(
            ["stretch", "stretch", "not_larger", "not_smaller"]
        )
        scales = scales[-len(attributes["axes"]) :]
    region = np.zeros(0, np.float32) if make.version < 13 else None
    if make.maybe():
        no_scales = None if region is None else region
        return [x, region, no_scales, make.ints([1, 1, 3, 5][-len(scales) :])], attributes, 1
    return [x, region, scales], attributes, 1


def summed_products(make: Maker) -> Made:
    sizes = {letter: make.rng.choice([0, 1, 2, 3]) for letter in "ijkl"}
    terms = [make.rng.sample("ijkl", make.rng.randint(1, 3)) for _ in range(make.rng.randint(1, 3))]
    letters = sorted({letter for term in terms for letter in term})
    result = make.rng.sample(letters, make.rng.randint(0, len(letters)))
    shapes = [[1 if make.maybe(0.1) else sizes[letter] for letter in term] for term in terms]
    arrow = " -> " if make.maybe(0.9) else ""
    equation = ", ".join(map("".join, terms)) + arrow + "".join(result if arrow else ())
    dtype = make.dtype()
    return [make.array(shape, dtype) for shape in shapes], {"equation": equation}, 1


_MAKERS: Mapping[str, Callable[[Maker], Made]] = {
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
    **{name: reduced for name in RULES if name.startswith(("Reduce", "Arg"))},
    **dict.fromkeys(("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"), windows),
    "ConvInteger": integer_windows,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), recurrent),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), matrices),
    **dict.fromkeys(("DFT", "STFT"), spectrum),
    "Einsum": summed_products,
    "Gemm": general_product,
    **dict.fromkeys(("Resize", "Upsample"), resized),
    **LAYOUT,
}
"""How nodes of operators are made that are not `like_first`."""

_MISUSED = 0.1
"""How many of the nodes have an attribute of a value that may not be the document's."""


@dataclass(frozen=True)
class NodeCase:
    """A node and what it is run with.

    Attributes:
        operator: Its operator.
        opset: The version of the standard operators.
        inputs: One tensor for each input; None for one that is left out.
        attributes: Its attributes.
        outputs: The number of its outputs.
    """

    operator: str
    opset: int
    inputs: Inputs
    attributes: Attributes = field(default_factory=dict)
    outputs: int = 1

    def model(
        self,
        names: Sequence[str],
        inputs: Sequence[onnx.ValueInfoProto],
        constants: Sequence[onnx.TensorProto],
        before: Sequence[onnx.NodeProto] = (),
    ) -> onnx.ModelProto:
        """A model whose outputs are of the types that the schema tells, and of any shape.

        Args:
            names: What the node reads in the places of its inputs; empty for what is left out.
            inputs: The inputs of the model.
            constants: Its initializers.
            before: Nodes in front of the node.
        """
        read = list(names)
        while read and not read[-1]:
            read.pop()
        results = [f"y{index}" for index in range(self.outputs)]
        node = helper.make_node(self.operator, read, results)
        schema = defs.get_schema(self.operator, self.opset)
        for name, value in self.attributes.items():
            kind = schema.attributes[name].type.value
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph([*before, node], "case", inputs, outputs, constants)
        imports = [helper.make_opsetid("", self.opset)]
        ir_version = min(10, helper.find_min_ir_version_for(imports, ignore_unknown=True) + 3)
        model = helper.make_model(graph, opset_imports=imports, ir_version=max(ir_version, 8))
        model = onnx.shape_inference.infer_shapes(model)
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        return model


def random_case(rng: random.Random, operator: str) -> NodeCase:
    """Make a node of an operator."""
    version = rng.choice(believed_versions(operator))
    # Kernels begin at version 7 for most operators.
    opset = max(version, min(7, _next_version(operator, version) - 1))
    maker = Maker(rng, operator, version)
    inputs, attributes, outputs = _MAKERS.get(operator, like_first)(maker)
    schema = defs.get_schema(operator, version)
    attributes = {k: v for k, v in attributes.items() if k in schema.attributes}
    if rng.random() < _MISUSED:
        _misuse(rng, schema, attributes)
    return NodeCase(operator, opset, inputs, attributes, outputs)


def _versions() -> Mapping[str, Sequence[int]]:
    versions: dict[str, list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain:
            versions.setdefault(schema.name, []).append(schema.since_version)
    return {name: sorted(since) for name, since in versions.items()}


VERSIONS = _versions()
"""The versions of each standard operator, oldest first."""


def believed_versions(operator: str) -> list[int]:
    """The versions of an operator of which something is believed, oldest first."""
    first, last = RULES[operator].since
    return [version for version in VERSIONS[operator] if first <= version <= last]


def _next_version(operator: str, version: int) -> int:
    return next((later for later in VERSIONS[operator] if later > version), 1000)


def _misuse(rng: random.Random, schema: Any, attributes: Attributes) -> None:
    """Leave an attribute out, or give it another value."""
    names = [n for n, a in schema.attributes.items() if a.type in (_INT, _INTS)]
    if not names:
        return
    name = rng.choice(names)
    if schema.attributes[name].type == _INT:
        attributes[name] = rng.choice([-2, -1, 0, 1, 2])
    elif isinstance(attributes.get(name), list) and attributes[name]:
        values = list(attributes[name])
        values[rng.randrange(len(values))] = rng.choice([-1, 0, 1, 2, 3])
        attributes[name] = values
    if rng.random() < 1 / 3:
        attributes.pop(name, None)

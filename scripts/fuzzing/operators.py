"""Nodes of any operator and version, made from the schemas of the onnx package."""

import random
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from fuzzing.numbers import any_integer

_DOMAINS = ("", "ai.onnx.ml")
_SCHEMAS = sorted(
    (s for s in defs.get_all_schemas_with_history() if s.domain in _DOMAINS and not s.deprecated),
    key=lambda schema: (schema.domain, schema.name, schema.since_version),
)
_TYPES = {f"tensor({name.lower()})": number for name, number in onnx.TensorProto.DataType.items()}
_TEXTS = (
    *("", "a", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "ij,jk->ik", "...i,i...", "linear"),
    *("float", "bidirectional", "reverse", "DCR", "mean", "none", "constant", "LEFT"),
)
_SIZES = (0, 1, 1, 2, 2, 3, 4, 5)
_CONSTANT_SHAPES: Sequence[tuple[int, ...]] = ((), (0,), (1,), (1,), (2,), (3,), (4,), (2, 2))
_FLOATS = (0.0, 1.0, -1.0, 0.5, 1e30, float("nan"), float("inf"))


def random_operator_model(rng: random.Random) -> onnx.ModelProto:
    """Make a model of one node of any operator, with a Div behind its first output.

    Args:
        rng: Chooses.
    """
    schema = rng.choice(_SCHEMAS)
    node = onnx.NodeProto(op_type=schema.name, domain=schema.domain)
    node.attribute.extend(_attributes(rng, schema))
    inputs, constants = _operands(rng, schema, node)
    count = rng.randint(schema.min_output, max(schema.min_output, min(schema.max_output, 4)))
    node.output.extend(f"y{index}" for index in range(max(1, count)))
    imports = {"": schema.since_version if not schema.domain else 17}
    if schema.domain:
        imports[schema.domain] = schema.since_version
    nodes = [node]
    if rng.random() < 2 / 3:
        kind = _TYPES.get(rng.choice(("tensor(float)", "tensor(int64)")), 1)
        inputs.append(helper.make_tensor_value_info("divisor", kind, _shape(rng)))
        nodes.append(helper.make_node("Div", [node.output[0], "divisor"], ["quotient"]))
    graph = helper.make_graph(nodes, "graph", inputs, [], constants)
    for name in nodes[-1].output:
        graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    versions = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    return helper.make_model(graph, ir_version=8, opset_imports=versions)


def random_attribute(
    rng: random.Random, name: str, kind: defs.OpSchema.AttrType
) -> onnx.AttributeProto | None:
    """Make an attribute of any value.

    Args:
        rng: Chooses.
        name: Its name.
        kind: Its type; None is given for graphs and the like.
    """
    kinds = defs.OpSchema.AttrType
    attribute = onnx.AttributeProto(name=name)
    match kind:
        case kinds.INT:
            attribute.type, attribute.i = onnx.AttributeProto.INT, any_integer(rng)
        case kinds.INTS:
            attribute.type = onnx.AttributeProto.INTS
            attribute.ints.extend(any_integer(rng) for _ in range(rng.randint(0, 5)))
        case kinds.FLOAT:
            attribute.type, attribute.f = onnx.AttributeProto.FLOAT, rng.choice(_FLOATS)
        case kinds.FLOATS:
            attribute.type = onnx.AttributeProto.FLOATS
            attribute.floats.extend(rng.choice(_FLOATS) for _ in range(rng.randint(0, 4)))
        case kinds.STRING:
            attribute.type = onnx.AttributeProto.STRING
            attribute.s = rng.choice(_TEXTS).encode()
        case kinds.STRINGS:
            attribute.type = onnx.AttributeProto.STRINGS
            attribute.strings.extend(rng.choice(_TEXTS).encode() for _ in range(rng.randint(0, 4)))
        case kinds.TENSOR:
            attribute.type = onnx.AttributeProto.TENSOR
            element_type = rng.choice((onnx.TensorProto.FLOAT, onnx.TensorProto.INT64))
            attribute.t.CopyFrom(_constant(rng, "t", element_type))
        case _:
            return None
    return attribute


def _attributes(rng: random.Random, schema: defs.OpSchema) -> list[onnx.AttributeProto]:
    chosen = (
        random_attribute(rng, name, attribute.type)
        for name, attribute in schema.attributes.items()
        if attribute.required or rng.random() < 1 / 2
    )
    return [attribute for attribute in chosen if attribute is not None]


def _operands(
    rng: random.Random, schema: defs.OpSchema, node: onnx.NodeProto
) -> tuple[list[onnx.ValueInfoProto], list[onnx.TensorProto]]:
    """Give a node inputs of allowed types: those of the graph, and its initializers."""
    options = defs.OpSchema.FormalParameterOption
    parameters = list(schema.inputs)
    if parameters and parameters[-1].option == options.Variadic:
        parameters += [parameters[-1]] * rng.randint(0, 3)
    chosen = _types(rng, schema)
    inputs, constants = [], []
    for index, parameter in enumerate(parameters):
        kind = _TYPES.get(chosen.get(parameter.type_str, parameter.type_str))
        if kind is None or (parameter.option == options.Optional and rng.random() < 1 / 3):
            node.input.append("")
            continue
        name = f"x{index}"
        node.input.append(name)
        if index and rng.random() < 1 / 2 and kind != onnx.TensorProto.STRING:
            constants.append(_constant(rng, name, kind))
        else:
            inputs.append(helper.make_tensor_value_info(name, kind, _shape(rng)))
    while node.input and not node.input[-1]:
        node.input.pop()
    return inputs, constants


def _types(rng: random.Random, schema: defs.OpSchema) -> dict[str, str]:
    """A type for each parameter of types; float and int64 come before others."""
    chosen = {}
    for constraint in schema.type_constraints:
        known = [kind for kind in constraint.allowed_type_strs if kind in _TYPES]
        usual = [kind for kind in known if kind in ("tensor(float)", "tensor(int64)")]
        if known:
            chosen[constraint.type_param_str] = rng.choice(
                usual if usual and rng.random() < 2 / 3 else known
            )
    return chosen


def _shape(rng: random.Random) -> list[int | str | None] | None:
    if rng.random() < 1 / 10:
        return None
    sizes = [rng.choice(_SIZES) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 5)))]
    return [
        rng.choice((None, "n", any_integer(rng))) if rng.random() < 1 / 5 else size
        for size in sizes
    ]


def _constant(rng: random.Random, name: str, kind: int) -> onnx.TensorProto:
    shape = rng.choice(_CONSTANT_SHAPES)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    count = int(np.prod(shape))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        elements = [any_integer(rng, int(limits.min), int(limits.max)) for _ in range(count)]
    else:
        elements = [rng.randint(0, 3) for _ in range(count)]
    return numpy_helper.from_array(np.array(elements).astype(dtype).reshape(shape), name)

"""Models of each operator of onnx that have one attribute, constant or size at an extreme."""

import functools
import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import (
    AttributeProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    defs,
    helper,
    numpy_helper,
)

from fuzzing.attempt import analyze
from fuzzing.child import limit
from sonnx_ort.backends import Backend

VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))
"""What models are made of and mutated to."""

EXTREME, FLOATS, _TEXTS = (VOCABULARY[name] for name in ("extreme", "floats", "texts"))
_LONG_TEXTS = [*_TEXTS, "x" * 5000, "...", "i..j"]
_LONG_RANK = (1,) * 100
_OLDEST = 17
"""The version of the standard operators, where none needs a later one."""

_MOST_OUTPUTS = 4

_SCALARS: dict[int, Sequence[Any]] = {
    AttributeProto.INT: EXTREME,
    AttributeProto.FLOAT: FLOATS,
    AttributeProto.STRING: _LONG_TEXTS,
}
_LISTS: dict[int, int] = {
    AttributeProto.INTS: AttributeProto.INT,
    AttributeProto.FLOATS: AttributeProto.FLOAT,
    AttributeProto.STRINGS: AttributeProto.STRING,
}
_USUAL: dict[int, Sequence[Any]] = {
    AttributeProto.INT: (0, 1, 1, 2, -1),
    AttributeProto.INTS: ([1], [1, 1], [0], [2, 2], [1] * 4),
    AttributeProto.FLOAT: (0.5, 1.0),
    AttributeProto.FLOATS: ([1.0], [1.0, 0.5]),
    AttributeProto.STRING: _TEXTS,
    AttributeProto.STRINGS: (["a"], ["a", "b"]),
    AttributeProto.TENSOR: (((1,), 1), ((3,), 2)),
}
"""Values of attributes, and shapes and elements of tensors, with which a node may be right."""

_SHAPES = [[size] for size in EXTREME if size > 0]
_SHAPES += [[2**31] * 4, [2**62, 4], [2**63 - 1, 0], [0], list(_LONG_RANK), [10**6], [10**6, 10**6]]
_TYPES = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()}
_USUAL_TYPES = ("tensor(float)", "tensor(int64)", "tensor(int32)", "tensor(bool)")


@dataclass(frozen=True, slots=True)
class Extreme:
    """What is extreme about a model: an attribute's value, a constant, or the sizes of an input.

    `place` is the name of an attribute or the index of an input. The value of a constant is its
    shape with the element that all have; that of an input is its shape.
    """

    schema: defs.OpSchema
    place: str | int
    value: Any
    constant: bool = False

    def __str__(self) -> str:
        """Name the operator, the place and the value."""
        return f"{self.schema.name}-{self.schema.since_version}, {self.place}: {self.value!r:.80}"


def extremes() -> Iterator[Extreme]:
    """Each operator of onnx, attribute by attribute and input by input."""
    schemas = (schema for schema in defs.get_all_schemas() if not schema.deprecated)
    for schema in sorted(schemas, key=lambda each: (each.domain, each.name)):
        yield from extremes_of(schema)


def extremes_of(schema: defs.OpSchema) -> Iterator[Extreme]:
    """Those of one version of an operator."""
    for name, attribute in schema.attributes.items():
        yield from (Extreme(schema, name, value) for value in values_of(attribute.type))
    for index, parameter in enumerate(schema.inputs):
        texts = _LONG_TEXTS if "tensor(string)" in parameter.types else []
        constants = _constants([*EXTREME, *FLOATS, *texts])
        yield from (Extreme(schema, index, value, constant=True) for value in constants)
        yield from (Extreme(schema, index, shape) for shape in _SHAPES)


def values_of(kind: defs.OpSchema.AttrType) -> list[Any]:
    """Extreme values of an attribute of a type; those of a tensor are its shape and element."""
    return list(_values(_number(kind)))


def with_attribute(node: NodeProto, name: str, kind: defs.OpSchema.AttrType, value: Any) -> None:
    """Give a node an attribute of a type, with a value such as `values_of` gives."""
    number = _number(kind)
    made = _tensor(name, 1, *value) if number == AttributeProto.TENSOR else value
    node.attribute.append(helper.make_attribute(name, made, attr_type=number))


def _number(kind: defs.OpSchema.AttrType) -> int:
    return int(AttributeProto.AttributeType.Value(str(kind).rpartition(".")[2]))


def _values(kind: int) -> Iterator[Any]:
    yield from _SCALARS.get(kind, ())
    if kind == AttributeProto.TENSOR:
        yield from _constants([*EXTREME, *FLOATS])
    if kind in _LISTS:
        extreme, (usual, *_) = _SCALARS[_LISTS[kind]], _USUAL[_LISTS[kind]]
        yield from ([], [usual] * 100)
        for value in extreme:
            yield from ([value], [usual, value], [value] * 4)


def _constants(elements: Sequence[Any]) -> Iterator[tuple[tuple[int, ...], Any]]:
    yield from (((0,), 1), ((0, 2**40), 1), (_LONG_RANK, 1), ((), 2**62), ((10**5,), 1))
    for element in elements:
        yield from (((1,), element), ((4,), element))


def extreme_model(extreme: Extreme, seed: int) -> ModelProto:
    """A model of one node with this extreme, and usual values elsewhere; its result is read."""
    draw = random.Random(f"{extreme} {seed}")  # noqa: S311 - no cryptography
    schema = extreme.schema
    node = NodeProto(op_type=schema.name, domain=schema.domain)
    for name, attribute in schema.attributes.items():
        usual = _USUAL.get(_number(attribute.type))
        value = extreme.value if name == extreme.place else None
        if value is None and usual and (attribute.required or draw.random() < 0.3):
            value = draw.choice(usual)
        if value is not None:
            with_attribute(node, name, attribute.type, value)
    inputs, constants = _operands(extreme, node, draw)
    most = max(schema.min_output, min(schema.max_output, _MOST_OUTPUTS))
    count = draw.randint(schema.min_output, most)
    node.output.extend(f"y{i}" for i in range(max(1, count)))
    readers = [("Div", ["y0", "y0"]), ("Shape", ["y0"]), ("ConstantOfShape", ["y0"])]
    operator, operands = draw.choice([*readers, ("Reshape", [(*node.input, "y0")[0], "y0"])])
    nodes = [node, helper.make_node(operator, operands, ["z"])]
    results = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "graph", inputs, results, constants)
    versions = {"": _OLDEST}
    versions[schema.domain] = max(schema.since_version, versions.get(schema.domain, 1))
    imports = [helper.make_opsetid(*version) for version in versions.items()]
    return helper.make_model(graph, ir_version=10, opset_imports=imports)


def _operands(
    extreme: Extreme, node: NodeProto, draw: random.Random
) -> tuple[list[Any], list[Any]]:
    """Give a node inputs of allowed types: those of the graph, and its initializers."""
    chosen = {}
    for constraint in extreme.schema.type_constraints:
        usual = [kind for kind in constraint.allowed_type_strs if kind in _USUAL_TYPES]
        some = usual if usual and draw.random() < 0.8 else constraint.allowed_type_strs
        chosen[constraint.type_param_str] = draw.choice(list(some))
    common = [draw.choice((1, 2, 3, 4, "n")) for _ in range(draw.choice((0, 1, 1, 2, 3, 4)))]
    options, parameters = defs.OpSchema.FormalParameterOption, list(extreme.schema.inputs)
    if parameters and parameters[-1].option == options.Variadic:
        parameters += [parameters[-1]] * draw.randint(0, 3)
    inputs, constants = [], []
    for index, parameter in enumerate(parameters):
        kind, name = chosen.get(parameter.type_str, parameter.type_str), f"x{index}"
        is_extreme = index == extreme.place
        optional = parameter.option == options.Optional
        if optional and not is_extreme and draw.random() < 0.5:
            node.input.append("")
            continue
        node.input.append(name)
        constant = extreme.constant if is_extreme else index and draw.choice((True, False))
        value = draw.choice((((1,), 1), ((2,), 1), ((), 1), ((4,), 2))) if constant else common
        value = extreme.value if is_extreme else value
        if constant and kind in _TYPES:
            constants.append(_tensor(name, _TYPES[kind], *value))
        else:
            shape = common if constant else list(value)
            inputs.append(helper.make_value_info(name, _type(kind, shape)))
    while node.input and not node.input[-1]:
        node.input.pop()
    return inputs, constants


def _tensor(name: str, kind: int, shape: tuple[int, ...], element: Any) -> TensorProto:
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    if dtype.kind == "O" or isinstance(element, str):
        element = str(element) if dtype.kind == "O" else 1
    elif dtype.kind in "iub":
        limits = np.iinfo(dtype if dtype.kind != "b" else np.uint8)
        element = max(int(limits.min), min(int(limits.max), int(np.nan_to_num(element))))
    count = int(np.prod(shape))
    with np.errstate(all="ignore"):
        elements = np.array([element] * count, object if dtype.kind == "O" else None).astype(dtype)
    tensor = numpy_helper.from_array(elements, name)
    # An array cannot have as many axes as a tensor.
    tensor.dims[:] = shape
    return tensor


def _type(kind: str, shape: list[Any]) -> TypeProto:
    """A type of a schema: "seq(tensor(float))"."""
    outer, _, inner = kind.removesuffix(")").partition("(")
    match outer:
        case "seq":
            return helper.make_sequence_type_proto(_type(inner, shape))
        case "optional":
            return helper.make_optional_type_proto(_type(inner, shape))
        case "map":
            key, _, value = inner.partition(",")
            of_values = _type(f"tensor({value.strip()})", shape)
            return helper.make_map_type_proto(_TYPES[f"tensor({key})"], of_values)
        case "sparse_tensor":
            return helper.make_sparse_tensor_type_proto(_TYPES[f"tensor({inner})"], shape)
    return helper.make_tensor_type_proto(_TYPES[kind], shape)


def attempt(number: int) -> dict[str, int]:
    """Analyze a model of a seed, in a fork: how often what came of it.

    Args:
        number: The index of the extreme, and as many more for each seed as there are extremes.

    Raises:
        Fault: Neither a result nor an error that is documented came of it.
    """
    limit()
    known = _known()
    extreme, seed = known[number % len(known)], number // len(known)
    content = extreme_model(extreme, seed).SerializeToString()
    backends = [random.Random(str(extreme)).choice(list(Backend))]  # noqa: S311
    outcomes = Counter[str]()
    for operators in ("default", "profile"):
        choices = {"operators": operators, "broadcast": "explicit"}
        outcomes.update(analyze(content, choices, backends, lambda _: None))
    return dict(outcomes)


@functools.cache
def _known() -> list[Extreme]:
    return list(extremes())

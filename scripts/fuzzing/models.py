"""Hypothesis strategies for models: bundled, handmade, random ones, and what mutations make."""

import functools
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st
from model_builders.graphs import parse
from onnx import defs, helper

from fuzzing.attempt import FuzzedModel
from fuzzing.extremes import (
    EXTREME,
    FLOATS,
    VOCABULARY,
    Extreme,
    extreme_model,
    extremes_of,
    values_of,
    with_attribute,
)
from sonnx_ort import models
from sonnx_ort.loading.file_traversal import all_nodes

_LARGE = 1 << 16
"""Bundled models of more bytes are omitted: a mutation would mostly meet weights."""

_HANDMADE = Path(__file__).with_name("handmade.toml")
_POOLS, _FIELDS = VOCABULARY["pools"], VOCABULARY["fields"]

_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
"""What fields hold that are integers."""

_DOMAINS = ("", "ai.onnx.ml")
_SCHEMAS = sorted(
    (s for s in defs.get_all_schemas_with_history() if s.domain in _DOMAINS and not s.deprecated),
    key=lambda schema: (schema.domain, schema.name, schema.since_version),
)


def integers(smallest: int = -(2**63), largest: int = 2**63 - 1) -> st.SearchStrategy[int]:
    """Integers of a range: mostly small ones, and those at which arithmetic goes wrong."""
    known = st.one_of(st.integers(-3, 5), st.integers(-3, 5), st.sampled_from(EXTREME))
    return known.map(lambda number: max(smallest, min(largest, number)))


@st.composite
def fuzzed_models(draw: st.DrawFn) -> FuzzedModel:
    """Mutated models of every kind, with what is asked of them."""
    model = onnx.ModelProto()
    model.CopyFrom(draw(_seeds()))
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 3)))):
        draw(st.sampled_from((_change_field, _change_field, _change_attribute, _add_claim)))(
            draw, model
        )
    content: bytes = model.SerializeToString()
    if draw(st.integers(0, 9)) == 9:
        start = draw(st.integers(0, len(content)))
        stop = start + draw(st.sampled_from((0, 1, 1, 4, 64, len(content))))
        content = content[:start] + draw(st.binary(max_size=8)) + content[stop:]
    choices = {
        "edition": draw(st.sampled_from(("typed", "typed", "preliminary"))),
        "broadcast": draw(st.sampled_from(("reject", "explicit"))),
        "operators": draw(st.sampled_from(("default", "all", "all,-Graph"))),
    }
    return FuzzedModel(content, choices, draw(st.integers(0, 2**32)))


def handmade_models() -> dict[str, onnx.ModelProto]:
    """Models in which something is cyclic, endless, enormous or nested deeply, by name."""
    texts = tomllib.loads(_HANDMADE.read_text("utf-8"))
    models = {
        name: parse(text, opset=18 if "Split" in name else 17, domains={"local": 1})
        for name, text in texts.items()
    }
    return (
        models
        | {f"nesting of {depth}": _nested(depth) for depth in (2, 10, 20, 29)}
        | {f"calls of {depth}": _called(depth) for depth in (5, 300)}
    )


def _nested(depth: int) -> onnx.ModelProto:
    """A Div in so many branches; protocol buffers can be copied to a depth of about 30."""
    made = parse("(float[2] x, bool c) => (float[2] z) { z = Div(x, x) }")
    (result,) = made.graph.output
    nodes = [helper.make_node("Div", ["x", "x"], ["z0"])]
    for level in range(depth):
        bodies = []
        for branch, body in enumerate((nodes, [helper.make_node("Relu", ["x"], [f"r{level}"])])):
            value = helper.make_tensor_value_info(body[-1].output[0], onnx.TensorProto.FLOAT, [2])
            bodies.append(helper.make_graph(body, f"body{branch}", [], [value]))
        name = f"z{level + 1}" if level < depth - 1 else result.name
        node = helper.make_node("If", ["c"], [name], then_branch=bodies[0], else_branch=bodies[1])
        nodes = [node]
    made.graph.node[0].CopyFrom(nodes[0])
    return made


def _called(depth: int) -> onnx.ModelProto:
    made = parse("(float[2] x) => (float[2] z) { z = local.f0(x) }", domains={"local": 1})
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    for number in range(depth):
        inner = helper.make_node(f"f{number + 1}", ["a"], ["b"], domain="local")
        if number == depth - 1:
            inner = helper.make_node("Div", ["a", "a"], ["b"])
        made.functions.append(
            helper.make_function("local", f"f{number}", ["a"], ["b"], [inner], imports)
        )
    return made


@functools.cache
def _seeds() -> st.SearchStrategy[onnx.ModelProto]:
    paths = (Path(models.path(name)) for name in models.names())
    bundled = [onnx.load(path) for path in paths if path.stat().st_size <= _LARGE]
    random_model = importlib.import_module("support.soundness.models").random_model
    graphs = st.randoms(use_true_random=False).map(lambda random: random_model(random).proto)
    small = st.sampled_from([*handmade_models().values()])
    return st.one_of(
        small, st.sampled_from(bundled), graphs, graphs, operator_models(), operator_models()
    )


@st.composite
def operator_models(draw: st.DrawFn) -> onnx.ModelProto:
    """Models of one node of any operator and version; one thing about most of them is extreme."""
    schema = draw(st.sampled_from(_SCHEMAS))
    usual = Extreme(schema, "", None)
    extreme = draw(st.sampled_from([usual, *extremes_of(schema)]))
    return extreme_model(draw(st.sampled_from([usual, extreme])), draw(st.integers(0, 2**32)))


def _change_attribute(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    """Give an attribute that some operator of the model has any value."""
    version = max((entry.version for entry in model.opset_import if not entry.domain), default=17)
    known = [(node, _schema(node, version)) for node in all_nodes(model)]
    having = [(node, schema) for node, schema in known if schema and schema.attributes]
    if having:
        node, schema = draw(st.sampled_from(having))
        name = draw(st.sampled_from(sorted(schema.attributes)))
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        kind = schema.attributes[name].type
        del node.attribute[:]
        node.attribute.extend(kept)
        if values := values_of(kind):
            with_attribute(node, name, kind, draw(st.sampled_from(values)))


def _schema(node: onnx.NodeProto, version: int) -> defs.OpSchema | None:
    try:
        return defs.get_schema(node.op_type, min(version, 2**31 - 1), node.domain)
    except (defs.SchemaError, TypeError):
        return None


def _add_claim(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    """Claim a type and a shape of a value inside the graph."""
    names = [name for node in model.graph.node for name in node.output]
    if names:
        kind = draw(st.sampled_from((1, 1, 6, 7, 11)))
        shape = draw(st.lists(integers(), max_size=3))
        claim = helper.make_tensor_value_info(draw(st.sampled_from(names)), kind, shape)
        model.graph.value_info.append(claim)


def _change_field(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    """Change one field of one message anywhere in the model."""
    messages = list(_messages(model))
    kinds = sorted({message.DESCRIPTOR.name for message in messages} & _FIELDS.keys())
    kind = draw(st.sampled_from((*kinds, "")))
    some = [m for m in messages if kind in {"", m.DESCRIPTOR.name}]
    message = draw(st.sampled_from(some))
    names = _FIELDS[kind] if kind else sorted(message.DESCRIPTOR.fields_by_name)
    described = message.DESCRIPTOR.fields_by_name[draw(st.sampled_from(names))]
    value = getattr(message, described.name)
    if described.is_repeated:
        _change_repeated(draw, value, described, model)
    elif draw(st.integers(0, 3)) == 3:
        message.ClearField(described.name)
    elif described.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        value.SetInParent()
    else:
        setattr(message, described.name, draw(_scalars(described, model)))


def _change_repeated(
    draw: st.DrawFn, elements: Any, described: FieldDescriptor, model: onnx.ModelProto
) -> None:
    kept = list(elements)
    place, other = (draw(st.integers(0, max(0, len(kept) - 1))) for _ in range(2))
    is_message = described.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE
    match draw(st.integers(0, 4)):
        case 0 if kept:
            del kept[place]
        case 1 if kept:
            kept.append(kept[place])
        case 2 if kept:
            kept[place], kept[other] = kept[other], kept[place]
        case 3 if kept and not is_message:
            kept[place] = draw(_scalars(described, model))
        case _:
            new = None if is_message else draw(_scalars(described, model))
            kept.append(elements.add() if is_message else new)
    del elements[:]
    elements.extend(kept)


def _scalars(described: FieldDescriptor, model: onnx.ModelProto) -> st.SearchStrategy[Any]:
    if described.name in _POOLS:
        return st.sampled_from(_POOLS[described.name])
    if described.cpp_type in _RANGES:
        return integers(*_RANGES[described.cpp_type])
    if described.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=8)
    if described.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        names = [name for node in all_nodes(model) for name in (*node.input, *node.output)]
        return st.sampled_from([*names, *names, "", "nowhere", "é", "a" * 300])
    if described.enum_type is not None:
        return st.sampled_from([value.number for value in described.enum_type.values])
    return st.sampled_from(FLOATS[:6])


def _messages(message: Message) -> Iterator[Message]:
    """A message and all messages in it."""
    pending = [message]
    while pending:
        current = pending.pop()
        yield current
        for described, value in current.ListFields():
            if described.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                pending.extend(value if described.is_repeated else [value])

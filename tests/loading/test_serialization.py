"""What the graph library does not know, and metadata, come out as they went in."""

from collections.abc import Callable, Iterator

import onnx
import onnx_ir as ir
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.file_traversal import all_graphs, all_nodes
from sonnx_ort.loading.serialization import deserialize, deserialize_type, serialize
from support.backends import on_each_backend
from support.graphs import model, parse, tensor

FLOATS = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [3])
SCORES = helper.make_map_type_proto(onnx.TensorProto.INT64, FLOATS)
NESTED = helper.make_map_type_proto(onnx.TensorProto.STRING, SCORES)
HANDLE = onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="own", name="handle"))
DENOTED = onnx.TypeProto(denotation="SCORES", map_type=SCORES.map_type)
SPARSE = helper.make_sparse_tensor_type_proto(onnx.TensorProto.FLOAT, [3])

TYPES = {
    "map": SCORES,
    "map with a denotation": DENOTED,
    "map of maps": NESTED,
    "sequence of maps": helper.make_sequence_type_proto(SCORES),
    "optional map": helper.make_optional_type_proto(SCORES),
    "map of sequences of maps": helper.make_map_type_proto(
        onnx.TensorProto.UINT8, helper.make_sequence_type_proto(NESTED)
    ),
    "opaque": HANDLE,
    "sequence of opaque": helper.make_sequence_type_proto(HANDLE),
    "sequence": helper.make_sequence_type_proto(FLOATS),
    "optional sequence": helper.make_optional_type_proto(helper.make_sequence_type_proto(FLOATS)),
    "sparse tensor": SPARSE,
    "map of sparse tensors": helper.make_map_type_proto(onnx.TensorProto.INT64, SPARSE),
}
each_type = pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)


def declared(name: str, kind: onnx.TypeProto) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name, type=kind)


def making(output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node("Make", ["x"], [output], domain="own", name=output, **attributes)


def as_input(kind: onnx.TypeProto) -> onnx.ModelProto:
    read = helper.make_node("Read", ["value"], ["y"], domain="own")
    return with_division(read, inputs=[declared("value", kind)])


def as_output(kind: onnx.TypeProto) -> onnx.ModelProto:
    return with_division(making("value"), outputs=[declared("value", kind)])


def between(kind: onnx.TypeProto) -> onnx.ModelProto:
    return with_division(making("value"), value_info=[declared("value", kind)])


def in_a_function(kind: onnx.TypeProto) -> onnx.ModelProto:
    opset = [helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "Call", ["x"], ["value"], [making("value")], opset)
    function.value_info.append(declared("value", kind))
    call = helper.make_node("Call", ["x"], ["y"], domain="own")
    return with_division(call, functions=[function])


def in_a_subgraph(kind: onnx.TypeProto) -> onnx.ModelProto:
    body = helper.make_graph(
        [making("inner"), making("result")],
        "body",
        [],
        [declared("result", kind)],
        value_info=[declared("inner", kind)],
    )
    return with_division(making("value", body=body))


def as_an_attribute(kind: onnx.TypeProto) -> onnx.ModelProto:
    return with_division(making("value", one=kind, many=[FLOATS, kind]))


def as_a_parameter(kind: onnx.TypeProto) -> onnx.ModelProto:
    made = in_a_function(kind)
    made.functions[0].attribute_proto.append(helper.make_attribute("kind", kind))
    return made


PLACES = [
    as_input,
    as_output,
    between,
    in_a_function,
    in_a_subgraph,
    as_an_attribute,
    as_a_parameter,
]


_DECLARES_IN_FUNCTIONS = 10
"""The version of the file format in which a function declares types."""


def with_division(node: onnx.NodeProto, **parts: list[object]) -> onnx.ModelProto:
    """A model in which there is something to enforce, and this node."""
    x, z = tensor("x", "float", ["n"]), tensor("z", "float", ["n"])
    inputs, outputs = parts.pop("inputs", []), parts.pop("outputs", [])
    return model(
        [helper.make_node("Div", ["x", "x"], ["z"], name="ratio"), node],
        [x, *inputs],  # type: ignore[list-item]
        [z, *outputs],  # type: ignore[list-item]
        domains={"own": 1},
        ir_version=_DECLARES_IN_FUNCTIONS,
        **parts,  # type: ignore[arg-type]
    )


@each_type
@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.__name__))
def test_type_is_the_same_afterwards(
    kind: onnx.TypeProto, place: Callable[[onnx.TypeProto], onnx.ModelProto]
) -> None:
    made = place(kind)
    before = made.SerializeToString()
    assert serialize(deserialize(made)) == made
    assert made.SerializeToString() == before


@on_each_backend
@pytest.mark.parametrize("place", PLACES[:-1], ids=lambda place: str(place.__name__))
def test_type_is_the_same_in_the_enforced_model(
    place: Callable[[onnx.TypeProto], onnx.ModelProto],
) -> None:
    made = place(TYPES["map of sequences of maps"])
    assert declarations(sonnx_ort.rewrite(made)) == declarations(made)


def declarations(made: onnx.ModelProto) -> set[bytes]:
    """What is declared of values that are no tensors, and what has types as attributes."""
    graphs = all_graphs(made)
    values = [v for g in graphs for v in (*g.input, *g.value_info, *g.output)]
    values += [value for function in made.functions for value in function.value_info]
    nodes = [node for graph in graphs for node in graph.node if node.op_type == "Make"]
    return {
        part.SerializeToString()
        for part in (*nodes, *(v for v in values if not v.type.HasField("tensor_type")))
    }


def test_map_of_sparse_tensors_is_sparse() -> None:
    told = deserialize_type(TYPES["map of sparse tensors"])
    expected = ir.OptionalType(ir.SparseTensorType(ir.DataType.FLOAT))
    assert (told.type, told.shape) == (expected, None)


def test_denotation_that_stands_for_types_is_refused() -> None:
    made = as_input(onnx.TypeProto(denotation="sonnx_ort.type:", tensor_type=FLOATS.tensor_type))
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        sonnx_ort.check(made, operators="default")
    assert str(refused.value) == (
        "the denotation of a type begins with 'sonnx_ort.type:', which has a meaning in this "
        "package; give it another"
    )


def test_sequence_and_map_are_known_as_no_tensors() -> None:
    made = parse(
        """(float[n,3] x) => (float[n,3] z) {
            z = Div(x, x) pairs = SplitToSequence(x)
            labelled = ai.onnx.ml.ZipMap<classlabels_int64s = [1, 2, 3]>(x)
        }""",
        domains={"ai.onnx.ml": 3},
    )
    explicit = sonnx_ort.rewrite(made, make_explicit=True, backend="native")
    kinds = {value.name: value.type.WhichOneof("value") for value in explicit.graph.value_info}
    assert kinds["pairs"] == kinds["labelled"] == "sequence_type"


def annotated() -> onnx.ModelProto:
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 20, "local": 1]>
        g (bool p, float[n] x) => (float[n] z) <float[1] w = {1}> {
            [divide] y = Div(x, x)
            [chosen] v = If(p) <
                then_branch = t () => (float[n] o) <float[1] u = {2}> { [inner] o = Mul(y, u) },
                else_branch = e () => (float[n] k) { [other] k = local.f(y) }
            >
            [constant] c = Constant<value = float[1] {3}>()
            s = Add(w, c)
            z = Mul(v, s)
        }
        <domain: "local", opset_import: ["": 20]> f (a) => (b) { [inside] b = Neg(a) }""")
    made.graph.value_info.append(helper.make_tensor_value_info("y", 1, ["n"]))
    for name, part in parts(made):
        for key in ("source", "reviewed by"):
            part.metadata_props.add(key=key, value=f"{key} of {name}")
    return made


def parts(made: onnx.ModelProto) -> Iterator[tuple[str, object]]:
    """Everything in a model that has metadata, with its name."""
    yield "model", made
    yield "graph", made.graph
    yield "input x", made.graph.input[1]
    yield "output z", made.graph.output[0]
    for value in made.graph.value_info:
        yield f"value {value.name}", value
    for stored in made.graph.initializer:
        yield f"initializer {stored.name}", stored
    for function in made.functions:
        yield f"function {function.name}", function
    for node in all_nodes(made):
        yield f"node {node.name}", node
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield f"constant of {node.name}", attribute.t
            for stored in attribute.g.initializer:
                yield f"initializer {stored.name}", stored
            if attribute.HasField("g"):
                yield f"branch {attribute.g.name}", attribute.g


def metadata(made: onnx.ModelProto) -> dict[str, list[tuple[str, str]]]:
    return {
        name: sorted((e.key, e.value) for e in part.metadata_props if "sonnx" not in e.key)
        for name, part in parts(made)
        if not name.startswith("node ") or name.removeprefix("node ") in KEPT
    }


KEPT = ("inner", "constant", "chosen")
"""The nodes that nothing replaces."""


def held_to(original: onnx.ModelProto, made: onnx.ModelProto) -> None:
    before, after = metadata(original), metadata(made)
    kept = [name for name in before if not (name == "function f" and not made.functions)]
    assert {name: after.get(name) for name in kept} == {name: before[name] for name in kept}


@on_each_backend
def test_rewritten_model(backend: str) -> None:
    original = annotated()
    once = sonnx_ort.rewrite(original, backend=backend)
    held_to(original, once)
    assert sonnx_ort.rewrite(once, backend=backend) == once


def test_conformed_model() -> None:
    original = annotated()
    original.graph.input[1].type.tensor_type.shape.Clear()
    held_to(original, sonnx_ort.conform(original).model)


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_model_of_the_graph_library(backend: str) -> None:
    original = annotated()
    made = sonnx_ort.rewrite(ir.from_proto(original), backend=backend)
    assert isinstance(made, ir.Model)
    weights = made.graph.initializers["w"].const_value
    assert weights is not None
    assert weights.metadata_props == dict(metadata(original)["initializer w"])

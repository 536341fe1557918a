"""Types that the graph library does not know, such as maps, come out as they went in."""

from collections.abc import Callable

import onnx
import onnx_ir as ir
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.serialization import deserialize, deserialize_type, serialize
from sonnx_ort.loading.traversal import all_graphs
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

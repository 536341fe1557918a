"""Values between nodes become outputs, of a copy."""

import onnx
import pytest

from sonnx_ort.comparing.derived_models import count_inner_nodes, exposed
from support.graphs import parse

TEXT = """(float[3] x, bool c) => (float[3] z) {
    a = Relu(x)
    b, d = Split <axis = 0> (a)
    e = If(c) <then_branch = t () => (float[3] p) { p = Relu(x) },
               else_branch = f () => (float[3] q) { q = Neg(x) }>
    z = Abs(e)
}"""


@pytest.fixture
def model() -> onnx.ModelProto:
    return parse(TEXT)


@pytest.mark.parametrize(
    ("count", "names"), [(0, []), (1, ["a"]), (2, ["a", "b", "d"]), (4, ["a", "b", "d", "e", "z"])]
)
def test_first_nodes_have_all_their_values_as_outputs(
    model: onnx.ModelProto, count: int, names: list[str]
) -> None:
    made = exposed(model, count)
    assert len(made.graph.node) == count
    assert [output.name for output in made.graph.output] == names
    assert [value.name for value in made.graph.input] == ["x", "c"]


def test_outputs_that_a_node_leaves_out_are_none() -> None:
    made = parse('(float[3] x) => (float[3] y) { y, "" = Dropout(x) }')
    made.graph.node[0].output[1] = ""
    assert [output.name for output in exposed(made, 1).graph.output] == ["y"]


def test_what_the_file_claims_of_values_is_left_out(model: onnx.ModelProto) -> None:
    model.graph.value_info.add(name="a").type.tensor_type.elem_type = onnx.TensorProto.INT32
    made = exposed(model, 4)
    assert not made.graph.value_info
    assert not any(output.HasField("type") for output in made.graph.output)


def test_model_is_not_modified(model: onnx.ModelProto) -> None:
    before = model.SerializeToString(deterministic=True)
    exposed(model, 2)
    assert model.SerializeToString(deterministic=True) == before


def test_nodes_of_subgraphs_are_counted(model: onnx.ModelProto) -> None:
    assert count_inner_nodes(model) == 2
    assert count_inner_nodes(parse("(float[3] x) => (float[3] y) { y = Relu(x) }")) == 0

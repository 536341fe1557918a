"""What a file claims of a value is dropped where ONNX Runtime may read it for another value."""

import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.graphs import parse

ALIKE = "(float[n] x, float[m] y) => (float[4] b, float[] z) { a = Div(x, y) b = Div(x, y) %s }"


def parsed(graph: str) -> onnx.ModelProto:
    return parse(graph)


def sizes(value: onnx.ValueInfoProto) -> list[int]:
    return [d.dim_value for d in value.type.tensor_type.shape.dim if d.HasField("dim_value")]


@pytest.mark.parametrize(
    ("backend", "left"),
    [
        pytest.param("native", [], id="standard nodes can be merged"),
        pytest.param("python", [4], id="custom operators bear the name of their node"),
    ],
)
def test_size_of_an_output_that_is_computed_like_another_value(
    backend: str, left: list[int]
) -> None:
    made = sonnx_ort.rewrite(parsed(ALIKE % "z = Sub(a, a)"), backend=backend)
    assert sizes(made.graph.output[0]) == left


@pytest.mark.parametrize("backend", ["native", "python"])
def test_size_of_an_output_that_a_broadcast_gives_twice(backend: str) -> None:
    model = parsed(
        "() => (int64[2, n] z) <bool[2, 3] x = {1, 1, 1, 1, 1, 1}>"
        " { t = Transpose(x) c = Cast <to = 7> (t) [two] y, z = sonnx.Broadcast(c, c) }"
    )
    model.opset_import.add(domain="sonnx", version=1)
    made = sonnx_ort.rewrite(model, backend=backend)
    assert [node.op_type for node in made.graph.node].count("Reshape") == 2, "which are alike"
    assert sizes(made.graph.output[0]) == []


@pytest.mark.parametrize(
    ("x", "claimed"),
    [
        pytest.param("float[1] x", True, id="no scalar"),
        pytest.param("float x", False, id="a scalar"),
    ],
)
def test_shape_that_follows_from_a_declared_scalar(x: str, *, claimed: bool) -> None:
    model = parsed(
        f"({x}, float[n] w) => (float[] z, float[] c)"
        " { b = Neg(x) a = Neg(x) c = Abs(b) z = Sub(x, w) }"
    )
    shape = [1] if claimed else []
    model.graph.input[0].type.tensor_type.shape.SetInParent()
    model.graph.value_info.append(helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, shape))
    made = sonnx_ort.rewrite(model, broadcast="explicit", backend="native")
    declared = {value.name: value for value in made.graph.value_info}
    assert declared["b"].type.tensor_type.HasField("shape") == claimed

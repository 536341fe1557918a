"""What is certain of shapes, by the list of verified operators."""

import onnx_ir as ir
import pytest

from sonnx_ort.analysis.facts import Facts
from sonnx_ort.loading.canonical import load
from sonnx_ort.profile.operand import format_shape
from support.graphs import parse

INPUTS = "float[n, 4, 8] x, float[8] c, int64[k] many, bool cond, int64 trips"
SCALARS = ("cond", "trips")
CONSTANTS = (
    "int64[1] zero = {0}, int64[1] two = {2}, int64[2] both = {0, 1}, int64[1] rest = {-1},"
    " int64[2] rows = {0, -1}, int64[3] repeats = {1, 2, 1}, float[1] one = {1.0},"
    " int64 start = {0}, int64 limit = {7}, int64 step = {2}"
)
SHAPES_OF_X = (
    "shape = Shape(x) first = Gather(shape, zero) to_first = Concat<axis = 0>(first, rest)"
)

CERTAIN = {
    "Relu(x)": "(n, 4, 8)",
    "Add(x, c)": "(n, 4, 8)",
    "Transpose(x)": "(8, 4, n)",
    "Concat<axis = 0>(x, x)": "(2*n, 4, 8)",
    "Flatten(x)": "(n, 32)",
    "MatMul(x, c)": "(n, 4)",
    "Gather<axis = 1>(x, both)": "(n, 2, 8)",
    "ReduceSum<keepdims = 0>(x, both)": "(8,)",
    "ReduceSum(x, many)": "(?1, ?2, ?3)",
    "ReduceSum<keepdims = 2>(x, both)": "(rank unknown)",
    "Reshape(x, rows)": "(n, 32)",
    "Reshape(x, to_first)": "(n, 32)",
    "Expand(one, shape)": "(n, 4, 8)",
    "Expand(x, many)": "(rank unknown)",
    "Slice(x, zero, two)": "(min(n, 2), 4, 8)",
    "Slice(x, zero, many)": "(?1, ?2, ?3)",
    "Unsqueeze(x, zero)": "(1, n, 4, 8)",
    "Squeeze(x)": "(rank unknown)",
    "Range(start, limit, step)": "(4,)",
    "Range(start, trips, step)": "(?1,)",
    "NonZero(x)": "(3, ?1)",
    "Tile(x, repeats)": "(n, 8, 8)",
    "Shape(x)": "(3,)",
    "Size(x)": "()",
    "If(cond) <then_branch = t () => (float[] p) { p = Relu(x) },"
    " else_branch = e () => (float[] q) { q = Neg(x) }>": "(n, 4, 8)",
    "If(cond) <then_branch = t () => (float[] p) { p = Relu(x) },"
    " else_branch = e () => (float[] q) { q = Concat<axis = 0>(x, x) }>": "(?1, 4, 8)",
    'Loop(trips, "", x) <body = b (int64 i, bool go, float[] s) => (bool still, float[] o)'
    " { still = Identity(go) o = Relu(s) }>": "(n, 4, 8)",
    'Loop(trips, "", x) <body = b (int64 i, bool go, float[] s) => (bool still, float[] o)'
    " { still = Identity(go) o = Concat<axis = 0>(s, s) }>": "(?2, 4, 8)",
    'Loop(trips, "", x) <body = b (int64 i, bool go, float[] s) => (bool still, float[] o)'
    " { still = Identity(go) o = Unsqueeze(s, zero) }>": "(rank unknown)",
    "Det(x)": "(rank unknown)",
}


@pytest.mark.parametrize(("node", "expected"), CERTAIN.items(), ids=lambda text: text[:60])
def test_shape_is_as_certain_as_the_operator_makes_it(node: str, expected: str) -> None:
    made = parse(
        f"({INPUTS}) => (float[] z) <{CONSTANTS}> {{ {SHAPES_OF_X} z = {node} }}", opset=18
    )
    for value in made.graph.input:
        if value.name in SCALARS:
            value.type.tensor_type.shape.SetInParent()
    loaded = load(made).graph_model
    (z,) = loaded.graph.outputs
    assert format_shape(Facts(loaded).shape(z)) == expected


def test_rank_of_what_a_scan_collects_follows_from_a_state_that_grows() -> None:
    made = parse(
        "(float[n, 4] x) => (float[] z) { a, z = Scan<num_scan_inputs = 1, body = b"
        " (float[] s, float[] e) => (float[] o, float[] c)"
        " { o = Concat<axis = 0>(s, s) c = Relu(o) }>(x, x) }"
    )
    loaded = load(made).graph_model
    (z,) = loaded.graph.outputs
    shape = Facts(loaded).shape(z)
    assert shape is not None
    assert len(shape) == 3


def test_sizes_that_two_inputs_declare_with_one_name_do_not_cancel_out() -> None:
    made = parse(
        "(float[n, 4, 8] x, float[n] y) => (float[] z)"
        " <int64[1] rest = {-1}> { s = Shape(y) t = Concat<axis = 0>(s, rest) z = Reshape(x, t) }",
        opset=18,
    )
    loaded = load(made).graph_model
    assert Facts(loaded).shape(loaded.graph.outputs[0]) == ("n", "?1")


def test_operator_of_another_domain_is_not_the_standard_one_of_its_name() -> None:
    made = parse("(float[2, 3] x) => (float[] z) { z = my.Div(x, x) }", opset=6, domains={"my": 1})
    loaded = load(made).graph_model
    assert Facts(loaded).shape(loaded.graph.outputs[0]) is None


def test_open_size_has_a_name_that_no_file_can_give() -> None:
    made = parse("(float[n] x) => (int64[] z) { z = NonZero(x) }", opset=18)
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "?1"
    loaded = load(made).graph_model
    facts = Facts(loaded)
    values = ir.convenience.create_value_mapping(loaded.graph)
    assert facts.shape(values["x"]) == ("?1",)
    assert facts.shape(values["z"]) == (1, "?2")

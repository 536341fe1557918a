"""What is certain of shapes behind the custom operators of a rewritten model."""

import numpy as np
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.terms.operand import format_shape
from support.graphs import parse

GIVEN = (
    "float[n, 2] a, float[n, 2] b, float[2, 3] m, int32[n] i, int32[n] j, float16[n, 2] h,"
    " bool[n, 2] c, float one, float[] many"
)
CONSTANTS = (
    "float low = {-1.0}, float high = {1.0}, int64[2] starts = {0, 0}, int64[2] ends = {2, 1},"
    " int64[2] axes = {0, 1}, int64[2] steps = {1, 1}"
)
FEEDS = {
    **dict.fromkeys("ab", np.ones((4, 2), np.float32)),
    "m": np.ones((2, 3), np.float32),
    **dict.fromkeys("ij", np.ones(4, np.int32)),
    "h": np.ones((4, 2), np.float16),
    "c": np.ones((4, 2), bool),
    "one": np.ones((), np.float32),
    "many": np.ones((4, 2), np.float32),
}


@pytest.mark.parametrize(
    ("node", "result", "expected"),
    [
        ("Sub(a, b)", "float", "(n, 2)"),
        ("Div(i, j)", "int32", "(n,)"),
        ("Sub(h, h)", "float16", "(n, 2)"),
        ("Less(a, b)", "bool", "(n, 2)"),
        ("Where(c, a, b)", "float", "(n, 2)"),
        ("MatMul(a, m)", "float", "(n, 3)"),
        ("Clip(a, low, high)", "float", "(n, 2)"),
        ("Softmax<axis = 1>(a)", "float", "(n, 2)"),
        ("ArgMax<axis = 0>(a)", "int64", "(1, 2)"),
        ("Slice(a, starts, ends, axes, steps)", "float", "(min(n, 2), 1)"),
        ("Max(a, b)", "float", "(n, 2)"),
        ("Max(one, one)", "float", "()"),
        ("Max(many, b)", "float", "(rank unknown)"),
    ],
)
def test_result_has_the_shape_that_a_run_gives(node: str, result: str, expected: str) -> None:
    made = parse(f"({GIVEN}) => ({result}[] y) <{CONSTANTS}> {{ y = {node} }}")
    enforced = sonnx_ort.rewrite(made, operators="all,-Graph", backend="python")
    assert any(each.domain == "sonnx" for each in enforced.graph.node)
    model = load(enforced).graph_model
    (output,) = model.graph.outputs
    shape = Facts(model).shape(output)
    assert format_shape(shape) == expected
    (found,) = sonnx_ort.InferenceSession(enforced).run(None, FEEDS)
    sizes = {"n": 4, "min(n, 2)": 2}
    assert shape is None or found.shape == tuple(sizes.get(str(s), s) for s in shape)


def test_what_a_kernel_says_of_a_shape_is_followed() -> None:
    made = parse(
        "(float[n, 2] a, float[n, 2] b, float[k] x) => (float[] y)"
        " { s = Sub(a, b) t = Shape(s) y = Expand(x, t) }"
    )
    model = load(sonnx_ort.rewrite(made, backend="python")).graph_model
    assert format_shape(Facts(model).shape(model.graph.outputs[0])) == "(n, 2)"


def test_what_a_kernel_computes_of_sizes_is_not_known() -> None:
    made = parse(
        "(float[n, 2] a, float x) => (float[] y)"
        " { s = Shape(a) t = Shape(a) d = Sub(s, t) y = Expand(x, d) }"
    )
    model = load(sonnx_ort.rewrite(made, backend="python")).graph_model
    assert format_shape(Facts(model).shape(model.graph.outputs[0])) == "(?1, ?2)"


@pytest.mark.parametrize(
    ("sizes", "ranks", "expected"),
    [
        ("known_sizes", "known_ranks", "(2,)"),
        ("known_sizes", "ranks", "(rank unknown)"),
        ("sizes", "known_ranks", "(rank unknown)"),
        ("known_sizes", "no_ranks", "(rank unknown)"),
        ("negative", "known_ranks", "(?1,)"),
    ],
)
def test_first_of_any_number_of_operands_is_known_by_sizes_and_ranks(
    sizes: str, ranks: str, expected: str
) -> None:
    made = parse(
        "(float[k] elements, int64[3] sizes, int64[2] ranks) => (float[] y)"
        " <int64[3] known_sizes = {2, 2, 3}, int64[2] known_ranks = {1, 2}, int64[0] no_ranks = {},"
        " int64[3] negative = {-2, 2, 3}>"
        f" {{ r, s = sonnx.MaxOperands(elements, {sizes}, {ranks}) y = Reshape(r, s) }}",
        domains={"sonnx": 1},
    )
    model = ir.from_proto(made)
    assert format_shape(Facts(model).shape(model.graph.outputs[0])) == expected

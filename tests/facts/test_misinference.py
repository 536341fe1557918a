"""What ONNX Runtime may infer wrongly of shapes, also behind custom operators."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.facts.misinference import Misinference
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.terms.operand import format_shape
from support.graphs import parse


def doubted(made: onnx.ModelProto) -> dict[str, bool]:
    """For each value whether its shape may be inferred wrongly."""
    model = load(made).graph_model
    facts = Facts(model)
    return {str(v.name): facts.may_be_misinferred(v) for v in defined_values(model.graph)}


NODES = {
    # What is inferred follows from operands without doubt.
    "Relu(x)": False,
    "Relu(r)": False,
    "Add(x, n)": False,
    "Reshape(w, k)": False,
    "Reshape(w, three)": False,
    "Transpose(w)": False,
    "MaxPool<kernel_shape = [1]>(c)": False,
    "ReduceMax<axes = [0]>(x)": False,
    "com.example.Unknown(w)": False,
    "LSTM(r, l, l)": False,
    # Kernels contradict what is inferred.
    "PRelu(one, x)": True,
    "PRelu(x, one)": False,
    "Squeeze<axes: ints = []>(one)": True,
    "ReduceMax<axes = [-1]>(m)": True,
    "ReduceMax<axes = [-1], keepdims = 0>(x)": True,
    "ReduceMax<axes = [-1]>(w)": False,
    "MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 1>(c)": True,
    "MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 1>(d)": False,
    "Concat<axis = 0>(m, w)": True,
    "Expand(w, none)": True,
    "MatMul(b, e)": True,
    # No rule tells what kernels compute.
    "Det(w)": True,
    "NonMaxSuppression(b, b)": True,
}


@pytest.mark.parametrize("node", NODES)
def test_of_a_node(node: str) -> None:
    made = parse(
        "(float[n, 3] x, float[n, 3] n, float[] r, float[2, 3] w, float[1, 3] one, float[2, m] m,"
        " float[1, 1, 5] c, float[1, k, h] d, int64[k] k, float[1, 2, o] b, float[2, o, 3] e,"
        " float[1, 4, 2] l, int64[1] three)"
        " => (float[] y) <int64[2] none = {0, 3}>"
        f" {{ y = {node} }}",
        opset=11,
        domains={"com.example": 1},
    )
    assert doubted(made)["y"] is NODES[node]


FOLLOWING = {
    "of a doubtful rank": ("a = Det(w) y = Relu(a)", True),
    "of a rank that a constant gives": ("a = Det(w) y = Reshape(a, two)", False),
    "of elements that follow from doubtful sizes": (
        "a = Det(w) s = Shape(a) y = ConstantOfShape(s)",
        True,
    ),
    "of what a run gives": ("a = Relu(r) y = Relu(a)", False),
    "of one doubtful size and one that is not known": (
        "a = ReduceMax<axes = [-1]>(x) y = Neg(a)",
        False,
    ),
    "of the doubtful size among them": (
        "a = ReduceMax<axes = [-1]>(x) t = Shape(a) s = Gather(t, last) y = ConstantOfShape(s)",
        True,
    ),
    "of a Dropout that may give its ratio": (
        "a = Size(r) b = Cast<to = 1>(a) y = Dropout(w, b)",
        True,
    ),
    "of certain sizes that contradict": ("a = PRelu(one, x) y = Neg(a)", True),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_of_what_follows(name: str) -> None:
    nodes, expected = FOLLOWING[name]
    made = parse(
        "(float[n, 3] x, float[] r, float[2, 2] w, float[1, 3] one) => (float[] y)"
        f" <int64[2] two = {{1, 1}}, int64[1] last = {{1}}> {{ {nodes} }}",
        opset=12,
    )
    assert doubted(made)["y"] is expected


LOOP = """(float[n] x, int64 trips, bool go, int64[k] s) => (float[] y) {{
    z, y = Loop (trips, go, x) <body = body (int64 i, bool going, float[] state)
        => (bool still, float[] next, {declared} one) {{
            still = Identity(going)
            next = Identity(state)
            one = Reshape(x, s)
        }}>
}}"""


@pytest.mark.parametrize(("declared", "expected"), [("float[3]", True), ("float[]", False)])
def test_of_what_a_loop_collects_where_that_is_declared(declared: str, *, expected: bool) -> None:
    assert doubted(parse(LOOP.format(declared=declared)))["y"] is expected


def test_of_what_a_scan_passes_to_its_body_with_its_shape() -> None:
    made = parse(
        "(float[n] s, float[2] t, float[4, 2] x) => (float[] y, float[] u) {"
        " y, u = Scan<num_scan_inputs = 1, body = b (float[] p, float[] e)"
        " => (float[] o, float[] c) { o = Concat<axis = 0>(p, p) c = Neg(e) }>(t, x) }"
    )
    found = doubted(made)
    assert {name: found[name] for name in "pecyu"} == {
        "p": True,
        "e": False,
        "c": False,
        "y": True,
        "u": True,
    }


def test_of_branches_of_which_one_is_not_inferred() -> None:
    made = parse(
        "(float[] r, float[2, 2] w, bool c) => (float[] y) { a = Det(w) y = If(c)"
        "<then_branch = t () => (float[] d) { d = Neg(a) },"
        " else_branch = e () => (float[] f) { f = Neg(r) }> }"
    )
    found = doubted(made)
    assert {name: found[name] for name in "ady"} == {"a": True, "d": True, "y": False}


def test_of_an_initializer_of_external_data() -> None:
    made = parse("(float[n] x) => (float[n] y) <float[2] w = {1, 1}> { y = Mul(x, w) }")
    model = ir.from_proto(made)
    assert not Facts(model).may_be_misinferred(model.graph.initializers["w"])


def test_results_of_a_node_that_cannot_be_followed_are_doubted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = parse("(float[n] x, float[m] z) => (float[] y) { y = Add(x, z) }")
    assert doubted(made)["y"] is False
    monkeypatch.delattr(Misinference, "_is_inferred")
    assert doubted(made)["y"] is True


def test_scale_that_is_no_vector_tells_of_no_size() -> None:
    made = parse(
        "(float[4] x) => (float[] y) <float scale = {0.5}> { y = Resize(x, , scale) }", opset=13
    )
    assert doubted(made)["y"] is False


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
        f" {{ r, s = sonnx.CheckedMax(elements, {sizes}, {ranks}) y = Reshape(r, s) }}",
        domains={"sonnx": 1},
    )
    model = ir.from_proto(made)
    assert format_shape(Facts(model).shape(model.graph.outputs[0])) == expected

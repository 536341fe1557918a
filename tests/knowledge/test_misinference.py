"""What ONNX Runtime may infer wrongly of shapes, and what it does not."""

import onnx
import onnx_ir as ir
import pytest

from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.knowledge.misinference import Misinference
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.traversal import defined_values
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

"""Where ONNX Runtime believes more of a shape than is certain, guards read the tensor itself."""

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from support.graphs import parse

DOMAINS = {"sonnx": 1}

BELIEVED = [
    pytest.param(
        "(float[1, 1, 5] x, float[1, 1, 3] y) => (float[] z)"
        " { p = MaxPool<kernel_shape = [1], strides = [3], ceil_mode = 1>(x) z = Div(p, y) }",
        id="all sizes, of a pooling that leaves a window out",
    ),
    pytest.param(
        "(float[n, m] x, float[k] y) => (float[] z) { axes = Constant<value_ints = [-1]>()"
        " r = ReduceSum<keepdims = 0>(x, axes) z = Div(r, y) }",
        id="the rank, of a reduction that leaves empty tensors as they are",
    ),
]

CERTAIN = [
    pytest.param(
        "(float[n] x, float[m] y) => (float[] z) { p = Neg(x) z = Div(p, y) }", id="open sizes"
    ),
    pytest.param(
        "(float[n, 3] x, float[n, 1] y) => (float[] z) { axes = Constant<value_ints = [-1]>()"
        " r = ReduceSum<keepdims = 1>(x, axes) z = Div(r, y) }",
        id="some sizes of several",
    ),
    pytest.param(
        "(float[2, 3] x, float[n, m] y) => (float[] z) { p = Neg(x) z = Div(p, y) }",
        id="all sizes, of a Neg",
    ),
]


def enforced(graph: str, backend: str = "native", **choices: str) -> onnx.ModelProto:
    model = parse(graph, domains=DOMAINS)
    return sonnx_ort.rewrite(model, backend=backend, **choices)


def loops(model: onnx.ModelProto) -> int:
    return sum(node.op_type == "Loop" for node in model.graph.node)


@pytest.mark.parametrize("graph", BELIEVED)
def test_operand_whose_shape_is_believed_is_hidden(graph: str) -> None:
    assert loops(enforced(graph)) == 1


@pytest.mark.parametrize("graph", CERTAIN)
def test_operand_whose_shape_is_certain_or_open_costs_nothing(graph: str) -> None:
    assert loops(enforced(graph)) == 0


@pytest.mark.parametrize("graph", BELIEVED)
def test_kernels_see_the_tensors_themselves(graph: str) -> None:
    assert loops(enforced(graph, "python")) == 0


def test_violation_that_onnxruntime_does_not_believe_in_is_told() -> None:
    session = sonnx_ort.InferenceSession(
        parse(BELIEVED[0].values[0], domains=DOMAINS), backend="native"
    )
    feeds = {"x": np.ones((1, 1, 5), np.float32), "y": np.ones((1, 1, 3), np.float32)}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds)
    assert (caught.value.rule, caught.value.shapes) == ("Div.float.R1", ((1, 1, 2), (1, 1, 3)))


def test_operand_of_bfloat16_is_hidden_as_a_float() -> None:
    graph = (
        "(float[n, m] x, bfloat16[k] y) => (float[] z) { axes = Constant<value_ints = [-1]>()"
        " r = ReduceSum<keepdims = 0>(x, axes) a = Cast<to = 16>(r) q = Div(a, y)"
        " z = Cast<to = 1>(q) }"
    )
    model = parse(graph, opset=13)
    made = sonnx_ort.rewrite(model, backend="native")
    assert loops(made) == 1
    ort.InferenceSession(made.SerializeToString())


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
@pytest.mark.parametrize(("element_type", "opset"), [("float", 13), ("bfloat16", 16)])
def test_operand_of_bfloat16_is_hidden_in_versions_with_such_loops(
    element_type: str, opset: int, broadcast: str
) -> None:
    graph = (
        f"({element_type}[n, m] x, {element_type}[k] y) => ({element_type}[] z)"
        " { axes = Constant<value_ints = [-1]>() r = ReduceSum<keepdims = 0>(x, axes)"
        " z = Sub(r, y) }"
    )
    made = sonnx_ort.rewrite(parse(graph, opset=13), backend="native", broadcast=broadcast)
    assert (loops(made), made.opset_import[0].version) == (1, opset)


@pytest.mark.parametrize("opset", [13, 21])
def test_sequences_are_hidden_in_versions_whose_identity_takes_none(opset: int) -> None:
    graph = """(seq(float) x, int64 i, float y) => (float[] z)
        { a = SequenceAt(x, i) z = Div(a, y) }"""
    model = parse(graph, opset=opset)
    session = sonnx_ort.InferenceSession(model, backend="native")
    feeds = {"x": [np.float32([6, 8])], "i": np.int64(0), "y": np.float32([2, 4])}
    (found,) = session.run(
        None, {name: np.asarray(v) if name != "x" else v for name, v in feeds.items()}
    )
    assert found.tolist() == [3, 2]


INPUTS = "(int32[n] x, int32[4] y, bool b)"
BRANCHES = (
    "<then_branch = t () => (int32[4] p) { p = Div(x, y) }, "
    "else_branch = e () => (int32[4] q) { q = Abs(y) }>"
)
GRAPHS: Mapping[str, str] = {
    "the result": "=> (int64[1] s) { c = Div(x, y) s = Shape(c) }",
    "a declared result": "=> (int64[1] s) <int32[4] c> { c = Div(x, y) s = Shape(c) }",
    "what follows": "=> (int64[1] s) <int32[4] d> { c = Div(x, y) d = Abs(c) s = Shape(d) }",
    "another node on the result": "=> (int64[1] s) { c = Div(x, y) d = Sub(c, c) s = Shape(d) }",
    "a node that the check proves": (
        "=> (int64[1] s) { c = Div(x, y) d = Sub(c, y) s = Shape(d) }"
    ),
    "a result of a given shape": (
        "=> (int64[2] s) <int64[2] two = {2, 2}> { c = Div(x, y) d = Reshape(c, two) s = Shape(d) }"
    ),
    "two results": (
        "=> (int64[1] s, int64[1] t) { c = Div(x, y) s = Shape(c) d = Abs(c) t = Shape(d) }"
    ),
    "a result of branches": f"=> (int64[1] s) {{ c = If(b) {BRANCHES} s = Shape(c) }}",
    "a result, in branches": (
        "=> (int64[1] s) { c = Div(x, y) s = If(b) "
        "<then_branch = t () => (int64[1] p) { p = Shape(c) }, "
        "else_branch = e () => (int64[1] q) { q = Shape(y) }> }"
    ),
    "elements too": "=> (int64[1] s, int32[4] c) { c = Div(x, y) s = Shape(c) }",
    "elements that nothing reads": "=> (int64[1] s) { c = Div(x, y) d = Abs(c) s = Shape(c) }",
}
FEEDS = {
    "Div.int.R1": {"x": np.ones(3, np.int32), "y": np.ones(4, np.int32)},
    "Div.int.C1": {"x": np.ones(4, np.int32), "y": np.zeros(4, np.int32)},
}


@pytest.mark.parametrize("rule", FEEDS)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("backend", Backend)
def test_rule_is_checked_in_each_run(backend: Backend, graph: str, rule: str) -> None:
    session = sonnx_ort.InferenceSession(parse(f"{INPUTS} {graph}"), backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, FEEDS[rule] | {"b": np.array(True)})
    assert caught.value.rule == rule


NEEDLESS = {
    "elements are read": "=> (int32[n] c, int64[1] s) { c = Div(x, y) s = Shape(c) }",
    "a proof": "=> (int64[1] s) { c = Sub(x, x) s = Shape(c) }",
    "another value": "=> (int32[n] c, int64[1] s) { c = Div(x, y) s = Shape(x) }",
}


@pytest.mark.parametrize("text", NEEDLESS.values(), ids=NEEDLESS.keys())
def test_nothing_is_added_where_the_check_runs_anyway(text: str) -> None:
    made = sonnx_ort.rewrite(parse(f"{INPUTS} {text}"), backend="native")
    assert "Loop" not in [node.op_type for node in made.graph.node]


def test_bfloat16_takes_the_opset_in_which_a_loop_takes_it() -> None:
    text = "(bfloat16[n] x, bfloat16[m] y) => (int64[1] s) { c = Div(x, y) s = Shape(c) }"
    made = sonnx_ort.rewrite(parse(text, opset=15), backend="native")
    assert made.opset_import[0].version == 16

"""What ONNX Runtime may infer wrongly, or a file claim of a value, is hidden from it or dropped."""

from collections.abc import Mapping

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.nodes import ADDED_OPERATORS, StandardNodes
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.profile.contract import Contract, ValueContract
from support.graphs import parse


def test_violation_that_onnxruntime_does_not_believe_in_is_told() -> None:
    """A pooling leaves a window out that ONNX Runtime counts."""
    graph = (
        "(float[1, 1, 5] x, float[1, 1, 3] y) => (float[] z)"
        " { p = MaxPool<kernel_shape = [1], strides = [3], ceil_mode = 1>(x) z = Div(p, y) }"
    )
    session = sonnx_ort.InferenceSession(parse(graph), backend="native")
    feeds = {"x": np.ones((1, 1, 5), np.float32), "y": np.ones((1, 1, 3), np.float32)}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds)
    assert (caught.value.rule, caught.value.shapes) == ("Div.float.R1", ((1, 1, 2), (1, 1, 3)))


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


COMPUTED_ALONE = {
    "Add": "b = Add(x, y)",
    "And": "f = Cast<to = 9>(x) b = And(f, f)",
    "Cast": "b = Cast<to = 7>(x)",
    "Concat": "b = Concat<axis = 0>(x, y)",
    "ConstantOfShape": "s = Size(x) t = Unsqueeze(s, zero) b = ConstantOfShape(t)",
    "Equal": "b = Equal(x, x)",
    "Expand": "k = Size(x) t = Unsqueeze(k, zero) b = Expand(y, t)",
    "Gather": "i = ArgMax<axis = 1, keepdims = 0>(w) b = Gather(x, i)",
    "Greater": "b = Greater(x, y)",
    "Identity": "b = Identity(x)",
    "IsNaN": "b = IsNaN(x)",
    "Less": "b = Less(x, y)",
    "Max": "b = Max(x, y)",
    "Neg": "b = Neg(x)",
    "Not": "f = Cast<to = 9>(x) b = Not(f)",
    "Or": "f = Cast<to = 9>(x) b = Or(f, f)",
    "Range": "k = Size(x) b = Range(start, k, step)",
    "ReduceMax": "b = ReduceMax<axes = [1], keepdims = 0>(w)",
    "ReduceMin": "b = ReduceMin<axes = [1], keepdims = 0>(w)",
    "Reshape": "b = Reshape(w, line)",
    "Shape": "b = Shape(u)",
    "Tile": "b = Tile(x, two)",
    "Where": "f = Cast<to = 9>(x) b = Where(f, x, x)",
}
"""By operator what computes the output `b`, of which only the file claims 7 elements."""

OTHERWISE = {
    "Constant": "a tensor that the file holds has its own shape",
    "Div": "guards of contracts alone divide sizes",
    "Floor": "guards of contracts alone round",
    "If": "its branches are made new",
    "Loop": "its body is made new",
    "Pow": "guards of a Pow alone compute powers",
    "Mul": "guards of a convolution alone multiply sizes",
    "ReduceSum": "guards of a Softmax alone sum up",
    "Slice": "guards of a Softmax of old versions alone take part of a shape",
    "Sub": "guards of a Slice alone subtract",
}


def test_every_operator_that_is_added_is_tried() -> None:
    assert COMPUTED_ALONE.keys() | OTHERWISE.keys() == ADDED_OPERATORS


@pytest.mark.parametrize("operator", COMPUTED_ALONE)
def test_size_of_an_output_that_a_guard_could_be_computed_like(operator: str) -> None:
    kind = {"Cast": "int64", "Shape": "int64", "Range": "int64"}.get(operator, "float")
    kind = "bool" if operator in {"And", "Equal", "Greater", "IsNaN", "Less", "Not", "Or"} else kind
    made = parsed(
        f"(float[n] x, float[m] y, float[n,m] w, float[] u) => ({kind}[7] b, float[] z)"
        " <int64[1] zero = {0}, int64[1] two = {2}, int64[1] line = {-1}, int64 start = {0},"
        f" int64 step = {{1}}> {{ {COMPUTED_ALONE[operator]} z = Div(x, y) }}"
    )
    rewritten = sonnx_ort.rewrite(made, backend="native")
    assert sizes(rewritten.graph.output[0]) == []


IN_CONTRACTS = {
    "Div": "b = Div(x, y)",
    "Floor": "b = Floor(x)",
    "Mul": "b = Mul(x, y)",
    "ReduceSum": "b = ReduceSum<keepdims = 0>(w, one)",
}
"""By operator that guards of contracts add, and no other here, what computes the output `b`."""


@pytest.mark.parametrize(
    "contract", [Contract(), Contract((ValueContract("u", (0, 1)),))], ids=bool
)
@pytest.mark.parametrize("operator", IN_CONTRACTS)
def test_size_of_an_output_that_a_guard_of_a_contract_could_be_computed_like(
    operator: str, contract: Contract
) -> None:
    made = parsed(
        "(float[n] x, float[m] y, float[n,m] w, float[1] u) => (float[7] b, float[] z)"
        f" <int64[1] one = {{1}}> {{ {IN_CONTRACTS[operator]} z = Log(u) }}"
    )
    rewritten = sonnx_ort.rewrite(made, backend="native", operators="Log", contract=contract)
    assert sizes(rewritten.graph.output[0]) == ([] if contract else [7])


def test_node_of_another_operator_is_not_added() -> None:
    graph = ir.from_proto(parsed(ALIKE % "z = Neg(a)"))
    nodes = StandardNodes(ValueNames(graph), "x", 17)
    with pytest.raises(ValueError, match="ADDED_OPERATORS does not name it"):
        nodes.add("Relu", [graph.graph.inputs[0]], "relu")

"""The standard operators that the native backend puts in front of a node, and when."""

import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend, on_native
from support.graphs import binary_model, model, operators, parse, tensor

pytestmark = [on_each_backend, on_native]

NO_ZERO = ["Constant", "Equal", "Cast", "ReduceMax", "Cast", "Constant", "Where"]


def test_dividend_that_is_never_the_smallest_leaves_one_search_for_zero() -> None:
    made = binary_model("Div", "int64", [2], [2])
    made.graph.node[0].input[0] = "sizes"
    made.graph.node.insert(0, helper.make_node("Shape", ["two_axes"], ["sizes"]))
    made.graph.input.append(tensor("two_axes", "float", ["n", "m"]))
    del made.graph.input[0]
    assert operators(sonnx_ort.rewrite(made))[1:] == ["Shape", *NO_ZERO, "Reshape", "Div"]


EXPLICIT, PRELIMINARY = {"broadcast": "explicit"}, {"edition": "preliminary"}
CONCAT = {"operators": "Concat"}


@pytest.mark.parametrize(
    ("graph", "opset", "raised", "choices"),
    [
        ("(float[2] a, float[2] b) => (float[] c) { c = Div(a, b) }", 6, 7, {}),
        ("(float[2] a, float[2] b) => (float[] c) { c = Div(a, b) }", 8, 8, {}),
        ("(float[n] a, float[m] b) => (float[] c) { c = Div(a, b) }", 6, 9, {}),
        ("(float[n] a, float[m] b) => (float[] c) { c = Div(a, b) }", 8, 9, {}),
        ("(float[n] a, float[m] b) => (float[] c) { c = Div(a, b) }", 10, 10, {}),
        ("(float[3] a, float[1] b) => (float[] c) { c = Div(a, b) }", 7, 9, EXPLICIT),
        ("(float[3] a, float[3] b) => (float[] c) { c = Div(a, b) }", 7, 9, PRELIMINARY),
        ("(float[n] a, float[n] b) => (float[] c) { c = Concat<axis = 0>(a, b) }", 7, 7, CONCAT),
        ("(float[n,k] a, float[m,k] b) => (float[] c) { c = Concat<axis=0>(a, b) }", 7, 9, CONCAT),
        ("(float[] a, float[] b) => (float[] c) { c = Concat<axis = 0>(a, b) }", 7, 11, CONCAT),
        (
            "(float[n] a) => (float[] c) { m = own.M(a) d = Exp(m) c = own.M(d) }",
            7,
            7,
            {"operators": "Exp"},
        ),
    ],
)
def test_opset_is_raised_as_far_as_the_operators_need(
    graph: str, opset: int, raised: int, choices: dict[str, str]
) -> None:
    made = parse(graph, opset=opset, domains={"own": 1})
    rewritten = sonnx_ort.rewrite(made, backend="native", **choices)
    assert [entry.version for entry in rewritten.opset_import if not entry.domain] == [raised]


@pytest.mark.parametrize(
    ("operator", "declared"), [("Div", []), ("Less", [tensor("d", "bool", None)])]
)
def test_unknown_element_type_is_refused(
    operator: str, declared: list[onnx.ValueInfoProto]
) -> None:
    made = model(
        [
            helper.make_node("Mystery", ["a"], ["m"], domain="their.domain"),
            helper.make_node("Mystery", ["m"], ["other"], domain="their.domain"),
            helper.make_node(operator, ["m", "other"], ["d"], name="unknown"),
            helper.make_node("Mystery", ["d"], ["c"], domain="their.domain"),
        ],
        [tensor("a", "float", [2])],
        [tensor("c", "float", [2])],
        value_info=declared,
        domains={"their.domain": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(made, operators=operator)
    assert str(caught.value) == (
        f"{operator} 'unknown': the native backend needs the element type of 'm', which "
        "is unknown; declare it in value_info, or use the python "
        "backend"
    )


def test_unknown_element_type_is_refused_where_it_decides_the_result_alone() -> None:
    """The preliminary quotient of floats by zero is infinite; no rule is left to the run."""
    made = parse(
        "(float[2] a) => (float[2] c) { m = local.Mystery(a) [unknown] d = Div(m, m)"
        " c = local.Mystery(d) }",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError, match="the native backend needs the element type"):
        sonnx_ort.rewrite(made, backend="native", edition="preliminary")

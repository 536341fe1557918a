"""What a file declares of one value in several places is kept, and inputs keep their own."""

from typing import NamedTuple

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.declarations import declared_elsewhere, forget_elsewhere
from sonnx_ort.loading.traversal import defined_values, every_graph
from support.graphs import parse

BODY = (
    "(bool c, float[n, k] x) => (float[] z) <float[1, 1] w = {1}> { a = Abs(x) z = If(c) <"
    "then_branch = t () => (float[] o) { r = Neg(a) o = Add(r, w) },"
    " else_branch = e () => (float[] p) { p = Identity(x) }> }"
)
PLAIN = "(float[n, k] x) => (float[] z) { a = Abs(x) z = Neg(a) }"


class Case(NamedTuple):
    """A model with one more declaration of a value, and the shapes that are kept of it.

    `place` is the list of declarations in the main graph, or in the first branch.
    """

    text: str
    place: str
    name: str
    own: str
    elsewhere: list[str]

    def value(self) -> ir.Value:
        made = parse(self.text)
        declared = helper.make_tensor_value_info(self.name, TensorProto.FLOAT, [3, 4])
        kind, _, inner = self.place.partition(" ")
        graph = made.graph.node[1].attribute[0].g if inner else made.graph
        getattr(graph, kind).append(declared)
        graph = load_canonical(made).graph_model.graph
        (value,) = (each for each in defined_values(graph) if each.name == self.name)
        return value


CASES = {
    "a value, once": Case(PLAIN, "value_info", "a", "[3,4]", []),
    "an input": Case(PLAIN, "value_info", "x", "[n,k]", ["[3,4]"]),
    "an input as an output": Case(PLAIN, "output", "x", "[n,k]", ["[3,4]"]),
    "a value of the graph around": Case(BODY, "value_info inner", "a", "None", ["[3,4]"]),
    "an input of the graph around": Case(BODY, "value_info inner", "x", "[n,k]", ["[3,4]"]),
    "an initializer of the graph around": Case(
        BODY, "value_info inner", "w", "[1,1]", ["[3,4]"]
    ),
    "a value of the subgraph": Case(BODY, "value_info inner", "r", "[3,4]", []),
    "a value that is not in sight": Case(BODY, "value_info", "r", "None", ["[3,4]"]),
}  # fmt: skip


def elsewhere(value: ir.Value) -> list[ir.Shape]:
    return declared_elsewhere([value]).get(value, [])


@pytest.mark.parametrize("name", CASES)
def test_further_declarations_are_kept(name: str) -> None:
    case = CASES[name]
    value = case.value()
    assert str(value.shape) == case.own
    assert [str(shape) for shape in elsewhere(value)] == case.elsewhere


def test_same_declaration_is_no_further_one() -> None:
    made = parse("(float[n, k] x) => (float[n, k] z, float[n, k] x) { z = Neg(x) }")
    (x,) = load_canonical(made).graph_model.graph.inputs
    assert elsewhere(x) == []


def test_last_of_several_declarations_is_that_of_the_graph() -> None:
    """As of ONNX Runtime."""
    made = parse(PLAIN)
    for sizes in (["n", "k"], [3, 4]):
        entry = helper.make_tensor_value_info("a", TensorProto.FLOAT, sizes)
        made.graph.value_info.append(entry)
    (value, _) = (v for node in load_canonical(made).graph_model.graph for v in node.outputs)
    assert str(value.shape) == "[3,4]"
    assert [str(shape) for shape in elsewhere(value)] == ["[n,k]"]


def test_state_that_a_body_returns_as_it_is_keeps_its_own_shape() -> None:
    made = parse(
        "(int64 n, bool c, float[2] x) => (float[] z) { z = Loop <body = b"
        " (int64 i, bool d, float[k] s) => (bool d, float[5] s) { e = Neg(s) }>(n, c, x) }"
    )
    body = every_graph(load_canonical(made).graph_model.graph)[1]
    assert str(body.inputs[2].shape) == "[k]"
    assert [str(shape) for shape in elsewhere(body.inputs[2])] == ["[5]"]


def test_state_of_no_declared_shape_has_that_which_the_body_returns() -> None:
    made = parse(
        "(int64 n, bool c, float[2] x) => (float[] z) { z = Loop <body = b"
        " (int64 i, bool d, float[] s) => (bool d, float[5] s) { e = Neg(s) }>(n, c, x) }"
    )
    body = every_graph(load_canonical(made).graph_model.graph)[1]
    assert str(body.inputs[2].shape) == "[5]"


def test_input_of_no_declared_shape_has_none_of_an_output() -> None:
    made = parse("(float[] x) => (float[] z, float[3] x) { z = Neg(x) }")
    (x,) = load_canonical(made).graph_model.graph.inputs
    assert x.shape is None
    assert [str(shape) for shape in elsewhere(x)] == ["[3]"]


def test_body_within_a_function_is_looked_through() -> None:
    made = parse(
        "(bool c, float[n] x) => (float[] z) { z = local.f(c, x) }"
        '<opset_import: ["" : 17], domain: "local"> f (c, x) => (z) { a = Abs(x) z = If(c) <'
        "then_branch = t () => (float[] o) { o = Neg(a) },"
        " else_branch = e () => (float[] p) { p = Identity(x) }> }",
        domains={"local": 1},
    )
    inner = made.functions[0].node[1].attribute[0].g
    inner.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [3]))
    function = next(iter(load_canonical(made).graph_model.functions.values()))
    (value,) = (v for node in function.graph for v in node.outputs if v.name == "a")
    assert [str(shape) for shape in elsewhere(value)] == ["[3]"]


def test_forgotten_declarations_are_gone() -> None:
    value = CASES["an input"].value()
    forget_elsewhere(value)
    assert elsewhere(value) == []


def test_value_without_a_tensor_has_no_further_declaration() -> None:
    made = parse(PLAIN)
    made.graph.value_info.append(onnx.ValueInfoProto(name="x"))
    (x,) = load_canonical(made).graph_model.graph.inputs
    assert elsewhere(x) == []

"""What a symbol of the inputs proves, and what it does not."""

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.knowledge.facts import has_scalars, shared_symbols
from sonnx_ort.profile.rule import Status
from support.graphs import parse


def parsed(graph: str) -> onnx.ModelProto:
    return parse(graph)


def shape_rule(graph: str) -> tuple[Status, str]:
    (found,) = [
        o
        for o in sonnx_ort.check(parsed(graph), operators="default").obligations
        if o.rule.id.endswith(".R1")
    ]
    return found.status, found.evidence


@pytest.mark.parametrize(
    ("inputs", "shared"),
    [
        ("float[n] x, float[m] y", set()),
        ("float[n] x, float[n] y", {"n"}),
        ("float[n, n] x", {"n"}),
        ("float[n, m, 3] x, float[m, k] y, float[3] z", {"m"}),
        ("float[?] x, float[?] y", set()),
        ("float[] x, float[2, 2] y", set()),
    ],
    ids=str,
)
def test_symbol_is_shared_if_two_dimensions_are_declared_with_it(
    inputs: str, shared: set[str]
) -> None:
    model = ir.from_proto(parsed(f"({inputs}) => (float[2] r) {{ r = Relu(x) }}"))
    assert shared_symbols(model.graph.inputs) == shared


@pytest.mark.parametrize(
    ("nodes", "evidence"),
    [
        ("z = Div(x, x)", "both shapes are (n, m)"),
        ("a = Relu(x) z = Div(a, x)", "both shapes are (n, m)"),
        ("a = Transpose(x) b = Transpose(a) z = Div(b, x)", "both shapes are (n, m)"),
        ("a = Transpose(x) b = Transpose(x) z = Sub(a, b)", "both shapes are (m, n)"),
    ],
    ids=lambda value: value,
)
def test_symbol_of_one_dimension_proves_equal_sizes(nodes: str, evidence: str) -> None:
    assert shape_rule(f"(float[n, m] x) => (float[] z) {{ {nodes} }}") == (Status.PROVED, evidence)


@pytest.mark.parametrize(
    "nodes",
    [
        "z = Div(x, y)",
        "a = Relu(x) z = Div(a, y)",
        "a = Flatten(x) b = Flatten(y) z = Div(a, b)",
        "a = Transpose(x) b = Transpose(y) z = Div(a, b)",
    ],
    ids=lambda value: value,
)
def test_shared_symbol_is_left_to_the_run(nodes: str) -> None:
    status, evidence = shape_rule(f"(float[2, n] x, float[2, n] y) => (float[] z) {{ {nodes} }}")
    assert status is Status.RUNTIME
    assert "n" in evidence


def test_symbol_of_inputs_that_the_node_does_not_depend_on_is_no_matter() -> None:
    graph = "(float[n] x, float[n] y) => (float[] z, float[] w) { z = Div(x, x) w = Neg(y) }"
    assert shape_rule(graph) == (Status.PROVED, "both shapes are (n,)")


def test_evidence_says_why_a_shared_symbol_proves_nothing() -> None:
    assert shape_rule("(float[n] x, float[n] y) => (float[] z) { z = Div(x, y) }") == (
        Status.RUNTIME,
        (
            "axis 0 is n in both, but several dimensions of the inputs are declared so, and ONNX "
            "Runtime does not require them to be equal"
        ),
    )


def test_two_symbols_are_left_to_the_run() -> None:
    assert shape_rule("(float[n] x, float[m] y) => (float[] z) { z = Div(x, y) }") == (
        Status.RUNTIME,
        "axis 0 is n in A and m in B",
    )


@pytest.mark.parametrize("symbol", ["unk__0", "_d0", "_d1", "floor", "Max", "E", "lambda", "é"])
def test_no_name_of_a_symbol_is_taken_for_a_size_that_an_engine_made_up(symbol: str) -> None:
    made = parsed(
        "(float[n] x, float[m] y) => (float[] z)"
        " { p = NonZero(y) t = Transpose(p) c = Cast<to = 1>(t) f = Flatten<axis = 2>(c)"
        " axes = Constant<value_ints = [1]>() s = Squeeze(f, axes) z = Div(x, s) }"
    )
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = symbol
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Div.float.R1"
    ]
    assert found.status is Status.RUNTIME


@pytest.mark.parametrize("reader", ["z = Add(x, s)", "z = Expand(x, s)", "z = Neg(s)"])
def test_scalar_input_that_is_computed_with_makes_shapes_uncertain(reader: str) -> None:
    made = parsed(f"(float[n] x, float s) => (float[] z) {{ {reader} }}")
    made.graph.input[1].type.tensor_type.shape.SetInParent()
    assert has_scalars(ir.from_proto(made).graph.inputs)


def test_scalar_input_that_is_a_condition_is_no_matter() -> None:
    made = parsed(
        "(float[n] x, bool c) => (float[] z) { z = If(c) <then_branch = a () => (float[] p)"
        " { p = Relu(x) }, else_branch = b () => (float[] q) { q = Neg(x) }> }"
    )
    made.graph.input[1].type.tensor_type.shape.SetInParent()
    assert not has_scalars(ir.from_proto(made).graph.inputs)

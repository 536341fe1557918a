"""What follows about shapes and types, and what does not."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.traversal import defined_values
from support.graphs import declared, parse


def facts_of(made: onnx.ModelProto) -> tuple[ir.Model, Facts]:
    loaded = load(made).graph_model
    return loaded, Facts(loaded)


def shape_of(made: onnx.ModelProto, name: str) -> tuple[object, ...] | None:
    loaded, facts = facts_of(made)
    return facts.shape(ir.convenience.create_value_mapping(loaded.graph)[name])


def parsed(text: str, **constants: list[int]) -> onnx.ModelProto:
    arrays = {name: np.array(elements) for name, elements in constants.items()}
    return parse(text, domains={"sonnx": 1}, constants=arrays)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([3, 1], [4], (3, 4)),
        (["n", 3], [3], ("n", 3)),
        (["n", 3], ["n", 1], ("n", 3)),
        ([], ["n"], ("n",)),
        ([1], [1], (1,)),
    ],
)
def test_facts_flow_through_a_broadcast(a: list[int], b: list[int], expected: object) -> None:
    types = f"{declared('float', a)} a, {declared('float', b)} b"
    made = parsed(f"""({types}) => (float[] z, float[] x) {{
        [broadcast] x, y = sonnx.Broadcast(a, b)
        z = Relu(y)
    }}""")
    assert shape_of(made, "z") == expected
    assert shape_of(made, "x") == expected


def test_outputs_of_a_broadcast_share_what_is_unknown() -> None:
    made = parsed("""(float[n] a, float[m] b) => (float[] x, float[] y) {
        [broadcast] x, y = sonnx.Broadcast(a, b)
    }""")
    first = shape_of(made, "x")
    assert first == shape_of(made, "y")
    assert first not in (("n",), ("m",), (None,))


def test_facts_flow_through_operators_of_either_engine_behind_a_broadcast() -> None:
    text = """(float[3,1] a, float[4] b) => (float[] z) {
        [broadcast] x, y = sonnx.Broadcast(a, b)
        r = ReduceSum <keepdims = 0> (x, axes)
        [broadcast] s, t = sonnx.Broadcast(r, a)
        z = ReduceSum <keepdims = 0> (s, axes)
    }"""
    made = parsed(text, axes=[1])
    assert shape_of(made, "r") == (3,)
    assert shape_of(made, "z") == (3,)


def test_inputs_of_a_broadcast_keep_their_types() -> None:
    made = parsed("""(float[3] a, int32[1] b) => (float[] x, int32[] y) {
        [broadcast] x, y = sonnx.Broadcast(a, b)
    }""")
    loaded, facts = facts_of(made)
    values = ir.convenience.create_value_mapping(loaded.graph)
    assert [facts.element_type(values[name]) for name in ("x", "y")] == ["float", "int32"]


def test_end_of_a_slice_is_not_the_size_of_an_open_dimension() -> None:
    text = "(float[n] a) => (float[] z) { z = Slice(a, start, end, axes) }"
    made = parsed(text, start=[0], end=[1_000_000_000], axes=[0])
    (size,) = shape_of(made, "z") or ()
    assert not isinstance(size, int)


def test_shape_of_a_loops_state_does_not_follow_from_its_initial_value() -> None:
    made = parsed("""(float[1] s, int64 trips) => (float[] z) {
        z = Loop (trips, , s) <
            body = body (int64 i, bool go_on, float[] state) => (bool still, float[] grown) {
                still = Identity(go_on)
                grown = Concat <axis = 0> (state, state)
            }
        >
    }""")
    for name in ("state", "grown", "z"):
        assert not any(isinstance(size, int) for size in shape_of(made, name) or ())


@pytest.mark.parametrize(
    "text",
    [
        "(float[n] a) => (float[3] d) <float[3] c> { c = Identity(a) d = Identity(c) }",
        "(float[n] a) => (float[3] c) { c = Identity(a) }",
    ],
    ids=["value_info", "output"],
)
def test_claims_are_no_premises(text: str) -> None:
    assert shape_of(parsed(text), "c") == ("n",)


@pytest.mark.parametrize("odd", ["?", "a b", "n-1", ""])
def test_dimension_names_that_no_symbol_can_have_say_nothing(odd: str) -> None:
    made = parsed("(float[odd,3] a) => (float[] z) { z = Relu(a) }")
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = odd
    first, second = shape_of(made, "z") or ()
    assert second == 3
    assert first != odd


def test_negative_sizes_say_nothing() -> None:
    made = parsed("(float[?,3] a) => (float[] z) { z = Relu(a) }")
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    first, second = shape_of(made, "z") or ()
    assert (isinstance(first, int), second) == (False, 3)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("(double[n] x, double[n] z) => (double[n] y) { y = Div(x, z) }", "double int64"),
        ("(double[n] x, double[n] z) => (double[n] y) { y = Max(x, z) }", "double int64"),
        ("(double[n] x, double[n] z) => (bool[n] y) { y = Less(x, z) }", "bool int64"),
        (
            "(bool[n] c, double[n] x, double[n] z) => (double[n] y) { y = Where(c, x, z) }",
            "bool int64",
        ),
        ("(double[n] x) => (int32[n] y) { y = Cast<to = 6>(x) }", "double int64"),
        ("(double[n,k] x, double[m,l] z) => (double[?,?] y) { y = MatMul(x, z) }", "int64 int64"),
    ],
)
def test_types_flow_through_custom_operators(graph: str, expected: str) -> None:
    model = load(sonnx_ort.rewrite(parse(graph), operators="all,-Graph")).graph_model
    facts = Facts(model)
    (custom,) = (node for node in model.graph if node.domain == "sonnx")
    assert " ".join(str(facts.element_type(value)) for value in custom.outputs) == expected
    (result,) = model.graph.outputs
    assert facts.element_type(result) == str(result.dtype).lower()


def test_types_flow_through_custom_operators_in_a_body_of_a_loop() -> None:
    made = parse("""(int64 n, int64[1] c) => (int64[k] y) {
        s, y = Loop (n, "", c) <body = body (int64 i, bool go, int64[1] t)
            => (bool go, int64[1] u, int64[1] w) {
            u = Identity(t)
            d = Sub(t, c)
            w = Identity(d)
        }>
    }""")
    enforced = sonnx_ort.rewrite(made, operators="Sub")
    loaded, facts = facts_of(enforced)
    assert [facts.element_type(v) for v in defined_values(loaded.graph) if v.name == "w"] == [
        "int64"
    ]

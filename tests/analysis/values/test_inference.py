"""What follows about shapes and types, what symbols prove, and what engines say wrongly.

Each graph was found with a PROVED obligation that a run breaks; the sizes that break it stand
beside it.
"""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.values.provenance import scalars_in, shared_symbols
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.profile.rule import Status
from support.graphs import declared, parse, tensor


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
            "double int64",
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


def with_constants(graph: str) -> onnx.ModelProto:
    return parse(graph)


def shape_rule(graph: str) -> tuple[Status, str]:
    (found,) = [
        o
        for o in sonnx_ort.check(with_constants(graph), operators="default").obligations
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
    model = ir.from_proto(with_constants(f"({inputs}) => (float[2] r) {{ r = Relu(x) }}"))
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
    made = with_constants(
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
    made = with_constants(f"(float[n] x, float s) => (float[] z) {{ {reader} }}")
    made.graph.input[1].type.tensor_type.shape.SetInParent()
    assert scalars_in(ir.from_proto(made).graph.inputs)


def test_scalar_input_that_is_a_condition_is_no_matter() -> None:
    made = with_constants(
        "(float[n] x, bool c) => (float[] z) { z = If(c) <then_branch = a () => (float[] p)"
        " { p = Relu(x) }, else_branch = b () => (float[] q) { q = Neg(x) }> }"
    )
    made.graph.input[1].type.tensor_type.shape.SetInParent()
    assert not scalars_in(ir.from_proto(made).graph.inputs)


DOMAINS = {"sonnx": 1, "local": 1}

GRAPHS = {
    "squeeze without axes, (1, 3)": """
        (float[n, m] x) => (float[n, m] z) { a = Squeeze(x)  z = Div(a, x) }""",
    "function that is not inlined, (3)": """
        (float[n] x, float[7] c) => (float[7] z) { y = local.fun(x)  z = Div(y, c) }
        <domain: "local", opset_import: ["" : 17]>
        fun (a) => (b) {
            s = Constant<value_ints = [0]>()
            e = Constant<value_ints = [7]>()
            b = Slice(a, s, e)
        }""",
    "n against m behind a Broadcast, (1) and (3)": """
        (float[n] x, float[m] y, float[1] one) => (float[n] z) {
            bx, bo = sonnx.Broadcast(x, one)  s = Add(bx, y)  z = Div(s, bx)
        }""",
    "reshape to a computed size of 0, (3, 0) and (0, 0)": """
        (float[a, b] x, float[n, k] y) => (float[n, k] z) {
            t = Shape(y)  r = Reshape(x, t)  z = Div(r, y)
        }""",
    "size that went through bool": """
        (float[5] x, float[1] one) => (float[5] z) {
            t = Shape(x)  b = Cast<to = 9>(t)  i = Cast<to = 7>(b)
            e = Expand(one, i)  z = Div(e, x)
        }""",
    "loop of no iteration": """
        (float[n] x, int64 t) => (float[n] z) {
            go = Constant<value = bool {1}>()
            y = Loop(t, go) <body = b (int64 i, bool c) => (bool d, float[n] so) {
                d = Identity(c)  so = Identity(x)
            }>
            first = Constant<value_ints = [0]>()
            r = ReduceSum<keepdims = 0>(y, first)  z = Div(r, x)
        }""",
    "slope that is larger": """
        (float[n, 4, m] x, float[k, 4, l] s) => (float[n, 4, m] z) {
            p = PRelu(x, s)  z = Div(p, x)
        }""",
    "negative axis of size 0, (2, 0)": """
        (float[n, m] x, float[n, 1] y) => (float[n, 1] z) {
            last = Constant<value_ints = [-1]>()
            r = ReduceSum<keepdims = 1>(x, last)  z = Div(r, y)
        }""",
    "scalars that are none, (3) and (1)": """
        (float x, float y) => (float z) { z = Div(x, y) }""",
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_shapes_are_not_proved(graph: str) -> None:
    made = parse(graph, domains=DOMAINS)
    report = sonnx_ort.check(made, operators="default")
    (shapes,) = [o for o in report.obligations if o.rule.id == "Div.float.R1"]
    assert shapes.status is not Status.PROVED, shapes.evidence


def test_type_that_a_file_claims_of_a_constant_in_a_branch_is_not_believed() -> None:
    made = parse("""(bool c, int32[2] x) => (int32[2] z) {
        z = If(c) <
            then_branch = t () => (int32[2] a) <int32[2] k = {1, 0}> { a = Div(k, k) },
            else_branch = e () => (int32[2] b) { b = Identity(x) }
        >
    }""")
    made.graph.node[0].attribute[0].g.value_info.append(tensor("k", "float", [2]))
    assert [o.rule.id for o in sonnx_ort.check(made, operators="default").violations] == [
        "Div.int.C1"
    ]


def test_arithmetic_that_wraps_violates_nothing() -> None:
    made = parse(
        """(float[3] x, float[1] one) => (float[3] z) {
            a = Constant<value = int32[1] {65536}>()
            p = Mul(a, a)
            three = Constant<value = int32[1] {3}>()
            w = Add(p, three)
            i = Cast<to = 7>(w)
            e = Expand(one, i)
            z = Div(e, x)
        }""",
        domains=DOMAINS,
    )
    x = np.ones(3, np.float32)
    (result,) = sonnx_ort.InferenceSession(made).run(None, {"x": x, "one": x[:1]})
    np.testing.assert_array_equal(result, [1, 1, 1])

"""What follows about types and shapes, and what does not."""

import logging

import numpy as np
import onnx
import onnx.helper
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.knowledge import propagated_elements
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.knowledge.inference import Inference
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.traversal import defined_values, subgraphs
from sonnx_ort.profile.operand import Shape
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


def test_type_of_a_constant_needs_no_inference() -> None:
    made = parse(
        """(int64[1] x) => (int64[] z) {
            y = com.example.Unknown(x)
            last, z = Scan <num_scan_inputs = 1, body = step (int64[] s, int64[] e)
                => (int64[] t, int64[] u) {
                    c = Constant <value = int64[1] {0}> ()
                    t = Identity(c)
                    u = Identity(e)
                }> (x, y)
        }""",
        domains={"com.example": 1},
    )
    loaded, facts = facts_of(made)
    values = {value.name: value for value in defined_values(loaded.graph)}
    assert facts.element_type(values["t"]) is None, "no inference looks into the body"
    assert facts.element_type(values["c"]) == "int64"


def inferred(made: onnx.ModelProto) -> tuple[Inference, dict[str, ir.Value]]:
    model = load(made).graph_model
    values = {str(value.name): value for value in defined_values(model.graph)}
    return Inference(model), values


def read_without_operators(made: onnx.ModelProto) -> ir.Model:
    """Read a model that imports no version of the standard operators, so that inference fails."""
    del made.opset_import[:]
    made.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    return ir.from_proto(made)


LOOP = """(float[n] x, int64 trips, bool go, int64[k] s) => (float[] y) {{
    z, y = Loop (trips, go, x) <body = body (int64 i, bool going, float[] state)
        => (bool still, float[] next, {declared} one) {{
            still = Identity(going)
            next = Identity(state)
            one = {one}
            two = Mul(one, one)
        }}>
}}"""


class TestMistaken:
    """Whether ONNX Runtime may know a rank or sizes that no run has to have."""

    @pytest.mark.parametrize(
        ("node", "certain", "expected"),
        [
            ("Relu(x)", ("n", 3), False),
            ("Relu(x)", (2, 3), False),
            ("Relu(x)", (None, None), False),
            ("Relu(x)", ("n",), True),
            ("Relu(x)", None, True),
            ("Relu(w)", (2, 3), False),
            ("Relu(w)", (2, "m"), True),
            ("Relu(w)", (3, 3), True),
            ("Relu(w)", None, True),
            ("Reshape(x, s)", ("n", 3), False),
            ("Reshape(x, s)", None, False),
        ],
    )
    def test_of_a_node(self, node: str, certain: Shape | None, *, expected: bool) -> None:
        inference, values = inferred(
            parse(f"(float[n,3] x, float[2,3] w, int64[k] s) => (float[] y) {{ y = {node} }}")
        )
        assert inference.misinferred(values["y"], certain) is expected

    @pytest.mark.parametrize(("certain", "expected"), [((2,), False), ((3,), True), (None, True)])
    @pytest.mark.parametrize("elements", [2, 500], ids=["small", "large"])
    def test_of_an_initializer(
        self, elements: int, certain: Shape | None, *, expected: bool
    ) -> None:
        graph = "(float[n] x) => (float[] y) { y = Mul(x, w) }"
        inference, values = inferred(parse(graph, constants={"w": np.ones((2, elements))}))
        whole = None if certain is None else (*certain, elements)
        assert inference.misinferred(values["w"], whole) is expected

    @pytest.mark.parametrize(("declared", "expected"), [("float[3]", True), ("float[]", False)])
    def test_of_what_a_loop_collects_where_that_is_declared(
        self, declared: str, *, expected: bool
    ) -> None:
        inference, values = inferred(parse(LOOP.format(declared=declared, one="Reshape(x, s)")))
        assert inference.misinferred(values["y"], None) is expected
        assert inference.misinferred(values["one"], None) is expected

    def test_of_sizes_that_rest_on_vectors_too_long_to_follow(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(propagated_elements, "_MANY", 5)
        made = parse(LOOP.format(declared="float[3]", one="Reshape(x, s)"))
        inference, values = inferred(made)
        assert inference.misinferred(values["y"], ("m", 3))
        monkeypatch.setattr(propagated_elements, "_MANY", 6)
        inference, values = inferred(made)
        assert not inference.misinferred(values["y"], ("m", 3))

    @pytest.mark.parametrize(
        "graph",
        [
            "(float[2] x) => (float[2] y) { y = Relu(x) }",
            LOOP.replace("float[n] x", "float[2] x").format(
                declared="float[3]", one="Reshape(x, s)"
            ),
        ],
        ids=["without a loop", "with a loop"],
    )
    def test_of_anything_where_inference_fails(
        self, graph: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        made = parse(graph)
        model = read_without_operators(made)
        with caplog.at_level(logging.DEBUG, "sonnx_ort"):
            inference = Inference(model)
        assert inference.misinferred(model.graph.inputs[0], (2,))
        assert inference.element_type(model.graph.inputs[0]) is ir.DataType.FLOAT
        assert all(told.startswith("onnx.shape_inference failed: ") for told in caplog.messages)
        assert "opset" in caplog.messages[0]


def test_types_of_tensors_are_known_where_inference_fails() -> None:
    made = parse(LOOP.format(declared="float[3]", one="Mul(w, state)"))
    (body,) = subgraphs(made.graph.node)
    for name in ("w", "state"):
        tensor = onnx.numpy_helper.from_array(np.ones(2), name)
        onnx.external_data_helper.set_external_data(tensor, "w.bin")
        tensor.ClearField("raw_data")
        body.initializer.append(tensor)
    model = read_without_operators(made)
    values = {value.name: value for value in defined_values(model.graph)}
    inference = Inference(model)
    assert inference.element_type(values["w"]) is ir.DataType.DOUBLE
    assert inference.element_type(values["state"]) is None, "an input can be another"


def test_nothing_is_known_where_inference_speaks_of_an_unknown_type() -> None:
    inference, values = inferred(
        parse("""(float[2] x) => (float[2] z) {
            n, y = LayerNormalization<axis = 0, stash_type = 77>(x, x)
            z = Relu(x)
        }""")
    )
    assert [inference.element_type(values[name]) for name in "xyz"] == [
        ir.DataType.FLOAT,
        None,
        None,
    ]
    assert inference.misinferred(values["z"], (2,))


def test_nothing_is_known_of_an_output_that_is_left_out() -> None:
    made = parse("(float[2] x) => (float[?] y) { y, m = Dropout(x) }")
    made.graph.node[0].output[1] = ""
    model = load(made).graph_model
    inference, (_, left_out) = Inference(model), model.graph[0].outputs
    assert inference.element_type(left_out) is None
    assert inference.may_be_tensor(left_out)
    assert not inference.misinferred(left_out, (1,))


@pytest.mark.parametrize(
    ("declared", "node", "expected"),
    [
        ("float[n]", "com.example.Unknown(x)", True),
        ("seq(float[n])", "com.example.Unknown(x)", False),
        ("seq(float[n])", "SequenceConstruct(x)", False),
        ("float[n]", "Relu(x)", True),
    ],
)
def test_what_the_file_calls_a_sequence_is_no_tensor_unless_it_follows_that_it_is(
    declared: str, node: str, *, expected: bool
) -> None:
    made = parse(f"(float[n] x) => ({declared} y) {{ y = {node} }}", domains={"com.example": 1})
    inference, values = inferred(made)
    assert inference.may_be_tensor(values["y"]) is expected


def test_type_of_external_data_is_known() -> None:
    made = parse("(float[n] x) => (float[n] y) { y = Mul(x, w) }", constants={"w": np.ones(2)})
    (external,) = made.graph.initializer
    onnx.external_data_helper.set_external_data(external, "w.bin")
    external.ClearField("raw_data")
    model = ir.from_proto(made)
    assert Inference(model).element_type(model.graph.initializers["w"]) is ir.DataType.DOUBLE


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


def test_operator_of_our_domain_that_has_another_number_of_results_has_no_known_types() -> None:
    made = parse("(float[n] x) => (float[n] y) { y = sonnx.Div(x, x) }", domains={"sonnx": 1})
    model = ir.from_proto(made)
    assert Inference(model).element_type(model.graph.outputs[0]) is None


def test_text_that_is_not_utf_8_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    made = parse('(float[n] x) => (float[n] y) { y = com.example.Op<s = "?">(x) }')
    made.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    made.graph.node[0].attribute[0].s = b"\xff"
    model = load(made).graph_model
    with caplog.at_level(logging.WARNING, "onnx_ir"):
        Inference(model)
    assert caplog.messages == []


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

"""The types of results, which follow from schemas, attributes and bodies."""

import numpy as np
import onnx
import onnx.helper
import onnx_ir as ir
import onnxruntime as ort
import pytest

from sonnx_ort.analysis.values.value_types import ValueTypes
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.file_traversal import subgraphs
from sonnx_ort.loading.traversal import defined_values
from support.graphs import parse
from support.sessions import on_one_thread
from support.soundness.node_cases import node_cases


def types_in(made: onnx.ModelProto) -> dict[str, ir.TypeProtocol | None]:
    model = ir.from_proto(made)
    types = ValueTypes(model)
    return {str(value.name): types.type(value) for value in defined_values(model.graph)}


def tensor(name: str) -> ir.TypeProtocol:
    return ir.TensorType(ir.DataType[name])


def sequence(name: str) -> ir.TypeProtocol:
    return ir.SequenceType(tensor(name))


OF_NODES = {
    "Relu(h)": tensor("FLOAT16"),
    "Shape(h)": tensor("INT64"),
    "Cast<to = 7>(x)": tensor("INT64"),
    "CastLike(x, k)": tensor("INT64"),
    'Constant<value_strings = ["a"]>()': tensor("STRING"),
    "Constant<value_float = 1.0>()": tensor("FLOAT"),
    "Constant<value = double[1] {1}>()": tensor("DOUBLE"),
    "ConstantOfShape(k)": tensor("FLOAT"),
    "ConstantOfShape<value = int32[1] {1}>(k)": tensor("INT32"),
    "EyeLike(h)": tensor("FLOAT16"),
    "EyeLike<dtype = 11>(h)": tensor("DOUBLE"),
    "Bernoulli<dtype = 9>(x)": tensor("BOOL"),
    "RandomNormal<shape = [2]>()": tensor("FLOAT"),
    "RandomUniform<shape = [2], dtype = 11>()": tensor("DOUBLE"),
    "RandomNormalLike(h)": tensor("FLOAT16"),
    "Multinomial(x)": tensor("INT32"),
    "HannWindow(one)": tensor("FLOAT"),
    "HannWindow<output_datatype = 11>(one)": tensor("DOUBLE"),
    "QuantizeLinear(x, x)": tensor("UINT8"),
    "QuantizeLinear(x, x, zero)": tensor("INT8"),
    "DequantizeLinear(zero, x)": tensor("FLOAT"),
    "Where(less, h, h)": tensor("FLOAT16"),
    "Less(x, x)": tensor("BOOL"),
    "SequenceEmpty()": sequence("FLOAT"),
    "SequenceEmpty<dtype = 7>()": sequence("INT64"),
    "SequenceConstruct(h, h)": sequence("FLOAT16"),
    "SplitToSequence(k)": sequence("INT64"),
    "SequenceAt(s, one)": tensor("DOUBLE"),
    "ConcatFromSequence<axis = 0>(s)": tensor("DOUBLE"),
    "SequenceInsert(s, d)": sequence("DOUBLE"),
    "SequenceLength(s)": tensor("INT64"),
    "Optional(s)": ir.OptionalType(sequence("DOUBLE")),
    "OptionalGetElement(o)": tensor("FLOAT"),
    "OptionalGetElement(x)": tensor("FLOAT"),
    "OptionalHasElement(o)": tensor("BOOL"),
    "com.example.Unknown(x)": None,
    "Unheard(x)": None,
}


@pytest.mark.parametrize("node", OF_NODES)
def test_type_of_a_result_follows_from_operands_and_attributes(node: str) -> None:
    made = parse(
        "(float[2] x, float16[2] h, double[2] d, int64[k] k, int64 one, int8 zero, bool[2] less,"
        f" seq(double[2]) s, optional(float[2]) o) => (float[] y) {{ y = {node} }}",
        opset=21,
        domains={"com.example": 1},
    )
    model = ir.from_proto(made)
    assert ValueTypes(model).type(model.graph.outputs[0]) == OF_NODES[node]


BODIES = {
    "a branch": (
        (
            "y = If(c)<then_branch = t () => (float[] a) { a = Cast<to = 11>(x) },"
            " else_branch = e () => (float[] b) { b = Cast<to = 11>(x) }>"
        ),
        {"a": tensor("DOUBLE"), "y": tensor("DOUBLE")},
    ),
    "branches that differ": (
        (
            "y = If(c)<then_branch = t () => (float[] a) { a = Cast<to = 11>(x) },"
            " else_branch = e () => (float[] b) { b = Identity(x) }>"
        ),
        {"b": tensor("FLOAT"), "y": None},
    ),
    "a Loop": (
        (
            "y, all = Loop(n, c, x)<body = b (int64 i, bool go, float[] s)"
            " => (bool on, float[] r, float[] each) { on = Identity(go) r = Neg(s)"
            " each = Cast<to = 6>(i) }>"
        ),
        {
            "i": tensor("INT64"),
            "go": tensor("BOOL"),
            "s": tensor("FLOAT"),
            "y": tensor("FLOAT"),
            "all": tensor("INT32"),
        },
    ),
    "a Scan": (
        (
            "y, all = Scan<num_scan_inputs = 1, body = b (float[] s, float[] e)"
            " => (float[] r, float[] each) { r = Neg(s) each = Less(e, e) }>(x, x)"
        ),
        {"e": tensor("FLOAT"), "y": tensor("FLOAT"), "all": tensor("BOOL")},
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_types_flow_into_bodies_and_back(name: str) -> None:
    graph, expected = BODIES[name]
    found = types_in(parse(f"(float[2] x, int64 n, bool c) => (float[] y) {{ {graph} }}"))
    assert {key: found[key] for key in expected} == expected


def test_scan_with_batches_passes_the_lengths_of_its_sequences_to_nothing() -> None:
    made = parse(
        "(float[1, 2] s, float[1, 3, 2] x) => (float[] y, float[] z) {"
        " y, z = Scan<num_scan_inputs = 1, body = b (float[2] t, float[2] e)"
        ' => (float[2] r, float[2] o) { r = Add(t, e) o = Neg(r) }>("", s, x) }',
        opset=8,
    )
    found = types_in(made)
    assert [found[name] for name in ("t", "e", "y", "z")] == [tensor("FLOAT")] * 4


@pytest.mark.thorough
def test_results_of_all_operators_have_the_types_that_sessions_require() -> None:
    """ONNX Runtime starts no session of a model that declares another type than it derives."""
    compared = 0
    for test in node_cases():
        try:
            model = load(test.model).graph_model
        except InvalidModel:
            continue
        types = ValueTypes(model)
        for value, declared in zip(model.graph.outputs, test.model.graph.output, strict=True):
            found = types.type(value)
            told = ir.serde.deserialize_type_proto_for_type(declared.type)
            assert found in (None, told), (test.name, value.name)
            assert found is not None or "preview" in test.name or test.name in UNKNOWN, test.name
            compared += 1
    assert compared > 1000


UNKNOWN = {
    *("test_adagrad", "test_adagrad_multiple", "test_adam", "test_adam_multiple"),
    *("test_momentum", "test_momentum_multiple", "test_nesterov_momentum"),
}
"""Tests of operators for training, whose results have types of their own."""


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("node", ["EyeLike(x)", "QuantizeLinear(x, w)", "Dropout(x)", "TopK(x, k)"])
def test_results_have_the_types_that_a_session_tells(node: str, opset: int) -> None:
    outputs = ["y", "z"] if node.startswith(("Dropout", "TopK")) else ["y"]
    made = parse(
        f"(float[2,2] x, float w, int64[1] k) => ({', '.join(outputs)})"
        f" {{ {', '.join(outputs)} = {node} }}",
        opset=opset,
    )
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    found = types_in(made)
    told = {each.name: each.type for each in session.get_outputs()}
    assert {name: f"tensor({str(found[name]).lower()})" for name in outputs} == told


def test_type_of_an_overridden_initializer_of_a_body_is_that_of_the_input() -> None:
    made = parse(
        """(float[n] x, int64 trips, bool go) => (float[] y) {
            z, y = Loop (trips, go, x) <body = body (int64 i, bool going, float[] state)
                => (bool still, float[] next, float[3] one) {
                    still = Identity(going) next = Identity(state) one = Mul(w, w) }>
        }"""
    )
    (body,) = subgraphs(made.graph.node)
    for name in ("w", "state"):
        held = onnx.numpy_helper.from_array(np.ones(2), name)
        onnx.external_data_helper.set_external_data(held, "w.bin")
        held.ClearField("raw_data")
        body.initializer.append(held)
    model = ir.from_proto(made)
    types, values = ValueTypes(model), {v.name: v for v in defined_values(model.graph)}
    assert types.element_type(values["w"]) is ir.DataType.DOUBLE
    assert types.element_type(values["one"]) is ir.DataType.DOUBLE
    assert types.element_type(values["state"]) is ir.DataType.FLOAT


def test_nothing_is_known_of_an_output_that_is_left_out() -> None:
    made = parse("(float[2] x) => (float[?] y) { y, m = Dropout(x) }")
    made.graph.node[0].output[1] = ""
    model = load(made).graph_model
    types, (_, left_out) = ValueTypes(model), model.graph[0].outputs
    assert types.element_type(left_out) is None
    assert types.may_be_tensor(left_out)


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
    model = load(made).graph_model
    assert ValueTypes(model).may_be_tensor(model.graph.outputs[0]) is expected


def test_operator_of_our_domain_that_has_another_number_of_results_has_no_known_types() -> None:
    made = parse("(float[n] x) => (float[n] y) { y = sonnx.Div(x, x) }", domains={"sonnx": 1})
    model = ir.from_proto(made)
    assert ValueTypes(model).element_type(model.graph.outputs[0]) is None


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ('LabelEncoder<keys_strings = ["a"], values_int64s = [1]>(t)', tensor("INT64")),
        ("LinearClassifier<coefficients = [1.0], classlabels_ints = [1]>(x)", tensor("INT64")),
        (
            'LinearClassifier<coefficients = [1.0], classlabels_strings = ["a"]>(x)',
            tensor("STRING"),
        ),
        ("Scaler<offset = [0.0], scale = [1.0]>(x)", tensor("FLOAT")),
    ],
)
def test_types_of_classifiers_follow_from_their_labels(
    node: str, expected: ir.TypeProtocol
) -> None:
    made = parse(
        f"(float[1, 1] x, string[1] t) => (float[] y) {{ y = ai.onnx.ml.{node} }}",
        domains={"ai.onnx.ml": 3},
    )
    model = ir.from_proto(made)
    assert ValueTypes(model).type(model.graph.outputs[0]) == expected


def test_map_of_a_classifier_is_held_as_the_graph_library_reads_it() -> None:
    made = parse(
        "(float[1, 1] x) => (float[] y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [1]>(x) }",
        domains={"ai.onnx.ml": 3},
    )
    model = ir.from_proto(made)
    types = ValueTypes(model)
    assert types.element_type(model.graph.outputs[0]) is ir.DataType.FLOAT
    assert not types.may_be_tensor(model.graph.outputs[0])


def test_attribute_that_names_no_type_says_nothing() -> None:
    x = ir.val("x", ir.DataType.FLOAT, [2])
    cast = ir.node("Cast", [x], {"to": ""})
    graph = ir.Graph([x], cast.outputs, nodes=[cast], opset_imports={"": 1})
    assert ValueTypes(ir.Model(graph, ir_version=4)).type(cast.outputs[0]) is None

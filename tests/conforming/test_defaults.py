"""What ONNX assumes where something is left out stands in the conformed model."""

import numpy as np
import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.conformed import require_same_bits
from support.graphs import parse

ATTRIBUTES: dict[str, tuple[str, dict[str, object], tuple[int, ...]]] = {
    "Softmax": ("Softmax(x)", {"axis": 3}, (1, 2, 5, 5)),
    "MaxPool": (
        "MaxPool <kernel_shape = [2,2]> (x)",
        {"kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0],
         "auto_pad": b"NOTSET", "ceil_mode": 0, "storage_order": 0},
        (1, 2, 5, 5)),
    "Conv": (
        "Conv(x, w)",
        {"kernel_shape": [3, 3], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0],
         "auto_pad": b"NOTSET", "group": 1},
        (1, 2, 5, 5)),
    "ReduceMax": ("ReduceMax(x)", {"axes": [0, 1, 2, 3], "keepdims": 1}, (1, 2, 5, 5)),
    "ReduceMean": ("ReduceMean(x)", {"axes": [0, 1, 2, 3], "keepdims": 1}, (2, 3, 40, 50)),
    "Resize": (
        "Resize(x, , scales)",
        {"axes": [0, 1, 2, 3], "antialias": 0, "exclude_outside": 0, "mode": b"nearest",
         "coordinate_transformation_mode": b"half_pixel", "cubic_coeff_a": -0.75,
         "extrapolation_value": 0.0, "keep_aspect_ratio_policy": b"stretch",
         "nearest_mode": b"round_prefer_floor"},
        (1, 2, 5, 5)),
    "Shape": ("Cast <to = 1> (s) s = Shape(x)", {"start": 0, "end": 4}, (1, 2, 5, 5)),
}  # fmt: skip


def written(model: onnx.ModelProto, operator: str) -> dict[str, object]:
    (node,) = [node for node in model.graph.node if node.op_type == operator]
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def with_attributes(operator: str) -> onnx.ModelProto:
    node, _, shape = ATTRIBUTES[operator]
    first, _, last = node.partition(" s = ")
    order = f"s = {last} y = {first}" if last else f"y = {first}"
    return parse(
        f"""(float[{",".join(map(str, shape))}] x) => (float[] y)
        <float[2,2,3,3] w = {{{", ".join(["0.5"] * 36)}}}, float[4] scales = {{1, 1, 2, 0.6}}>
        {{ {order} }}""",
        opset=18 if operator == "Resize" else 17,
    )


@pytest.mark.parametrize("operator", ATTRIBUTES)
def test_attributes_are_written(operator: str) -> None:
    after = sonnx_ort.conform(with_attributes(operator)).model
    assert written(after, operator) == ATTRIBUTES[operator][1]


@pytest.mark.parametrize("operator", ATTRIBUTES)
def test_attributes_change_no_result(operator: str) -> None:
    before = with_attributes(operator)
    x = np.random.default_rng(0).normal(size=ATTRIBUTES[operator][2]).astype(np.float32)
    require_same_bits(before, sonnx_ort.conform(before).model, {"x": x})


INPUTS = {
    "Pad": ("Pad(x, p)", {"constant_value": 0.0}, 13),
    "Pad of version 18": ("Pad(x, p)", {"constant_value": 0.0, "axes": [0, 1]}, 18),
    "Pad of the edge": ('Pad <mode = "edge"> (x, p)', {"constant_value": 0.0}, 11),
    "Pad by reflection": ('Pad <mode = "reflect"> (x, p)', {"constant_value": 0.0}, 17),
    "Split": ("Split <axis = 1> (x)", {"split": [3]}, 13),
    "Split of version 18": ("Split <axis = 0, num_outputs = 1> (x)", {"split": [2]}, 18),
    "Clip": ("Clip(x)", {"min": np.finfo(np.float32).min, "max": np.finfo(np.float32).max}, 13),
    "Clip from below": ("Clip(x, lowest)", {"max": np.finfo(np.float32).max}, 13),
    "ReduceSum": ("ReduceSum <keepdims = 0> (x)", {"axes": [0, 1]}, 13),
    "ReduceMax": ("ReduceMax <keepdims = 0> (x)", {"axes": [0, 1]}, 18),
}


def with_inputs(case: str) -> onnx.ModelProto:
    node, _, opset = INPUTS[case]
    model = parse(f"""(float[2,3] x) => (float[] y)
        <int64[4] p = {{0, 1, 0, 1}}, float lowest = {{-1}}> {{ y = {node} }}""")
    model.opset_import[0].version = opset
    return model


@pytest.mark.parametrize("case", INPUTS)
def test_inputs_are_given(case: str) -> None:
    _, expected, opset = INPUTS[case]
    before = with_inputs(case)
    after = sonnx_ort.conform(before).model
    (node,) = after.graph.node
    schema = onnx.defs.get_schema(node.op_type, opset)
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in after.graph.initializer}
    names = {p.name: n for p, n in zip(schema.inputs, node.input, strict=False)}
    for name, elements in expected.items():
        np.testing.assert_array_equal(stored[names[name]], elements)


@pytest.mark.parametrize("case", INPUTS)
def test_inputs_change_no_result(case: str) -> None:
    before = with_inputs(case)
    x = np.array([[np.inf, -np.inf, np.nan], [-0.0, 3.4e38, 1]], np.float32)
    require_same_bits(before, sonnx_ort.conform(before).model, {"x": x})


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_bias_of_a_convolution_changes_no_result(kind: str) -> None:
    """Its zeros are negative: they keep the sign of a sum that is too small for its type."""
    dtype, small = {"float": (np.float32, 1e-23), "float16": (np.float16, 1e-4)}[kind]
    kernel = np.full((3, 1, 2, 2), small, dtype)
    before = parse(
        f"({kind}[1,1,3,3] x) => ({kind}[] y) {{ y = Conv(x, w) }}", constants={"w": kernel}
    )
    after = sonnx_ort.conform(before).model
    (bias,) = [t for t in after.graph.initializer if t.name == after.graph.node[0].input[2]]
    stored = onnx.numpy_helper.to_array(bias)
    assert (stored.dtype, stored.shape, np.signbit(stored).all()) == (dtype, (3,), True)
    assert not stored.any()
    x = np.full((1, 1, 3, 3), -small, dtype)
    require_same_bits(before, after, {"x": x}, {"x": x * 0}, {"x": np.full_like(x, np.nan)})


def test_bias_stays_open_if_a_run_tells_the_number_of_outputs() -> None:
    model = parse("(float[1,2,4,4] x, float[m,2,2,2] w) => (float[] y) { y = Conv(x, w) }")
    assert {o.rule.id for o, _ in sonnx_ort.conform(model).remaining} == {"Graph.edges"}


POOL = """(float[n,1,4,4] x) => (float[n,1,2,2] y)
    { [pool] y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }"""
IN_A_BRANCH = """(float[1,1,4,4] x, bool c) => (float[1,1,2,2] y) { y = If(c) <
    then_branch = t () => (float[1,1,2,2] p) { p = MaxPool<kernel_shape = [2, 2]>(x) },
    else_branch = e () => (float[1,1,2,2] q) { q = AveragePool<kernel_shape = [2, 2]>(x) }>
}"""
NAMED = "name_outputs=True fixes it: the output becomes one of the model"
ADDED = "make outputs that are left out or unread outputs of the graph"


def test_output_that_is_left_out_becomes_an_output_of_the_graph_if_it_may() -> None:
    made = sonnx_ort.conform(parse(POOL), name_outputs=True)
    y, indices = made.model.graph.output
    assert (y.name, indices.name) == ("y", "y_indices")
    declared = indices.type.tensor_type
    assert declared.elem_type == onnx.TensorProto.INT64
    assert [d.dim_param or d.dim_value for d in declared.shape.dim] == ["n", 1, 2, 2]
    assert made.remaining == ()
    (change,) = (each for each in made.changes if each.title == ADDED)
    assert (change.safety, change.rules) == ("interface", ("Graph.edges",))
    assert sonnx_ort.conform(made.model, name_outputs=True).changes == ()


def test_output_that_is_left_out_stays_out_of_itself() -> None:
    made = sonnx_ort.conform(parse(POOL))
    assert [value.name for value in made.model.graph.output] == ["y"]
    (left,) = made.remaining
    assert left[1] == NAMED


def test_added_output_is_no_difference_to_the_original() -> None:
    made = sonnx_ort.conform(parse(POOL), name_outputs=True, verify=True)
    assert [value.name for value in made.model.graph.output] == ["y", "y_indices"]
    assert made.left_out == ()


UNREAD = """(float[6] x) => (float[3] a) { [split] a, b = Split<axis = 0>(x, parts) }"""


def unread() -> onnx.ModelProto:
    return parse(UNREAD, constants={"parts": np.array([3, 3])}, opset=13)


def test_output_that_nothing_reads_becomes_an_output_of_the_graph_if_it_may() -> None:
    made = sonnx_ort.conform(unread(), name_outputs=True, verify=True)
    assert [value.name for value in made.model.graph.output] == ["a", "b"]
    assert [d.dim_value for d in made.model.graph.output[1].type.tensor_type.shape.dim] == [3]
    assert (made.remaining, made.left_out) == ((), ())
    (change,) = (each for each in made.changes if each.title == ADDED)
    assert (change.node, change.safety, change.rules) == ("b", "interface", ("Graph.unread",))


def test_output_that_nothing_reads_stays_inside_of_itself() -> None:
    made = sonnx_ort.conform(unread())
    assert [value.name for value in made.model.graph.output] == ["a"]
    assert [(o.rule.id, reason) for o, reason in made.remaining] == [("Graph.unread", NAMED)]


def test_output_that_a_node_in_a_branch_leaves_out_stays_out() -> None:
    made = sonnx_ort.conform(parse(IN_A_BRANCH), name_outputs=True)
    assert [value.name for value in made.model.graph.output] == ["y"]
    (reason,) = (reason for o, reason in made.remaining if o.rule.id == "Graph.edges")
    assert reason == (
        "no change fixes it: name the output, and read it or make it an output of the subgraph"
    )


LAST_STATES = """(float[5,2,3] x) => (float[] y{output}) {{
    y{states} = LSTM<hidden_size = 4>(x, w, r) }}"""


@pytest.mark.parametrize(
    ("output", "states", "outputs"),
    [
        ("", ", h, c", ["y"]),
        (", float[] h", ", h, c", ["y", "h"]),
        (", float[] c", ", h, c", ["y", "", "c"]),
    ],
)
def test_output_that_no_draft_defines_is_left_out_if_nothing_reads_it(
    output: str, states: str, outputs: list[str]
) -> None:
    rng = np.random.default_rng(0)
    model = parse(
        LAST_STATES.format(output=output, states=states),
        constants={
            "w": rng.normal(size=(1, 16, 3)).astype(np.float32),
            "r": rng.normal(size=(1, 16, 4)).astype(np.float32),
        },
    )
    conformed = sonnx_ort.conform(model, name_outputs=True)
    (layer,) = (node for node in conformed.model.graph.node if node.op_type == "LSTM")
    assert list(layer.output) == outputs
    found = [o.evidence for o, _ in conformed.remaining if " output " in o.evidence]
    undefined = {"h": "Y_h", "c": "Y_c"}
    assert found == [
        f"the output '{undefined[name]}' is given, and the draft does not define it"
        for name in outputs[1:]
        if name
    ]
    x = rng.normal(size=(5, 2, 3)).astype(np.float32)
    require_same_bits(model, conformed.model, {"x": x})


PARTS = {
    "as an attribute": (11, 6, "", [2, 2, 2]),
    "as an input": (13, 6, "", [2, 2, 2]),
    "of a smaller last one": (18, 7, ", num_outputs = 3", [3, 3, 1]),
    "of an empty last one": (18, 4, ", num_outputs = 3", [2, 2, 0]),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_a_split_are_given(case: str) -> None:
    opset, size, number, expected = PARTS[case]
    model = parse(
        f"(float[2,{size}] x) => (float[] a, float[] b, float[] c)"
        f" {{ a, b, c = Split<axis = -1{number}>(x) }}",
        opset=opset,
    )
    made = sonnx_ort.conform(model).model
    attributes = written(made, "Split")
    stored = [onnx.numpy_helper.to_array(t).tolist() for t in made.graph.initializer]
    assert [attributes.get("split", *stored), set(attributes) - {"split"}] == [expected, {"axis"}]
    x = np.random.default_rng(0).normal(size=(2, size)).astype(np.float32)
    require_same_bits(model, made, {"x": x})


def test_parts_of_a_split_stay_open_if_a_run_tells_the_size() -> None:
    model = parse("(float[n] x) => (float[] a, float[] b) { a, b = Split<axis = 0>(x) }")
    assert "GR4" in {o.rule.id for o, _ in sonnx_ort.conform(model).remaining}


def test_frame_of_a_spectrum_is_as_long_as_its_window() -> None:
    model = parse(
        "(float[b,n] x) => (float[b,f,k,2] y) { y = STFT(x, step, window) }",
        constants={"step": np.array(3, np.int32), "window": np.ones(8, np.float32)},
    )
    made = sonnx_ort.conform(model).model
    (length,) = {t.name for t in made.graph.initializer} - {"step", "window"}
    (stored,) = [t for t in made.graph.initializer if t.name == length]
    assert onnx.numpy_helper.to_array(stored) == np.array(8, np.int32)
    x = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    require_same_bits(model, made, {"x": x}, {"x": x[:0]}, {"x": x[:, :8]})


LAYERS = {
    "LSTM": (4, "", ["Sigmoid", "Tanh", "Tanh"]),
    "LSTM of two directions": (4, ', direction = "bidirectional"', ["Sigmoid", "Tanh", "Tanh"] * 2),
    "GRU": (3, "", ["Sigmoid", "Tanh"]),
}


@pytest.mark.parametrize("case", LAYERS)
@pytest.mark.parametrize("opset", [7, 14])
def test_activations_are_written_without_parameters_that_they_do_not_have(
    case: str, opset: int
) -> None:
    gates, direction, activations = LAYERS[case]
    directions = 2 if direction else 1
    operator = case.split(maxsplit=1)[0]
    rng = np.random.default_rng(0)
    model = parse(
        f"(float[5,2,3] x) => (float[] y)"
        f" {{ y = {operator}<hidden_size = 4{direction}>(x, w, r) }}",
        constants={
            "w": rng.normal(size=(directions, 4 * gates, 3)).astype(np.float32),
            "r": rng.normal(size=(directions, 4 * gates, 4)).astype(np.float32),
        },
        opset=opset,
    )
    conformed = sonnx_ort.conform(model, ignore="LSTM")
    attributes = written(conformed.model, operator)
    assert [name.decode() for name in attributes["activations"]] == activations
    assert not attributes.keys() & {"activation_alpha", "activation_beta", "clip"}
    assert not [
        o for o, _ in conformed.remaining if "activation" in o.evidence or "clip" in o.evidence
    ]
    x = rng.normal(size=(5, 2, 3)).astype(np.float32)
    require_same_bits(model, conformed.model, {"x": x})


SEQUENCES = {
    "GRU": "(float[5,2,3] x) => (float[] y) { y = GRU<hidden_size = 4>(x, w, r, b) }",
    "GRU of two directions": "(float[5,2,3] x) => (float[] y)"
    ' { y = GRU<hidden_size = 4, direction = "bidirectional">(x, w, r, b) }',
}


def of_sequences(case: str) -> onnx.ModelProto:
    directions, rng = 2 if "directions" in case else 1, np.random.default_rng(0)
    sizes = {"w": (12, 3), "r": (12, 4), "b": (24,)}
    constants = {
        name: rng.normal(size=(directions, *each)).astype(np.float32)
        for name, each in sizes.items()
    }
    return parse(SEQUENCES[case], constants=constants, opset=14)


@pytest.mark.parametrize("case", SEQUENCES)
def test_lengths_and_first_states_of_sequences_are_given(case: str) -> None:
    before = of_sequences(case)
    made = sonnx_ort.conform(before, name_outputs=True)
    (node,) = made.model.graph.node
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in made.model.graph.initializer}
    np.testing.assert_array_equal(stored[node.input[4]], np.full(2, 5, np.int32))
    state = np.zeros((2 if "directions" in case else 1, 2, 4), np.float32)
    np.testing.assert_array_equal(stored[node.input[5]], state)
    assert made.remaining == ()
    x = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(np.float32)
    x[1, 0] = np.nan, np.inf, -0.0
    require_same_bits(before, sonnx_ort.conform(before).model, {"x": x})


OPEN_SEQUENCES = {
    "an open length": "float[n,2,3] x",
    "an open number": "float[5,n,3] x",
    "the number first": "float[2,5,3] x",
}


@pytest.mark.parametrize("case", OPEN_SEQUENCES)
def test_lengths_of_sequences_stay_open_with(case: str) -> None:
    layout = ", layout = 1" if case == "the number first" else ""
    model = parse(
        f"({OPEN_SEQUENCES[case]}, float[1,12,3] w, float[1,12,4] r, float[1,24] b)"
        f" => (float[] y) {{ y = GRU<hidden_size = 4{layout}>(x, w, r, b) }}"
    )
    left = [o.evidence for o, _ in sonnx_ort.conform(model).remaining if o.rule.id == "GR4"]
    assert any("'sequence_lens' is left out" in evidence for evidence in left)


def test_scales_of_other_activations_stay_open() -> None:
    model = parse(
        "(float[5,2,3] x, float[1,12,3] w, float[1,12,4] r) => (float[] y)"
        ' { y = GRU<hidden_size = 4, activations = ["HardSigmoid", "Tanh"]>(x, w, r) }'
    )
    left = [o.evidence for o, _ in sonnx_ort.conform(model).remaining if o.rule.id == "GR4"]
    assert len([evidence for evidence in left if "activation_" in evidence]) == 2


def test_types_and_shapes_are_written() -> None:
    after = sonnx_ort.conform(
        parse("(float[n,3] x) => (float[n,3] y) { a = Neg(x) y = Abs(a) }")
    ).model
    (a,) = after.graph.value_info
    assert a.type == after.graph.input[0].type


def test_types_alone_are_written_if_they_alone_are_chosen() -> None:
    model = parse("(float[n,3] x) => (float[n,3] y) { a = Neg(x) y = Abs(a) }")
    (a,) = sonnx_ort.conform(model, select="GR2").model.graph.value_info
    assert not a.type.tensor_type.HasField("shape")


def test_attributes_of_a_node_are_written_if_a_rule_of_its_operator_is_chosen() -> None:
    model = parse("""(float[1,2,5,5] x) => (float[] y)
        { p = MaxPool <kernel_shape = [2,2]> (x) y = Softmax(p) }""")
    after = sonnx_ort.conform(model, select="MaxPool").model
    assert "storage_order" in written(after, "MaxPool")
    assert written(after, "Softmax") == {}


@pytest.mark.parametrize(
    ("rule", "beginning"), [("GR4", "'initial_h': "), ("Graph.edges", ""), ("LSTM.initial_h", "")]
)
def test_each_rule_on_an_input_names_the_option_that_gives_it(rule: str, beginning: str) -> None:
    model = parse(
        "(float[12,batch,3] x, float[1,4,3] w, float[1,4,1] r) => (float[] y)"
        " { y = LSTM<hidden_size = 1>(x, w, r) }"
    )
    left = [
        reason
        for obligation, reason in sonnx_ort.conform(model).remaining
        if obligation.rule.id == rule and "initial_h" in obligation.evidence
    ]
    reason = "the number of the sequences of 'x' depends on the input"
    fix = "fix it: assume_shapes={'x': (12, 1, 3)}"
    assert left == [f"{beginning}initial_h must be constant, but {reason}; {fix}"]

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
        {
            "kernel_shape": [2, 2],
            "strides": [1, 1],
            "dilations": [1, 1],
            "pads": [0, 0, 0, 0],
            "auto_pad": b"NOTSET",
            "ceil_mode": 0,
            "storage_order": 0,
        },
        (1, 2, 5, 5),
    ),
    "Conv": (
        "Conv(x, w)",
        {
            "kernel_shape": [3, 3],
            "strides": [1, 1],
            "dilations": [1, 1],
            "pads": [0, 0, 0, 0],
            "auto_pad": b"NOTSET",
            "group": 1,
        },
        (1, 2, 5, 5),
    ),
    "Shape": ("Cast <to = 1> (s) s = Shape(x)", {"start": 0, "end": 4}, (1, 2, 5, 5)),
}


def written(model: onnx.ModelProto, operator: str) -> dict[str, object]:
    (node,) = [node for node in model.graph.node if node.op_type == operator]
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def with_attributes(operator: str) -> onnx.ModelProto:
    node, _, shape = ATTRIBUTES[operator]
    first, _, last = node.partition(" s = ")
    order = f"s = {last} y = {first}" if last else f"y = {first}"
    return parse(f"""(float[{",".join(map(str, shape))}] x) => (float[] y)
        <float[2,2,3,3] w = {{{", ".join(["0.5"] * 36)}}}> {{ {order} }}""")


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


def test_types_and_shapes_are_written() -> None:
    after = sonnx_ort.conform(
        parse("""(float[n,3] x) => (float[n,3] y) {
        a = Neg(x) y = Abs(a)
    }""")
    ).model
    (a,) = after.graph.value_info
    assert a.type == after.graph.input[0].type


def test_types_alone_are_written_if_they_alone_are_chosen() -> None:
    model = parse("(float[n,3] x) => (float[n,3] y) { a = Neg(x) y = Abs(a) }")
    (a,) = sonnx_ort.conform(model, select="GR2").model.graph.value_info
    assert not a.type.tensor_type.HasField("shape")


def test_attributes_of_a_node_are_written_if_a_rule_of_its_operator_is_chosen() -> None:
    model = parse("""(float[1,2,5,5] x) => (float[] y) {
        p = MaxPool <kernel_shape = [2,2]> (x) y = Softmax(p)
    }""")
    after = sonnx_ort.conform(model, select="MaxPool").model
    assert "storage_order" in written(after, "MaxPool")
    assert written(after, "Softmax") == {}

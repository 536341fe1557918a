"""Div and Sub have two inputs, one output, and no attribute that their version does not have."""

import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.graphs import binary_model, parse

OPERATORS = pytest.mark.parametrize("operator", ["Div", "Sub"])


def the_node(made: onnx.ModelProto) -> onnx.NodeProto:
    (node,) = made.graph.node
    return node


@pytest.mark.satisfies(
    "Div.typed.real.signature Div.typed.float.signature Div.preliminary.signature",
    "Sub.preliminary.signature Div.onnx.operands",
)
@OPERATORS
@pytest.mark.parametrize("inputs", [[], ["A"], ["A", ""], ["A", "B", "A"]], ids=str)
def test_other_number_of_inputs_is_invalid(operator, inputs):
    made = binary_model(operator, "float", [2], [2])
    the_node(made).input[:] = inputs
    with pytest.raises(sonnx_ort.InvalidModel, match=r"^the model is not valid ONNX: .*the_node"):
        sonnx_ort.check(made, operators="default")


@pytest.mark.satisfies(
    "Div.typed.real.signature Div.typed.float.signature Div.preliminary.signature",
    "Sub.preliminary.signature",
)
@OPERATORS
def test_second_output_is_invalid(operator):
    made = binary_model(operator, "float", [2], [2])
    the_node(made).output.append("D")
    with pytest.raises(sonnx_ort.InvalidModel, match="the_node"):
        sonnx_ort.check(made, operators="default")


@pytest.mark.satisfies(
    "Div.typed.real.attributes Div.typed.float.attributes Div.preliminary.attributes",
    "Sub.preliminary.attributes",
)
@OPERATORS
@pytest.mark.parametrize("name", ["axis", "broadcast", "consumed_inputs", "rounding"])
def test_attribute_is_invalid(operator, name):
    made = binary_model(operator, "float", [2], [2])
    the_node(made).attribute.append(helper.make_attribute(name, 1))
    with pytest.raises(sonnx_ort.InvalidModel, match=name):
        sonnx_ort.check(made, operators="default")


@pytest.mark.satisfies(
    "Div.typed.real.attributes Div.typed.float.attributes Div.preliminary.attributes",
    "Sub.preliminary.attributes",
)
@OPERATORS
@pytest.mark.parametrize("edition", ["typed", "preliminary"])
def test_node_without_attributes_is_accepted(operator, edition):
    made = binary_model(operator, "float", [2], [2])
    assert sonnx_ort.check(made, operators="default", edition=edition).ok


@pytest.mark.satisfies("Concat.draft.count")
def test_concat_of_nothing_is_invalid():
    made = parse("(float[2] A) => (float[2] C) { [the_node] C = Concat<axis = 0>(A) }")
    sonnx_ort.check(made, operators="default")
    the_node(made).input[:] = []
    with pytest.raises(sonnx_ort.InvalidModel, match="the_node"):
        sonnx_ort.check(made, operators="default")

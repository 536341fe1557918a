"""A type that a version of an operator does not take makes a model invalid, as in ONNX Runtime."""

import onnx.defs
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.knowledge.value_types import numeric_types
from sonnx_ort.profile.element_type import ElementType
from support.backends import on_each_backend
from support.graphs import binary_model, parse

FIRST = {
    ElementType.FLOAT16: 1,
    ElementType.FLOAT: 1,
    ElementType.DOUBLE: 1,
    ElementType.INT32: 6,
    ElementType.INT64: 6,
    ElementType.UINT32: 6,
    ElementType.UINT64: 6,
    ElementType.BFLOAT16: 13,
    ElementType.INT8: 14,
    ElementType.INT16: 14,
    ElementType.UINT8: 14,
    ElementType.UINT16: 14,
}
"""The first version of Div and Sub that takes each type."""

VERSIONS = [1, 6, 7, 13, 14]


@pytest.mark.satisfies(
    "Div.onnx.types_1",
    "Div.onnx.types_7",
    "Div.onnx.types_13",
    "Div.onnx.types_14",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("element_type", FIRST)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_type_is_taken_from_its_version_on(
    operator: str, element_type: ElementType, version: int
) -> None:
    made = binary_model(operator, element_type, [2], [2], opset=version, node="the_node")
    if version >= FIRST[element_type]:
        assert sonnx_ort.check(made, operators="default").ok
        return
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(made, operators="default")
    assert str(caught.value) == (
        f"{operator} 'the_node': A is {element_type}, which {operator} supports from version "
        f"{FIRST[element_type]} of the standard operators on, but the model imports version "
        f"{version}; convert the model, for example with onnx.version_converter"
    )


@on_each_backend
@pytest.mark.parametrize(("element_type", "version"), [("int32", 1), ("bfloat16", 7), ("int8", 13)])
def test_no_backend_makes_such_a_model_run(element_type: str, version: int) -> None:
    made = binary_model("Div", element_type, [2], [2], opset=version)
    with pytest.raises(sonnx_ort.InvalidModel):
        sonnx_ort.rewrite(made)
    with pytest.raises(Exception, match=r"invalid|Could not find an implementation"):
        ort.InferenceSession(made.SerializeToString())


def test_type_that_is_not_numeric_breaks_a_rule_and_not_the_model() -> None:
    report = sonnx_ort.check(binary_model("Div", "bool", [2], [2], opset=7), operators="default")
    assert [o.rule.id for o in report.violations] == ["Div.float.R2"]


def test_type_that_no_version_takes() -> None:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(
            parse("(int32[2] a) => (int32[2] b) { [root] b = Sqrt(a) }"), operators="default"
        )
    assert str(caught.value) == (
        "Sqrt 'root': X is int32, which no version of Sqrt supports; convert the operand with Cast"
    )


def test_type_of_the_second_operand_alone_is_looked_at_too() -> None:
    made = parse("(float[2] a, bfloat16[2] b) => (float[2] c) { [n] c = Add(a, b) }", opset=7)
    with pytest.raises(sonnx_ort.InvalidModel, match="Add 'n': B is bfloat16, which Add supports"):
        sonnx_ort.check(made, operators="default")


def test_type_that_only_the_newest_version_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.defs, "onnx_opset_version", lambda: FIRST[ElementType.BFLOAT16])
    made = binary_model("Div", "bfloat16", [2], [2], opset=7)
    with pytest.raises(sonnx_ort.InvalidModel, match="which Div supports from version 13"):
        sonnx_ort.check(made, operators="default")


def test_operators_of_other_domains_have_types_too() -> None:
    (tensors, indices) = numeric_types("ArrayFeatureExtractor", 1, "ai.onnx.ml")
    assert (ElementType.FLOAT in tensors, indices) == (True, {ElementType.INT64})

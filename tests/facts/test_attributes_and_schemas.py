"""Attributes in plain Python, and the schemas of operators."""

from typing import Any

import onnx
import pytest
from onnx import helper

from sonnx_ort.facts.attributes import plain_value
from sonnx_ort.facts.schemas import known_schema, operator_schema

TENSOR = helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], [2.0])


@pytest.mark.parametrize(
    "value",
    [1, 2.5, "NOTSET", [1, 2], [0.5], ["Tanh", "Relu"], TENSOR],
    ids=lambda value: type(value).__name__ + str(isinstance(value, list) and type(value[0])),
)
def test_attribute_is_a_number_a_text_or_a_list_of_them(value: Any) -> None:
    assert plain_value(helper.make_attribute("a", value)) == value


def test_text_that_is_no_utf8_is_an_error_unless_it_is_replaced() -> None:
    attribute = helper.make_attribute("a", b"\xff")
    with pytest.raises(UnicodeDecodeError):
        plain_value(attribute)
    assert plain_value(attribute, errors="replace") == "\ufffd"


@pytest.mark.parametrize(("name", "version"), [("Div", 0), ("Gelu", 19), ("None such", 21)])
def test_operator_that_a_version_lacks_has_no_schema(name: str, version: int) -> None:
    assert operator_schema(name, version) is None
    with pytest.raises(LookupError, match=f"^there is no {name} in version {version}$"):
        known_schema(name, version)


def test_schema_is_that_of_the_version() -> None:
    assert known_schema("Div", 12).since_version == 7

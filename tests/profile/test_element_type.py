"""The twelve numeric element types."""

import numpy as np
import onnx
import pytest

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family, smallest_value


@pytest.mark.satisfies("Div.preliminary.types", "Sub.preliminary.types", "Div.typed.float.types")
def test_types_are_those_of_the_documents():
    assert {str(t) for t in NUMERIC_TYPES} == {
        "bfloat16",
        "double",
        "float",
        "float16",
        "int16",
        "int32",
        "int64",
        "int8",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
    }


@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_name_and_dtype_are_those_of_onnx(element_type):
    number = onnx.TensorProto.DataType.Value(element_type.upper())
    assert onnx.helper.tensor_dtype_to_np_dtype(number) == element_type.dtype


@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_family_is_that_of_the_name(element_type):
    is_float = "float" in element_type or element_type == "double"
    assert element_type.family is (Family.FLOAT if is_float else Family.INTEGER)


@pytest.mark.parametrize(
    ("name", "element_type"),
    [("float", ElementType.FLOAT), ("string", None), ("FLOAT", None), ("", None), (None, None)],
)
def test_named(name, element_type):
    assert ElementType.named(name) is element_type


@pytest.mark.parametrize("element_type", [t for t in NUMERIC_TYPES if t.family is Family.INTEGER])
def test_smallest_value_is_that_of_the_type(element_type):
    assert smallest_value(element_type) == np.iinfo(element_type.dtype).min

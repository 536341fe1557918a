"""Tensors hold as many elements as their sizes say."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.loading.external_data import check_elements
from support.graphs import parse

TYPES = sorted(
    set(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING}
)


def with_tensor(tensor: onnx.TensorProto) -> onnx.ModelProto:
    made = parse("(float[2] x) => (float[2] y) { y = Div(x, x) }")
    made.graph.initializer.append(tensor)
    return made


def refusal(tensor: onnx.TensorProto) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        check_elements(with_tensor(tensor))
    return str(caught.value)


def test_model_with_too_many_elements_is_refused() -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.INT64, dims=[2])
    tensor.int64_data.extend(range(4))
    with pytest.raises(sonnx_ort.InvalidModel, match="needs 2 entries, and the file has 4"):
        sonnx_ort.check(with_tensor(tensor), operators="default")


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("size", [0, 1, 3, 4])
@pytest.mark.parametrize("element_type", TYPES, ids=onnx.TensorProto.DataType.Name)
def test_what_onnx_writes_is_complete(element_type: int, size: int, *, raw: bool) -> None:
    tensor = helper.make_tensor("t", element_type, [size], np.ones(size, np.float32))
    if raw:
        tensor = numpy_helper.from_array(numpy_helper.to_array(tensor), "t")
    check_elements(with_tensor(tensor))


def test_strings_are_complete() -> None:
    check_elements(with_tensor(helper.make_tensor("t", onnx.TensorProto.STRING, [2], ["a", "b"])))


@pytest.mark.parametrize(
    ("sizes", "stored", "needed"), [([2], 4, 2), ([], 2, 1), ([3], 2, 3), ([2, 0], 1, 0)]
)
def test_list_of_another_length(sizes: list[int], stored: int, needed: int) -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.INT64, dims=sizes)
    tensor.int64_data.extend(range(stored))
    assert refusal(tensor) == (
        f"tensor 't' of shape {sizes} needs {needed} entries, and the file has {stored}; export "
        "the model again"
    )


def test_bytes_of_another_length() -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.FLOAT, dims=[2], raw_data=b"123")
    assert refusal(tensor).startswith("tensor 't' of shape [2] needs 8 bytes, and the file has 3")


def test_negative_size() -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.FLOAT, dims=[-1, -1])
    tensor.float_data.append(1)
    assert refusal(tensor) == "tensor 't' has a negative size: [-1, -1]"


def test_tensor_of_an_attribute() -> None:
    made = parse("(float[2] x) => (float[2] y) { y = Div(x, x) }")
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.INT64, dims=[5])
    tensor.int64_data.append(1)
    made.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))
    with pytest.raises(sonnx_ort.InvalidModel, match=r"shape \[5\] needs 5 entries"):
        check_elements(made)


def test_tensor_of_an_attribute_of_an_unknown_type() -> None:
    made = parse("(float[2] x) => (float[2] y) { y = Div(x, x) }")
    tensor = onnx.TensorProto(name="t", data_type=77, dims=[5])
    made.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))
    with pytest.raises(sonnx_ort.InvalidModel, match="tensor 't' has the element type 77"):
        check_elements(made)

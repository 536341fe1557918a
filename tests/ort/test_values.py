"""Values of any type: what goes into ONNX Runtime as it was, and comes out of it as it is."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.ort.feeds import (
    GraphInput,
    as_declared,
    as_tensors,
    graph_inputs,
    run_on_values,
    to_array,
    to_ort_value,
    what_is_wrong,
    wrong_feeds_named,
)
from support.graphs import parse
from support.sessions import quiet

ARRAYS = {
    "float": np.float32([[1.5, -0.0], [np.inf, 3]]),
    "bool": np.array([True, False]),
    "scalar": np.array(7, np.int64),
    "no elements": np.zeros((2, 0), np.int32),
    "bfloat16": np.array([[1.5, -2], [3, 1e30]], ml_dtypes.bfloat16),
    "bfloat16, every second column": np.arange(8).reshape(2, 4).astype(ml_dtypes.bfloat16)[:, ::2],
    "bfloat16, a scalar": np.array(1.5, ml_dtypes.bfloat16),
    "bfloat16, no elements": np.zeros((0, 3), ml_dtypes.bfloat16),
    "float8": np.array([0.5, -1.75, 448], ml_dtypes.float8_e4m3fn),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_array_comes_back_from_onnxruntime_bit_by_bit(name: str) -> None:
    given = ARRAYS[name]
    value = to_ort_value(given)
    back = to_array(value)
    assert back is not None
    assert (back.dtype, back.shape, back.tobytes()) == (given.dtype, given.shape, given.tobytes())


def test_foreign_bytes_become_those_of_the_machine() -> None:
    back = to_array(to_ort_value(np.array([1, 2.5], ">f4")))
    assert back is not None
    assert (back.dtype, back.tolist()) == (np.float32, [1, 2.5])


@pytest.mark.parametrize("given", [["a", "", "ü"], [["a", "b"]], "one", []])
@pytest.mark.parametrize("dtype", [np.object_, np.str_])
def test_text_comes_back_from_onnxruntime(given: Any, dtype: type) -> None:
    array = np.array(given, dtype)
    back = to_array(to_ort_value(array))
    assert back is not None
    assert (back.dtype.kind, back.shape, back.tolist()) == ("O", array.shape, array.tolist())


@pytest.mark.parametrize(
    "array", [np.array([1, 2], ml_dtypes.int4), np.array(["2026-01-01"], "M8[D]")], ids=str
)
def test_array_that_onnxruntime_does_not_take_is_refused(array: Any) -> None:
    with pytest.raises(SonnxError) as refused:
        to_ort_value(array)
    assert str(refused.value) == (
        f"ONNX Runtime's interface takes no arrays of {array.dtype}; give another type"
    )


def test_what_is_no_tensor_gives_no_array() -> None:
    sparse = onnxruntime.SparseTensor.sparse_coo_from_numpy(
        np.array([2, 2], np.int64),
        np.float32([1]),
        np.array([1], np.int64),
        onnxruntime.OrtDevice.make("cpu", 0),
    )
    assert to_array(onnxruntime.OrtValue.ort_value_from_sparse_tensor(sparse)) is None


X = GraphInput("x", "float32", (2,), required=True)
TEXT = GraphInput("x", "string", (2,), required=True)
UNSIGNED = GraphInput("x", "bfloat16", (2,), required=True)
SEQUENCE = GraphInput("x", None, None, required=True)


@pytest.mark.parametrize(
    ("declared", "given", "dtype", "elements"),
    [
        (X, [1, 2], np.float32, [1, 2]),
        (X, (1.5, 2), np.float32, [1.5, 2]),
        (X, np.array([1, 2], ">f4"), np.float32, [1, 2]),
        (X, np.array([1, 2]), np.int64, [1, 2]),
        (X, np.float64(3), np.float64, 3),
        (TEXT, ["a", "b"], np.object_, ["a", "b"]),
        (TEXT, np.array(["a", "bc"]), np.object_, ["a", "bc"]),
        (UNSIGNED, np.array([b"\x80\x3f", b"\x00\x40"], "V2"), ml_dtypes.bfloat16, [1, 2]),
        (SEQUENCE, np.array([1, 2], ">i8"), np.int64, [1, 2]),
    ],
)
def test_input_becomes_an_array_that_the_model_takes(
    declared: GraphInput, given: Any, dtype: type, elements: Any
) -> None:
    made = as_tensors([declared], {"x": given})["x"]
    assert (made.dtype, made.dtype.isnative, made.tolist()) == (np.dtype(dtype), True, elements)


_MASKED = np.ma.array(np.float32([1, 2]), mask=[True, False])


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        (X, {"a": 1}, "the input 'x' is no array; this command takes only arrays"),
        (SEQUENCE, [1], "the input 'x' is no array; this command takes only arrays"),
        (X, ["a"], "the input 'x' is no array: could not convert string to float: 'a'; give an"),
        (X, _MASKED, "elements of the input 'x' are masked, and a tensor has all elements"),
    ],
    ids=["map", "sequence", "text", "masked"],
)
def test_input_that_is_no_array_is_named(declared: GraphInput, given: Any, message: str) -> None:
    with pytest.raises(SonnxError, match=re.escape(message)):
        as_tensors([declared], {"x": given})


def test_lists_are_left_to_the_model_where_arrays_become_tensors() -> None:
    given = {"x": [np.array([1], ">f4")], "y": np.array([2], ">f4"), "z": "text"}
    made = as_declared([SEQUENCE], given)
    assert made["x"][0].dtype.isnative
    assert (made["y"] is given["y"], made["z"]) == (True, "text")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "the input 'x' is None, but the model needs float32 of shape (2,); give an array"),
        (
            [1, 2, 3],
            (
                "the input 'x' is of type list of shape (3,), but the model needs float32 of "
                "shape (2,); give axis 0 size 2"
            ),
        ),
    ],
)
def test_what_is_no_array_is_told_by_its_type(given: Any, told: str) -> None:
    assert what_is_wrong([X], {"x": given}) == told


@pytest.mark.parametrize(("graph", "required"), [
    ("(float x) => (float y) { y = Neg(x) }", [True]),
    ("(float x, float k) => (float y) <float k = {1}> { y = Add(x, k) }", [True, False]),
    ("(optional(float) x) => (bool y) { y = OptionalHasElement(x) }", [False]),
])  # fmt: skip
def test_input_is_required_unless_it_has_a_default_or_may_be_absent(
    graph: str, required: list[bool]
) -> None:
    assert [each.required for each in graph_inputs(parse(graph))] == required


def test_absent_value_is_no_mistake_where_an_input_may_be_absent() -> None:
    optional = GraphInput("x", "float32", (2,), required=False)
    assert what_is_wrong([optional], {"x": None}) == ""


def test_size_that_the_model_gives_as_a_negative_one_is_open() -> None:
    declared = GraphInput("x", "float32", (-1, 2), required=True)
    assert what_is_wrong([declared], {"x": np.ones((3, 2), np.float32)}) == ""


def test_size_of_0_is_one_that_the_model_declares() -> None:
    (declared,) = graph_inputs(parse("(float[0, n] x) => (float[0, n] y) { y = Neg(x) }"))
    assert declared.shape == (0, "n")


def test_bytes_of_a_wider_type_are_left_as_they_are() -> None:
    given = np.array([b"\x80\x3f\x00\x00"], "V4")
    made = as_tensors([UNSIGNED], {"x": given})["x"]
    assert (made.dtype, made.shape) == (np.dtype("V4"), (1,))


def test_masked_array_is_refused_before_a_run() -> None:
    session = sonnx_ort.InferenceSession(parse("(float[2] x) => (float[2] y) { y = Neg(x) }"))
    with pytest.raises(InvalidArgument, match=r"^elements of the input 'x' are masked, and"):
        session.run(None, {"x": _MASKED})


def test_array_from_onnxruntime_is_a_copy() -> None:
    value = onnxruntime.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32))
    found = to_array(value)
    assert found is not None
    found[:] = 5
    assert value.numpy().tolist() == [1, 1]


def test_array_of_objects_is_text_where_each_is() -> None:
    words = "the input 'x' is {} of shape (2,), but the model needs float32 of shape (2,); convert"
    for elements, dtype in ((["a", b"b"], "string"), (["a", 1], "object")):
        told = what_is_wrong([X], {"x": np.array(elements, object)})
        assert told.startswith(words.format(dtype))


def plain(graph: str) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(parse(graph).SerializeToString(), quiet())


def test_elements_that_share_a_byte_come_back_each() -> None:
    session = plain("(float[3] x) => (uint4[3] y) { y = Cast <to = 21> (x) }")
    found = run_on_values(session, ["y"], {"x": np.float32([1, 15, 3])})["y"]
    assert (found.dtype, found.tolist()) == (np.dtype(ml_dtypes.uint4), [1, 15, 3])


def test_sequence_comes_back_as_a_list_of_its_arrays() -> None:
    session = plain("(float[2] x) => (seq(float[1]) y) { y = SplitToSequence(x) }")
    found = run_on_values(session, ["y"], {"x": np.float32([1, 2])})["y"]
    assert [each.tolist() for each in found] == [[1], [2]]


def test_input_with_a_default_need_not_be_bound() -> None:
    graph = "(float x, float k) => (float y) <float k = {2}> { y = Add(x, k) }"
    session = sonnx_ort.InferenceSession(parse(graph), quiet())
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.array(1, np.float32))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0] == 3


def test_error_of_a_type_of_its_own_is_raised_as_it_is() -> None:
    """It may take other arguments than a message."""

    class OtherError(ValueError):
        pass

    with pytest.raises(OtherError, match=r"^itself$"), wrong_feeds_named([X], {}):
        raise OtherError("itself")

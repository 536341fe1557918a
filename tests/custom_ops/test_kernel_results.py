"""What a kernel gives where no rule is violated, in which form, and that it always returns."""

import concurrent.futures
import logging
import warnings
from unittest.mock import Mock

import numpy as np
import pytest

from sonnx_ort.custom_ops.arithmetic import largest, smallest
from sonnx_ort.custom_ops.definition import KERNEL_TYPES, KernelOutput, kernel_output
from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE, LOG
from sonnx_ort.custom_ops.kernel import separated, shapes_in
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.options import Edition
from support.execution import failure_of, kernel_of, kernel_with
from support.values import INTEGERS

SHAPES = [(), (0,), (1,), (3,), (2, 0, 3), (2, 3), (1, 1, 1, 1, 1), (2, 1, 3, 1, 2)]
NATIVE_INTEGERS = [t for t in INTEGERS if t in KERNEL_TYPES]


def outputs_of(operator, element_type, a, b):
    operands = (np.array(operand, element_type.dtype) for operand in (a, b))
    return kernel_of(operator, element_type)(*operands, "the_node", "typed")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", KERNEL_TYPES)
def test_shape_output_is_the_results_shape(operator, element_type, shape):
    _, output = outputs_of(operator, element_type, np.ones(shape), np.ones(shape))
    assert (output.tolist().tolist(), output.dtype) == (list(shape), np.int64)


@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", KERNEL_TYPES)
def test_both_outputs_are_handed_over_as_contiguous_arrays(operator, element_type):
    outputs = outputs_of(operator, element_type, [6, 9], [3, 3])
    handed_over = [output.flatten().tolist() for output in outputs]
    assert [(type(array), array.flags.c_contiguous) for array in handed_over] == [
        (np.ndarray, True)
    ] * 2


def shape_where_warnings_are_errors(*node):
    def run():
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            return outputs_of(*node)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        _, shape = pool.submit(run).result()
    return shape.tolist().tolist()


@pytest.mark.parametrize("element_type", [t for t in KERNEL_TYPES if t.dtype.kind == "f"])
@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_float_results_warn_of_nothing_on_a_thread_where_warnings_are_errors(
    operator, element_type
):
    largest = np.finfo(element_type.dtype).max
    tiny = np.finfo(element_type.dtype).smallest_subnormal
    a = [1.0, 0.0, np.inf, largest, tiny, -largest, np.nan]
    b = [0.0, 0.0, np.inf, tiny, largest, largest, 1.0]
    assert shape_where_warnings_are_errors(operator, element_type, a, b) == [7]


@pytest.mark.parametrize("element_type", NATIVE_INTEGERS)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_integer_results_warn_of_nothing_on_a_thread_where_warnings_are_errors(
    operator, element_type
):
    limits = np.iinfo(element_type.dtype)
    a, b = [limits.min, limits.max, limits.max, 0], [1, limits.max, 1, limits.max]
    assert shape_where_warnings_are_errors(operator, element_type, a, b) == [4]


@pytest.mark.parametrize("element_type", KERNEL_TYPES)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_second_operand_is_left_as_it_is(operator, element_type):
    b = np.array([1, 2, 3], element_type.dtype)
    kernel_of(operator, element_type)(np.array([7, 7, 7], b.dtype), b, "the_node", "typed")
    assert b.tolist() == [1, 2, 3]


FLOAT32 = np.dtype(np.float32)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)], ids=str)
def test_contiguous_array_of_the_declared_dtype_is_not_copied(shape):
    array = np.ones(shape, np.float32)
    output = kernel_output(array, FLOAT32)
    assert output.__array_interface__["data"] == array.__array_interface__["data"]


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.arange(6, dtype=np.float32)[::2], id="every other element"),
        pytest.param(np.arange(6, dtype=np.float32)[::-1], id="backwards"),
        pytest.param(np.arange(6, dtype=np.float32).reshape(2, 3).T, id="transposed"),
        pytest.param(np.arange(6, dtype=np.float32).reshape(2, 3)[:, 1:], id="a block"),
        pytest.param(np.broadcast_to(np.float32(2), (2, 3)), id="broadcast"),
        pytest.param(np.arange(6, dtype=np.float64), id="of another dtype"),
        pytest.param(np.arange(6, dtype=">f4"), id="of another byte order"),
        pytest.param(np.float32(2), id="a numpy scalar"),
        pytest.param(np.array(2, np.float64), id="of rank 0 and another dtype"),
        pytest.param(np.empty((0, 3), np.float64).T, id="of size 0"),
    ],
)
def test_any_other_array_is_handed_over_contiguous_and_in_the_declared_dtype(array):
    handed_over = kernel_output(array, FLOAT32).flatten().tolist()
    assert handed_over.dtype == FLOAT32
    assert handed_over.flags.c_contiguous
    assert np.array_equal(handed_over, array)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)], ids=str)
def test_output_says_the_arrays_shape(shape):
    assert kernel_output(np.ones(shape, np.float32), FLOAT32).shape == shape


def test_output_of_rank_0_is_handed_over_as_an_array_of_rank_0():
    handed_over = kernel_output(np.array(2, np.float32), FLOAT32).flatten().tolist()
    assert (type(handed_over), handed_over.shape) == (np.ndarray, ())


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_flatten_copies_nothing(order):
    output = kernel_output(np.ones((2, 3), np.float32), FLOAT32)
    assert output.flatten(order) is output


def test_output_of_an_output_is_handed_over_as_a_plain_array():
    output = kernel_output(kernel_output(np.ones(3, np.float32), FLOAT32), FLOAT32)
    assert (type(output), type(output.tolist())) == (KernelOutput, np.ndarray)


def ones(shape, dtype=np.float32):
    return np.ones(shape, dtype)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("no room"), "MemoryError: no room"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (FloatingPointError("overflow"), "FloatingPointError: overflow"),
        (RuntimeWarning("a warning turned into an error"), "RuntimeWarning: a warning turned "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_kernel_records_whatever_its_arithmetic_raises(error, message):
    kernel = kernel_with(Mock(side_effect=error))
    code, recorded = failure_of(kernel(ones(3), ones(3), "the_node", "typed"))
    expected = f"sonnx::CheckedDiv, node 'the_node': the kernel could not finish: {message}"
    assert (code, str(recorded)[: len(expected)]) == (KERNEL_FAILURE, expected)
    assert recorded.__cause__ is error


@pytest.mark.parametrize(("a", "b", "node", "edition", "message"), [
    pytest.param(ones(3), ones(3), "n", "draft", "KeyError: 'draft'", id="unknown edition"),
    pytest.param(ones(3), ones(3), "n", None, "KeyError: None", id="no edition"),
    pytest.param(None, None, "n", "typed", "AttributeError: ", id="no arrays"),
    pytest.param(
        ones(3), ones(3, np.complex64), "n", "typed", "UFuncTypeError: ", id="complex divisor"
    ),
    pytest.param(np.array(["a"]), np.array(["b"]), "n", "typed",
        "ValueError: could not convert", id="strings"),
])  # fmt: skip
def test_kernel_records_that_it_could_not_finish(a, b, node, edition, message):
    code, recorded = failure_of(kernel_of("Div", "float")(a, b, node, edition))
    expected = f"sonnx::CheckedDiv, node 'n': the kernel could not finish: {message}"
    assert (code, type(recorded), str(recorded)[: len(expected)]) == (
        KERNEL_FAILURE,
        SonnxError,
        expected,
    )


def test_kernel_fails_even_where_nothing_can_be_recorded(monkeypatch):
    monkeypatch.setattr(LOG, "record", Mock(side_effect=MemoryError))
    result, shape = kernel_of("Div", "float")(ones(3), ones(1), "the_node", "typed")
    assert (result.shape, shape.tolist().tolist()) == ((0,), [-KERNEL_FAILURE])


class RaisingHandler(logging.Handler):
    def emit(self, record):
        del record
        raise RuntimeError("the log is full")


def test_kernel_survives_a_logging_handler_that_raises():
    logger, handler = logging.getLogger("sonnx_ort"), RaisingHandler()
    logger.addHandler(handler)
    try:
        outputs = kernel_of("Div", "float")(ones(3), ones(1), "the_node", "typed")
    finally:
        logger.removeHandler(handler)
    _, recorded = failure_of(outputs)
    assert recorded.rule == "Div.float.R1"


@pytest.mark.parametrize(
    ("sizes", "ranks", "shapes"),
    [
        ([], [], []),
        ([], [0, 0], [(), ()]),
        ([2, 3, 4], [2, 1], [(2, 3), (4,)]),
        ([2, 3, 4], [1, 0, 2], [(2,), (), (3, 4)]),
    ],
)
def test_each_shape_has_as_many_sizes_as_its_rank(sizes, ranks, shapes):
    assert shapes_in(np.array(sizes, np.int64), np.array(ranks, np.int64)) == shapes


def test_each_tensor_has_the_elements_behind_those_of_the_one_before():
    tensors = separated(np.arange(10), np.array([1, 2, 3, 0, 3]), np.array([2, 1, 0, 2]))
    assert [tensor.tolist() for tensor in tensors] == [[[0, 1]], [2, 3, 4], 5, []]
    assert tensors[3].shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4,), ()], ids=str)
@pytest.mark.parametrize(("function", "expected"), [
    (largest, [0.0, 0.0, 0.0, -0.0]),
    (smallest, [0.0, -0.0, -0.0, -0.0]),
])  # fmt: skip
def test_of_two_zeros_the_sign_does_not_depend_on_their_order(function, expected, shape, dtype):
    pairs = [(0.0, 0.0), (0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)]
    if shape:
        pairs, expected = [tuple(zip(*pairs, strict=True))], [expected]
    for (a, b), wanted in zip(pairs, expected, strict=True):
        operands = (np.array(each, dtype) for each in (a, b))
        found = function(*operands, edition=Edition.TYPED)
        assert (found.dtype, found.shape) == (dtype, shape)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))

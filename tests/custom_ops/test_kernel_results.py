"""What a kernel gives where no rule is violated: result and shape, in the declared types."""

import concurrent.futures
import warnings

import numpy as np
import pytest

from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from support.execution import kernel_of
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

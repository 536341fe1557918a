"""The form in which a result is handed over without a detour through Python lists."""

import numpy as np
import pytest

from sonnx_ort.custom_ops.definition import KernelOutput, kernel_output

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

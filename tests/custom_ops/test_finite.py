"""The kernel that checks that elements are finite."""

import numpy as np
import pytest

from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE
from sonnx_ort.custom_ops.inspection import FINITE_ELEMENTS, finite_guard_name, finite_shape
from support.kernels import failure_of

NODE = {"node": "n", "operator": "Add", "value": "y"}


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3)])
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_shape_of_finite_elements_is_given(shape, element_type):
    elements = np.ones(shape, np.float32 if element_type == "float" else np.float64)
    given, its_shape = finite_shape(elements, **NODE, element_type=element_type)
    assert (tuple(given), tuple(its_shape)) == (shape, (len(shape),))


@pytest.mark.parametrize(
    ("element_type", "largest", "beyond"),
    [("float16", 65519.996, 65520), ("bfloat16", 3.3961773e38, 3.3961776e38)],
)
def test_narrow_floats_are_rounded_as_their_type_is(element_type, largest, beyond):
    finite, infinite = (np.array([number], np.float32) for number in (largest, beyond))
    assert tuple(finite_shape(finite, **NODE, element_type=element_type)[0]) == (1,)
    code, error = failure_of(finite_shape(infinite, **NODE, element_type=element_type))
    assert (code, error.index, error.values) == (1314, (0,), (np.inf,))


@pytest.mark.parametrize("element_type", ["no type", "int32", None])
def test_kernel_that_cannot_finish_fails(element_type):
    code, _ = failure_of(finite_shape(np.ones(1), **NODE, element_type=element_type))
    assert code == KERNEL_FAILURE


def test_name_of_a_guard_has_an_operator_that_errors_are_read_by():
    assert finite_guard_name("aten::add", "n", "y").startswith("aten__add 'n' breaks the SONNX")


def test_kernels_take_the_floats_that_kernels_may_take():
    """A kernel that takes 16-bit floats would end the process."""
    assert [kernel.inputs for kernel in FINITE_ELEMENTS] == [("float",), ("double",)]

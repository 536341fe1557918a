"""The kernel that checks that elements are finite, or within a contract."""

import numpy as np
import pytest

from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE
from sonnx_ort.custom_ops.inspection import CHECKED_ELEMENTS, checked_shape, value_guard_name
from sonnx_ort.profile.contract import Contract, ValueContract, contract_to_json
from sonnx_ort.profile.graph import FINITE, finite_elements
from support.execution import failure_of

NODE = {"node": "n", "operator": "Add", "value": "y", "contract": ""}


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3)])
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_shape_of_finite_elements_is_given(shape, element_type):
    elements = np.ones(shape, np.float32 if element_type == "float" else np.float64)
    given, its_shape = checked_shape(elements, **NODE, element_type=element_type)
    assert (tuple(given), tuple(its_shape)) == (shape, (len(shape),))


@pytest.mark.parametrize(
    ("element_type", "largest", "beyond"),
    [("float16", 65519.996, 65520), ("bfloat16", 3.3961773e38, 3.3961776e38)],
)
def test_narrow_floats_are_rounded_as_their_type_is(element_type, largest, beyond):
    finite, infinite = (np.array([number], np.float32) for number in (largest, beyond))
    assert tuple(checked_shape(finite, **NODE, element_type=element_type)[0]) == (1,)
    code, error = failure_of(checked_shape(infinite, **NODE, element_type=element_type))
    assert (code, error.index, error.values) == (1314, (0,), (np.inf,))


@pytest.mark.parametrize("element_type", ["no type", None])
def test_kernel_that_cannot_finish_fails(element_type):
    code, _ = failure_of(checked_shape(np.ones(1), **NODE, element_type=element_type))
    assert code == KERNEL_FAILURE


def test_name_of_a_guard_has_an_operator_that_errors_are_read_by():
    name = value_guard_name("aten::add", "n", FINITE, finite_elements("y"))
    assert name.startswith("aten__add 'n' breaks the SONNX")
    assert name.endswith("1314 Graph.finite; 'y' must not be NaN or infinite")


def test_kernels_take_the_numbers_that_kernels_may_take():
    """A kernel that takes 16-bit floats would end the process."""
    assert [kernel.inputs for kernel in CHECKED_ELEMENTS] == [
        (kind.value,) for kind in KERNEL_TYPES
    ]


IN_RANGE = contract_to_json(Contract((ValueContract("y", (-1.0, 2.5), "a gain"),)))


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        (np.array([0, 2.6], np.float32), "y[1] = 2.5999999046325684"),
        (np.array([[0, np.nan]], np.float32), "y[0, 1] = nan"),
        (np.array(-2), "y[] = -2"),
    ],
)
def test_element_outside_of_a_contract_is_named(elements, words):
    kind = {"f": "float", "i": "int64"}[elements.dtype.kind]
    node = {**NODE, "contract": IN_RANGE}
    code, error = failure_of(checked_shape(elements, **node, element_type=kind))
    assert (code, error.rule) == (1317, "Contract.range")
    assert f"Add 'n' breaks Contract.range: y is outside of -1 to 2.5 (a gain): {words}" in str(
        error
    )


def test_ends_of_a_contract_are_within_it():
    node = {**NODE, "contract": IN_RANGE}
    given, _ = checked_shape(np.array([-1, 2.5], np.float32), **node, element_type="float")
    assert tuple(given) == (2,)

"""What ONNX Runtime is told of kernels, and how functions of numpy become arithmetic."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import onnx.defs
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from sonnx_ort.custom_ops.arithmetic import by_ufunc
from sonnx_ort.custom_ops.catalog import (
    CUSTOM_OPERATORS,
    KERNEL_DEFINITIONS,
    _custom_operator,
)
from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.options import Edition
from support.execution import kernel_of, kernel_with


def test_every_standard_operator_whose_rules_runs_can_violate_has_a_custom_one():
    checked = {name for name in STANDARD_OPERATORS if OPERATORS[name].checked_in_runs}
    assert checked <= CUSTOM_OPERATORS.keys() <= STANDARD_OPERATORS


@pytest.mark.parametrize(
    ("operator", "custom"),
    [
        ("Neg", CustomOperator),  # computes, and no run can violate a rule
        ("Max", CustomOperator),  # checks alone
        ("Add", CustomOperator),  # does both
        ("MatMul", Inspection),
        ("Relu", type(None)),
    ],
)
def test_operator_has_a_custom_one_if_that_computes_or_checks(operator, custom):
    assert type(_custom_operator(OPERATORS[operator])) is custom


@pytest.mark.parametrize(
    ("operator", "rounds_once", "carriers"),
    [("Add", True, CARRIERS), ("Add", False, {}), ("Max", False, CARRIERS)],
)
def test_result_that_may_not_be_rounded_twice_is_not_computed_in_a_wider_type(
    operator, rounds_once, carriers
):
    custom = _custom_operator(replace(OPERATORS[operator], rounds_once=rounds_once))
    assert custom.carriers == carriers


@pytest.mark.parametrize(
    ("operator", "name", "inputs", "output"),
    [
        ("Div", "CheckedDiv", ("float", "float"), "float"),
        ("Less", "CheckedLess", ("float", "float"), "bool"),
        ("Where", "WhereOperands", ("bool", "float", "float"), "bool"),
        ("Max", "MaxOperands", ("float", "int64", "int64"), "float"),
        ("Concat", "ConcatOperands", ("int64", "int64"), "int64"),
    ],
)
def test_first_kernel_is_defined_with_its_types(operator, name, inputs, output):
    custom = CUSTOM_OPERATORS[operator]
    first = custom.definitions()[0]
    assert (first.inputs, first.output) == (inputs, output)
    assert first.operator is custom.operator
    attributes = ("node", "edition", *custom.operator.parameters)
    assert (first.name, first.attributes) == (name, attributes)


def test_no_custom_operator_has_the_name_of_an_operator_that_onnx_runtime_knows():
    """It follows sizes through some operators by name alone: finding R22."""
    known = {schema.name for schema in get_all_operator_schema()}
    known |= {schema.name for schema in onnx.defs.get_all_schemas_with_history()}
    assert len(known) > 300
    assert known.isdisjoint(definition.name for definition in KERNEL_DEFINITIONS)


@pytest.mark.parametrize("name", ["Div", "ZipMap", "Adam", "Upsample"])
def test_kernel_of_the_name_of_an_operator_of_onnx_is_refused(name):
    with pytest.raises(ValueError, match="choose another name") as caught:
        replace(KERNEL_DEFINITIONS[0], name=name)
    assert str(caught.value) == (
        f"the custom operator '{name}' has the name of an operator of ONNX, by which ONNX Runtime "
        "would guess what its kernel gives; choose another name"
    )


@pytest.mark.parametrize("edition", Edition)
def test_result_is_written_into_the_first_operand(edition):
    a, b = np.float32([1, 5]), np.float32([3, 4])
    result = by_ufunc(np.subtract)(a, b, edition=edition)
    assert result is a
    assert (a.tolist(), b.tolist()) == ([-2, 1], [3, 4])


def test_result_of_another_type_leaves_the_operands_as_they_are():
    a, b = np.float32([1, 5]), np.float32([3, 4])
    result = by_ufunc(np.less, in_place=False)(a, b, edition=Edition.TYPED)
    assert (result.dtype, result.tolist()) == (np.bool_, [True, False])
    assert (a.tolist(), b.tolist()) == ([1, 5], [3, 4])


def test_result_is_handed_over_in_the_type_of_the_kernel():
    kernel = kernel_with(Mock(return_value=np.float64([1])))
    result, _ = kernel(np.float32([1]), np.float32([1]), "n", "typed")
    assert result.dtype == np.float32


def test_kernel_that_cannot_finish_gives_nothing_of_its_type():
    result, shape = kernel_with(Mock(side_effect=ZeroDivisionError))(
        np.float32([1]), np.float32([1]), "n", "typed"
    )
    assert (result.dtype, result.size, shape.size) == (np.float32, 0, 1)


@pytest.mark.parametrize(("edition", "quotient"), [("typed", -np.inf), ("preliminary", np.inf)])
def test_kernel_computes_in_the_edition_of_the_node(edition, quotient):
    result, _ = kernel_of("Div", "float")(np.float32([-1]), np.float32([0]), "n", edition)
    assert result.tolist().tolist() == [quotient]

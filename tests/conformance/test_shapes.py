"""The product against the oracle on shapes: equal ones run, all others are a violation."""

import numpy as np
import pytest
from restrictions import outcome

from sonnx_ort.profile.element_type import NUMERIC_TYPES
from sonnx_ort.profile.options import Edition
from support.execution import EXECUTIONS, through_kernel
from support.values import assert_same_bits

each_execution = pytest.mark.parametrize("execution", EXECUTIONS, ids=lambda e: e.__name__)
OPERATORS = pytest.mark.parametrize("operator", ["Div", "Sub"])
EDITIONS = pytest.mark.parametrize("edition", Edition)
ELEMENT_TYPES = pytest.mark.parametrize("element_type", NUMERIC_TYPES)


def operand(shape, element_type):
    return np.full(shape, 3, element_type.dtype)


@pytest.mark.satisfies("Div.typed.float.R1.result")
@each_execution
@OPERATORS
@ELEMENT_TYPES
@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (0, 3), (1, 1), (2, 0, 2), (2, 1, 2), (2, 1, 2, 1), (1, 2, 1, 2, 1)]
)
def test_every_rank_and_size_runs(execution, operator, element_type, shape):
    a = b = operand(shape, element_type)
    result = execution(operator, (a, b), element_type, Edition.TYPED)
    assert_same_bits(result, outcome(operator, (a, b), element_type, Edition.TYPED))


@pytest.mark.satisfies(
    "Div.typed.float.R1",
    "Div.preliminary.R1",
    "Div.preliminary.R4",
    "Div.preliminary.requires",
    "Sub.preliminary.R1",
    "Sub.preliminary.requires",
)
@each_execution
@OPERATORS
@EDITIONS
@ELEMENT_TYPES
@pytest.mark.parametrize(
    "shapes",
    [((3,), (1,)), ((1,), (3,)), ((0,), (1,)), ((2, 3), (2, 1)), ((2, 3), (3, 2))],
    ids=str,
)
def test_unequal_sizes_are_the_oracles_violation(
    execution, operator, element_type, edition, shapes
):
    a, b = (operand(shape, element_type) for shape in shapes)
    violation = execution(operator, (a, b), element_type, edition)
    assert violation == outcome(operator, (a, b), element_type, edition)


@pytest.mark.satisfies(
    "Div.typed.float.R1",
    "Div.preliminary.R1",
    "Div.preliminary.requires",
    "Sub.preliminary.R1",
    "Sub.preliminary.requires",
)
@OPERATORS
@EDITIONS
@ELEMENT_TYPES
@pytest.mark.parametrize(
    "shapes", [((3,), ()), ((), (1,)), ((0,), (0, 0)), ((3,), (1, 3))], ids=str
)
def test_unequal_ranks_are_the_oracles_violation(operator, element_type, edition, shapes):
    a, b = (operand(shape, element_type) for shape in shapes)
    violation = through_kernel(operator, (a, b), element_type, edition)
    assert violation == outcome(operator, (a, b), element_type, edition)

"""The product against the oracle on the edges of every type: special values, all with all."""

import functools

import numpy as np
import pytest
from restrictions import Violation, outcome

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.suite.applied import special_values
from support.conformity import assert_conforms, each_operator, keeping_the_rules
from support.elementwise import Single
from support.execution import EXECUTIONS
from support.values import INTEGERS, all_combinations, all_pairs

each_execution = pytest.mark.parametrize("execution", EXECUTIONS, ids=lambda e: e.__name__)
EDITIONS = pytest.mark.parametrize("edition", Edition)


@functools.cache
def breaks_a_rule(a: int, b: int, element_type: ElementType, edition: Edition) -> bool:
    scalars = [np.array(value, element_type.dtype) for value in (a, b)]
    return isinstance(outcome("Div", scalars, element_type, edition), Violation)


def integer_pairs(element_type, edition, *, broken):
    """All pairs of special values whose division breaks a rule, or all others."""
    a, b = all_pairs(special_values(element_type))
    chosen = [
        breaks_a_rule(int(x), int(y), element_type, edition) is broken
        for x, y in zip(a, b, strict=True)
    ]
    return a[chosen], b[chosen]


@pytest.mark.satisfies(
    "Div.typed.float.elements",
    "Div.typed.float.quotient",
    "Div.typed.float.infinity",
    "Div.typed.float.nan",
    "Div.typed.float.range",
    "Div.preliminary.elements",
    "Div.preliminary.quotient",
    "Div.preliminary.infinity",
    "Div.preliminary.ensures.result",
    "Sub.preliminary.elements",
    "Sub.preliminary.difference",
    "Sub.preliminary.ensures.result",
    "Div.onnx.summary",
)
@each_operator()
def test_results_are_the_oracles_bit_by_bit(execution, single, edition):
    single = Single(single.operator, single.element_type, repeated=2)
    name, element_type = single.operator.name, single.element_type
    everything = all_combinations(*map(special_values, single.types()))
    operands = keeping_the_rules(single, everything, edition)
    result = execution(name, operands, element_type, edition)
    assert_conforms(single, result, operands, edition)


@each_execution
@EDITIONS
@pytest.mark.parametrize("element_type", INTEGERS)
def test_first_of_many_breaches_is_the_oracles(execution, element_type, edition):
    a, b = all_pairs(special_values(element_type))
    violation = execution("Div", (a, b), element_type, edition)
    assert violation == outcome("Div", (a, b), element_type, edition)


@pytest.mark.satisfies("Div.preliminary.R5", "Div.preliminary.nonzero", "Div.typed.int")
@each_execution
@EDITIONS
@pytest.mark.parametrize("element_type", INTEGERS)
def test_every_single_breach_is_the_oracles(execution, element_type, edition):
    pairs = list(zip(*integer_pairs(element_type, edition, broken=True), strict=True))
    scalars = [(np.array(x), np.array(y)) for x, y in pairs]
    violations = [execution("Div", pair, element_type, edition) for pair in scalars]
    assert violations == [outcome("Div", pair, element_type, edition) for pair in scalars]

"""The product against the oracle on random operands, special values and shapes."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from restrictions import Violation, outcome

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.conformity import assert_conforms, each_operator, keeping_the_rules
from support.draft_examples import PRINTED_IN_DRAFTS
from support.elementwise import Single
from support.execution import EXECUTIONS, through_kernel, unneeded_by
from support.values import INTEGERS, all_combinations, all_pairs, assert_same_bits, operands_of

MOST_OPERANDS = 4


@each_operator()
@settings(max_examples=settings().max_examples // 20)
@given(data=st.data())
def test_outcome_is_the_oracles(execution, single, edition, data):
    if single.operator.repeated_operand is not None:
        count = data.draw(st.integers(1, MOST_OPERANDS))
        single = Single(single.operator, single.element_type, count)
    name, element_type = single.operator.name, single.element_type
    operands = data.draw(operands_of(*single.types()))
    found = execution(name, operands, element_type, edition)
    assert_conforms(single, found, operands, edition, unneeded_by(execution))


@pytest.mark.satisfies(
    "Div.typed.float.quotient Div.preliminary.quotient Div.preliminary.ensures.result",
    "Sub.preliminary.difference Sub.preliminary.ensures.result",
)
@each_operator(editions=False)
def test_results_on_many_random_patterns_are_the_oracles(execution, single, edition):
    name, element_type = single.operator.name, single.element_type
    operands = list(single.operands(1000, seed=20).values())
    operands = keeping_the_rules(single, operands, Edition.TYPED)
    found = execution(name, operands, element_type, Edition.TYPED)
    assert_conforms(single, found, operands, edition)


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
    "Div.typed.float.elements Div.typed.float.quotient Div.typed.float.infinity",
    "Div.typed.float.nan Div.typed.float.range Div.preliminary.elements Div.preliminary.quotient",
    "Div.preliminary.infinity Div.preliminary.ensures.result Sub.preliminary.elements",
    "Sub.preliminary.difference Sub.preliminary.ensures.result Div.onnx.summary",
    "Div.preliminary.R5 Div.preliminary.R5.constraint Div.draft.float.quotient",
    "Div.draft.int.quotient Sub.draft.float.difference Sub.draft.int.difference",
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


@pytest.mark.satisfies("Div.draft.examples", "Sub.draft.examples")
@each_execution
@pytest.mark.parametrize(("operator", "element_type", "a", "b", "c"), PRINTED_IN_DRAFTS)
def test_examples_of_the_drafts_run(execution, operator, element_type, *, a, b, c):
    chosen = ElementType(element_type)
    a, b, c = (np.array(values, chosen.dtype) for values in (a, b, c))
    assert_same_bits(execution(operator, (a, b), chosen, Edition.TYPED), c)


@pytest.mark.satisfies("Div.preliminary.R5", "Div.preliminary.nonzero", "Div.typed.int")
@each_execution
@EDITIONS
@pytest.mark.parametrize("element_type", INTEGERS)
def test_every_single_breach_is_the_oracles(execution, element_type, edition):
    pairs = list(zip(*integer_pairs(element_type, edition, broken=True), strict=True))
    scalars = [(np.array(x), np.array(y)) for x, y in pairs]
    violations = [execution("Div", pair, element_type, edition) for pair in scalars]
    assert violations == [outcome("Div", pair, element_type, edition) for pair in scalars]


OPERATORS = pytest.mark.parametrize("operator", ["Div", "Sub"])
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
    "Div.typed.float.R1 Div.preliminary.R1 Div.preliminary.R4 Div.preliminary.requires",
    "Sub.preliminary.R1 Sub.preliminary.requires",
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
    "Div.typed.float.R1 Div.preliminary.R1 Div.preliminary.requires Sub.preliminary.R1",
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

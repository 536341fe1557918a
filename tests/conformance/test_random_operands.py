"""The product against the oracle on tensors of rank 0 to 5 with any bit patterns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx_ort.profile.options import Edition
from support.conformity import assert_conforms, each_operator, keeping_the_rules
from support.elementwise import Single
from support.execution import unneeded_by
from support.values import operands_of

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
    "Div.typed.float.quotient",
    "Div.preliminary.quotient",
    "Div.preliminary.ensures.result",
    "Sub.preliminary.difference",
    "Sub.preliminary.ensures.result",
)
@each_operator(editions=False)
def test_results_on_many_random_patterns_are_the_oracles(execution, single, edition):
    name, element_type = single.operator.name, single.element_type
    operands = list(single.operands(1000, seed=20).values())
    operands = keeping_the_rules(single, operands, Edition.TYPED)
    found = execution(name, operands, element_type, Edition.TYPED)
    assert_conforms(single, found, operands, edition)

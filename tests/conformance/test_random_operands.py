"""The product against the oracle on tensors of rank 0 to 5 with any bit patterns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx_ort.oracle import Violation
from sonnx_ort.profile.element_type import NUMERIC_TYPES
from sonnx_ort.profile.options import Edition
from support.execution import EXECUTIONS
from support.oracle import outcome_of
from support.values import assert_same_bits, operand_pairs, random_pairs

each_execution = pytest.mark.parametrize("execution", EXECUTIONS, ids=lambda e: e.__name__)


@each_execution
@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
@settings(max_examples=settings().max_examples // 8)
@given(data=st.data())
def test_outcome_is_the_oracles(execution, operator, element_type, edition, data):
    a, b = data.draw(operand_pairs(element_type))
    outcome = execution(operator, a, b, element_type, edition)
    expected = outcome_of(operator, a, b, element_type, edition)
    if isinstance(expected, Violation):
        assert outcome == expected
    else:
        assert_same_bits(outcome, expected)


@each_execution
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_results_on_many_random_patterns_are_the_oracles(execution, operator, element_type):
    a, b = random_pairs(element_type, 1000)
    b = b | (b == 0) if element_type.dtype.kind in "iu" else b
    expected = outcome_of(operator, a, b, element_type, Edition.TYPED)
    assert_same_bits(execution(operator, a, b, element_type, Edition.TYPED), expected)

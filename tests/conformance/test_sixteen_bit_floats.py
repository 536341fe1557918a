"""float16 and bfloat16 against the oracle on every bit pattern there is.

Both are computed in float and rounded back; these tests are what shows that the second rounding
changes nothing.
"""

import functools

import numpy as np
import pytest
from restrictions import outcome

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.execution import EXECUTIONS
from support.values import assert_same_bits, from_bits

SIXTEEN_BIT = (ElementType.FLOAT16, ElementType.BFLOAT16)


def every_pattern(element_type):
    return from_bits(np.arange(1 << 16), element_type)


def second_operands(kind, element_type):
    """One operand for each of the patterns."""
    match kind:
        case "three":
            return np.full(1 << 16, 3, element_type.dtype)
        case "the smallest subnormal":
            return from_bits(np.ones(1 << 16), element_type)
        case _:
            # Odd, so that it is prime to 2^16 and every pattern comes up once.
            return from_bits(np.arange(1 << 16) * 40503 % (1 << 16), element_type)


@functools.cache
def expected_results(operator, element_type, kind):
    a, b = every_pattern(element_type), second_operands(kind, element_type)
    return outcome(operator, (a, b), element_type, Edition.TYPED)


@pytest.mark.satisfies(
    "Div.typed.float.types", "Div.typed.float.quotient", "Sub.preliminary.difference"
)
@pytest.mark.parametrize("execution", EXECUTIONS, ids=lambda e: e.__name__)
@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        pytest.param("Div", "three", marks=pytest.mark.thorough),
        ("Div", "the smallest subnormal"),
        pytest.param("Div", "every pattern", marks=pytest.mark.thorough),
        pytest.param("Sub", "three", marks=pytest.mark.thorough),
        pytest.param("Sub", "every pattern", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("element_type", SIXTEEN_BIT)
def test_results_are_the_oracles_on_every_pattern(execution, operator, element_type, kind):
    a, b = every_pattern(element_type), second_operands(kind, element_type)
    result = execution(operator, (a, b), element_type, Edition.TYPED)
    assert_same_bits(result, expected_results(operator, element_type, kind))

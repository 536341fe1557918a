"""The oracle on arrays: results by hand, special cases and broken rules."""

import numpy as np
import pytest
from restrictions import Violation, outcome

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.profile.options import Edition
from support.draft_examples import PRINTED_IN_DRAFTS
from support.values import FLOATS, INTEGERS, SIGNED_INTEGERS, assert_same_bits

INF, NAN = np.inf, np.nan


def array(values, element_type: ElementType):
    return np.array(values, element_type.dtype)


@pytest.mark.satisfies("Div.preliminary.elements", "Div.typed.float.elements")
@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_quotients_of_the_documents_example(element_type, edition):
    a, b = (
        array([[3, 4], [16, 0], [25, 24]], element_type),
        array([[3, 2], [4, 1], [5, 4]], element_type),
    )
    result = outcome("Div", (a, b), element_type, edition)
    assert_same_bits(result, array([[1, 2], [4, 0], [5, 6]], element_type))


@pytest.mark.satisfies(
    "Div.draft.float.quotient Div.typed.float.quotient Div.typed.float.infinity",
    "Div.typed.float.nan Div.typed.float.range Div.preliminary.infinity Div.preliminary.R5",
    "Div.preliminary.quotient",
    "Div.preliminary.R5.constraint",
)
@pytest.mark.parametrize(
    ("a", "b", "typed", "preliminary"),
    [
        (1.0, 0.0, INF, INF),
        (-1.0, 0.0, -INF, INF),
        (1.0, -0.0, -INF, INF),
        (-1.0, -0.0, INF, INF),
        (0.0, 0.0, NAN, INF),
        (-0.0, 0.0, NAN, INF),
        (0.0, -0.0, NAN, INF),
        (INF, 0.0, INF, INF),
        (-INF, 0.0, -INF, INF),
        (-INF, -0.0, INF, INF),
        (NAN, 0.0, NAN, INF),
        (NAN, -0.0, NAN, INF),
        (NAN, 1.0, NAN, NAN),
        (1.0, NAN, NAN, NAN),
        (0.0, NAN, NAN, NAN),
        (INF, INF, NAN, NAN),
        (INF, -2.0, -INF, -INF),
        (2.0, INF, 0.0, 0.0),
        (-2.0, INF, -0.0, -0.0),
        (0.0, -3.0, -0.0, -0.0),
        (-0.0, -3.0, 0.0, 0.0),
        (-7.0, 2.0, -3.5, -3.5),
    ],
)
@pytest.mark.parametrize("element_type", FLOATS)
def test_float_quotients_at_the_edges(element_type, a, b, typed, preliminary):
    operands = array(a, element_type), array(b, element_type)
    results = [outcome("Div", operands, element_type, edition) for edition in Edition]
    expected = array([typed, preliminary], element_type)
    assert_same_bits(np.stack(results), expected)


@pytest.mark.satisfies("Div.draft.examples", "Sub.draft.examples")
@pytest.mark.parametrize(("operator", "element_type", "a", "b", "c"), PRINTED_IN_DRAFTS)
def test_examples_of_the_drafts(operator, element_type, a, b, c):
    chosen = ElementType(element_type)
    result = outcome(operator, (array(a, chosen), array(b, chosen)), chosen, Edition.TYPED)
    assert_same_bits(result, array(c, chosen))


@pytest.mark.satisfies("Div.preliminary.quotient", "Div.draft.int.quotient", "Div.typed.int")
@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_integer_quotients_are_truncated_towards_zero(element_type):
    a, b = array([7, -7, 7, -7, 1, -1], element_type), array([2, 2, -2, -2, 2, 2], element_type)
    result = outcome("Div", (a, b), element_type, Edition.TYPED)
    assert_same_bits(result, array([3, -3, -3, 3, 0, 0], element_type))


@pytest.mark.parametrize(("edition", "rule"), [("typed", "Div.int.C1"), ("preliminary", "Div.R5")])
@pytest.mark.parametrize("element_type", INTEGERS)
def test_integer_zero_divisor_is_a_breach_at_its_first_index(element_type, edition, rule):
    a, b = array([[1, 2], [3, 4]], element_type), array([[1, 1], [0, 0]], element_type)
    assert outcome("Div", (a, b), element_type, Edition(edition)) == Violation(rule, (1, 0), (3, 0))


@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_smallest_by_minus_one_is_a_violation(element_type, edition):
    smallest = int(np.iinfo(element_type.dtype).min)
    a, b = array([5, smallest], element_type), array([-1, -1], element_type)
    assert outcome("Div", (a, b), element_type, edition) == Violation(
        "Div.int.C2", (1,), (smallest, -1)
    )


@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_zero_divisors_are_found_before_quotients_beyond_the_type(element_type):
    smallest = int(np.iinfo(element_type.dtype).min)
    a, b = array([smallest, 5], element_type), array([-1, 0], element_type)
    violation = outcome("Div", (a, b), element_type, Edition.TYPED)
    assert violation == Violation("Div.int.C1", (1,), (5, 0))

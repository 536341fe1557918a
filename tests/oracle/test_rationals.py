"""The operators over the reals."""

from fractions import Fraction

import pytest

from sonnx_ort.oracle.numbers import difference, quotient


@pytest.mark.satisfies(
    "Div.typed.real.elements",
    "Div.typed.real.operands",
    "Div.typed.real.quotient",
    "Div.typed.real.examples",
    "Div.preliminary.real",
)
@pytest.mark.parametrize(
    ("dividends", "divisors", "quotients"),
    [
        pytest.param([6, 9, 35], [3, 3, 5], [2, 3, 7], id="example 1 of both editions"),
        pytest.param(
            [3, 4, 16, 0, 25, 24], [3, 2, 4, 1, 5, 4], [1, 2, 4, 0, 5, 6], id="example 2 of both"
        ),
    ],
)
def test_quotients_are_those_of_the_div_documents(dividends, divisors, quotients):
    pairs = zip(dividends, divisors, strict=True)
    assert [quotient(Fraction(a), Fraction(b)) for a, b in pairs] == quotients


@pytest.mark.satisfies("Div.typed.real.quotient", "Div.preliminary.real")
def test_quotient_is_exact():
    assert quotient(Fraction(1), Fraction(-3)) == Fraction(-1, 3)


@pytest.mark.satisfies("Div.typed.real.undefined", "Div.typed.real.range")
@pytest.mark.parametrize("dividend", [-1, 0, 1])
def test_quotient_by_zero_is_undefined(dividend):
    assert quotient(Fraction(dividend), Fraction(0)) is None


@pytest.mark.satisfies(
    "Sub.preliminary.real", "Sub.preliminary.difference", "Sub.preliminary.examples"
)
@pytest.mark.parametrize(
    ("minuends", "subtrahends", "differences"),
    [
        pytest.param([4, 7, 10], [1, 5, 3], [3, 2, 7], id="example 1"),
        pytest.param([9, 5, 3, 8, 6, 2], [3, 2, 4, 1, 5, 1], [6, 3, -1, 7, 1, 1], id="example 2"),
    ],
)
def test_differences_are_those_of_the_sub_document(minuends, subtrahends, differences):
    pairs = zip(minuends, subtrahends, strict=True)
    assert [difference(Fraction(a), Fraction(b)) for a, b in pairs] == differences

"""Correct rounding of fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonnx_ort.oracle.numbers import (
    FLOAT_FORMATS,
    BinaryFormat,
    floor_log2,
    power_of_two,
)
from support.oracle_cases import rounded

FORMATS = [pytest.param(f, id=t.value) for t, f in FLOAT_FORMATS.items()]


def largest(binary_format: BinaryFormat) -> Fraction:
    significand = 2 - power_of_two(1 - binary_format.precision)
    return significand * power_of_two(binary_format.largest_exponent)


def smallest_subnormal(binary_format: BinaryFormat) -> Fraction:
    return power_of_two(binary_format.smallest_exponent - binary_format.precision + 1)


def spacing_at_one(binary_format: BinaryFormat) -> Fraction:
    return power_of_two(1 - binary_format.precision)


@pytest.mark.parametrize(
    ("binary_format", "largest_number", "smallest_number"),
    [
        pytest.param(BinaryFormat(11, 5), 65504, "2^-24", id="binary16"),
        pytest.param(BinaryFormat(8, 8), 255 * 2**120, "2^-133", id="bfloat16"),
        pytest.param(BinaryFormat(24, 8), (2**24 - 1) * 2**104, "2^-149", id="binary32"),
        pytest.param(BinaryFormat(53, 11), (2**53 - 1) * 2**971, "2^-1074", id="binary64"),
    ],
)
def test_formats_have_the_limits_of_the_standard(binary_format, largest_number, smallest_number):
    limits = (largest(binary_format), smallest_subnormal(binary_format))
    assert limits == (largest_number, power_of_two(int(smallest_number.removeprefix("2^"))))


@pytest.mark.parametrize("binary_format", FORMATS)
@pytest.mark.parametrize(("half_spacings", "rounded_spacings"), [(1, 0), (3, 4), (5, 4), (7, 8)])
def test_ties_above_one_go_to_the_even_significand(binary_format, half_spacings, rounded_spacings):
    half = spacing_at_one(binary_format) / 2
    found = rounded(1 + half_spacings * half, binary_format)
    assert found == 1 + rounded_spacings * half


@pytest.mark.parametrize("binary_format", FORMATS)
@pytest.mark.parametrize(("half_steps", "rounded_steps"), [(1, 0), (3, 4), (5, 4), (7, 8)])
def test_ties_between_subnormals_go_to_the_even_one(binary_format, half_steps, rounded_steps):
    half = smallest_subnormal(binary_format) / 2
    assert rounded(half_steps * half, binary_format) == rounded_steps * half


@pytest.mark.parametrize("binary_format", FORMATS)
def test_what_is_above_a_tie_goes_up_however_little(binary_format):
    half = smallest_subnormal(binary_format) / 2
    assert rounded(half * (1 + Fraction(1, 10**400)), binary_format) == 2 * half


@pytest.mark.parametrize("binary_format", FORMATS)
def test_what_is_less_than_half_a_spacing_beyond_the_largest_rounds_to_it(binary_format):
    half = power_of_two(binary_format.largest_exponent) * spacing_at_one(binary_format) / 2
    below = largest(binary_format) + half * (1 - Fraction(1, 10**400))
    assert rounded(below, binary_format) == largest(binary_format)


@pytest.mark.parametrize("binary_format", FORMATS)
def test_what_is_half_a_spacing_beyond_the_largest_overflows(binary_format):
    half = power_of_two(binary_format.largest_exponent) * spacing_at_one(binary_format) / 2
    assert rounded(largest(binary_format) + half, binary_format) is None


@pytest.mark.parametrize("binary_format", FORMATS)
@given(value=st.fractions(min_value=0))
def test_rounding_moves_a_value_by_half_a_spacing_at_most(binary_format, value):
    found = rounded(value, binary_format)
    spacing = max(value * spacing_at_one(binary_format), smallest_subnormal(binary_format))
    assert found is None or abs(found - value) <= spacing / 2


@given(value=st.fractions(min_value=0).filter(bool))
def test_floor_log2_is_the_exponent_of_the_binade(value):
    exponent = floor_log2(value)
    assert power_of_two(exponent) <= value < power_of_two(exponent + 1)

"""Correct rounding of fractions, and floating-point data as bit patterns."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonnx_ort.meaning.node import ELEMENT_TYPES
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    NAN,
    BinaryFormat,
    decode,
    encode,
    exact_elements,
    finite,
    floor_log2,
    infinity,
    power_of_two,
)
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import special_values
from support.meanings import rounded
from support.values import FLOATS, bits_dtype, from_bits, random_pairs

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


SIXTEEN_BIT = (ElementType.FLOAT16, ElementType.BFLOAT16)


def patterns(element_type: ElementType) -> list[int]:
    if element_type in SIXTEEN_BIT:
        return list(range(1 << 16))
    chosen = np.concatenate([special_values(element_type), *random_pairs(element_type, 2000)])
    return [int(bits) for bits in chosen.view(bits_dtype(element_type))]


@pytest.mark.parametrize("element_type", FLOATS)
def test_decoded_values_are_those_that_numpy_reads(element_type):
    bits = patterns(element_type)
    with np.errstate(invalid="ignore"):
        values = from_bits(bits, element_type).astype(np.float64).tolist()
    decoded = [decode(b, FLOAT_FORMATS[element_type]) for b in bits]
    finite_pairs = [
        (number.value, Fraction(value))
        for number, value in zip(decoded, values, strict=True)
        if np.isfinite(value)
    ]
    assert all(ours == theirs for ours, theirs in finite_pairs)


@pytest.mark.parametrize("element_type", FLOATS)
def test_encoding_gives_back_every_decoded_pattern(element_type):
    binary_format = FLOAT_FORMATS[element_type]
    numbers = {bits: decode(bits, binary_format) for bits in patterns(element_type)}
    changed = [b for b, n in numbers.items() if n != NAN and encode(n, binary_format) != b]
    assert changed == []


@pytest.mark.parametrize("element_type", FLOATS)
def test_every_pattern_that_numpy_reads_as_nan_is_decoded_as_nan(element_type):
    bits = patterns(element_type)
    ours = [decode(b, FLOAT_FORMATS[element_type]) == NAN for b in bits]
    with np.errstate(invalid="ignore"):
        theirs = np.isnan(from_bits(bits, element_type)).tolist()
    assert ours == theirs


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        pytest.param(finite(Fraction(0), negative=True), 0x8000, id="-0"),
        pytest.param(finite(Fraction(1, 3), negative=False), 0x3555, id="1/3"),
        pytest.param(finite(Fraction(1, 2**25), negative=True), 0x8000, id="underflow to -0"),
        pytest.param(finite(Fraction(65519), negative=False), 0x7BFF, id="the largest"),
        pytest.param(finite(Fraction(65520), negative=True), 0xFC00, id="overflow to -inf"),
        pytest.param(infinity(negative=False), 0x7C00, id="inf"),
        pytest.param(NAN, 0x7E00, id="nan"),
    ],
)
def test_float16_patterns(number, bits):
    assert encode(number, FLOAT_FORMATS[ElementType.FLOAT16]) == bits


def test_scalar_of_numpy_is_a_tensor_without_axes():
    for scalar in (np.int32(-3), np.float16(-3), np.bool_(True)):
        made = exact_elements(scalar, ELEMENT_TYPES[scalar.dtype])
        assert (made.shape, isinstance(made.item(), np.generic)) == ((), False)

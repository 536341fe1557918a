"""Floating-point data as bit patterns, against numpy's reading of them."""

from fractions import Fraction

import numpy as np
import pytest

from sonnx_ort.oracle.numbers import FLOAT_FORMATS, NAN, decode, encode, finite, infinity
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.suite.applied import special_values
from support.values import FLOATS, bits_dtype, from_bits, random_pairs

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

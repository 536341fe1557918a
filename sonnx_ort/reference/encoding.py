"""Floating-point data as bit patterns.

Source: IEEE 754-2019, 3.4 (binary interchange formats); bfloat16 is laid out alike with 8 bits of
exponent and 7 of fraction.
"""

from fractions import Fraction

from sonnx_ort.reference.number import NAN, Kind, Number, finite, infinity
from sonnx_ort.reference.rounding import (
    BinaryFormat,
    floor_log2,
    power_of_two,
    round_to_nearest_even,
)


def decode(bits: int, binary_format: BinaryFormat) -> Number:
    """What a bit pattern stands for.

    Args:
        bits: The pattern as an unsigned integer.
        binary_format: Its format.
    """
    fraction_bits = binary_format.precision - 1
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & _all_ones(binary_format)
    negative = bool(bits >> (fraction_bits + binary_format.exponent_bits))
    if exponent == _all_ones(binary_format):
        return NAN if fraction else infinity(negative=negative)
    significand = fraction if exponent == 0 else fraction | (1 << fraction_bits)
    power = max(exponent, 1) - binary_format.largest_exponent - fraction_bits
    return finite(Fraction(significand) * power_of_two(power), negative=negative)


def encode(number: Number, binary_format: BinaryFormat) -> int:
    """The bit pattern of a datum, rounded to nearest even; NaN is the positive quiet one.

    Args:
        number: The datum; its magnitude need not be representable.
        binary_format: The format to encode it in.
    """
    fraction_bits = binary_format.precision - 1
    sign = int(number.negative) << (fraction_bits + binary_format.exponent_bits)
    infinite = sign | (_all_ones(binary_format) << fraction_bits)
    match number.kind:
        case Kind.NAN:
            return infinite | (1 << (fraction_bits - 1))
        case Kind.INFINITE:
            return infinite
        case Kind.FINITE:
            rounded = round_to_nearest_even(number.magnitude, binary_format)
            return infinite if rounded is None else sign | _magnitude_bits(rounded, binary_format)


def _magnitude_bits(magnitude: Fraction, binary_format: BinaryFormat) -> int:
    """The exponent and fraction fields of a representable number."""
    fraction_bits = binary_format.precision - 1
    smallest = power_of_two(binary_format.smallest_exponent)
    if magnitude < smallest:
        return int(magnitude / smallest * (1 << fraction_bits))
    exponent = floor_log2(magnitude)
    fraction = int((magnitude / power_of_two(exponent) - 1) * (1 << fraction_bits))
    return ((exponent + binary_format.largest_exponent) << fraction_bits) | fraction


def _all_ones(binary_format: BinaryFormat) -> int:
    return (1 << binary_format.exponent_bits) - 1

"""Correct rounding of a fraction to a binary format, by integer arithmetic.

Sources: IEEE 754-2019, 3.3 (formats), 4.3.1 (roundTiesToEven), 7.4 (overflow to infinity) and
7.5 (subnormal results are rounded at the smallest exponent).
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """A binary floating-point format with gradual underflow, infinities and NaNs.

    Attributes:
        precision: The significant bits, the implicit one among them: p of IEEE 754.
        exponent_bits: The width of the exponent field: w of IEEE 754.
    """

    precision: int
    exponent_bits: int

    @property
    def largest_exponent(self) -> int:
        """The exponent of the largest finite number: emax of IEEE 754."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def smallest_exponent(self) -> int:
        """The exponent of the smallest normal number: emin of IEEE 754."""
        return 1 - self.largest_exponent


def round_to_nearest_even(magnitude: Fraction, binary_format: BinaryFormat) -> Fraction | None:
    """Round to the nearest number of a format; a tie goes to the even significand.

    Args:
        magnitude: A number that is not negative.
        binary_format: The format.

    Returns:
        The nearest number, a subnormal or zero where it is that small; None where the number
        rounds beyond the largest finite one, that is, to infinity.
    """
    if magnitude == 0:
        return magnitude
    exponent = max(floor_log2(magnitude), binary_format.smallest_exponent)
    spacing = power_of_two(exponent - binary_format.precision + 1)
    rounded = _nearest_integer(magnitude / spacing) * spacing
    beyond = power_of_two(binary_format.largest_exponent + 1)
    return None if rounded >= beyond else rounded


def floor_log2(value: Fraction) -> int:
    """The exponent e with 2^e <= value < 2^(e + 1).

    Args:
        value: A positive number.
    """
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if power_of_two(exponent) <= value else exponent - 1


def power_of_two(exponent: int) -> Fraction:
    """2^exponent.

    Args:
        exponent: Any integer.
    """
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _nearest_integer(value: Fraction) -> int:
    floor, remainder = divmod(value.numerator, value.denominator)
    doubled = 2 * remainder
    round_up = doubled > value.denominator or (doubled == value.denominator and floor % 2 == 1)
    return floor + round_up

"""How the exact oracle rounds."""

from fractions import Fraction

from sonnx_ort.oracle.numbers import BinaryFormat, Kind, decode, encode, finite


def rounded(value: Fraction, binary_format: BinaryFormat) -> Fraction | None:
    """The number of a format that a nonnegative number is encoded as; None for infinity."""
    found = decode(encode(finite(value, negative=False), binary_format), binary_format)
    return found.magnitude if found.kind is Kind.FINITE else None

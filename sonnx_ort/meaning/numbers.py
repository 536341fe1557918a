"""Exact numbers, their arithmetic, the formats that they are rounded to, and tensors of them.

Over the reals: SONNX Div, typed edition, section "real" (a zero divisor is undefined); SONNX Sub,
preliminary edition, "Informal specification".

On floating-point data: SONNX Div, typed edition, section "FP16, FP32, FP64, BFLOAT16", and
preliminary edition, "Informal specification"; SONNX Sub, preliminary edition. Where they are
silent, and for the other operators, IEEE 754-2019: 6.1 (infinities), 6.2 (NaNs), 6.3 (signs), 7.2
(invalid operations) and 7.3 (division by zero).

Conversions: ONNX Cast, version 25. Floats are truncated to integers; integers are taken modulo 2^n;
conversions to floats round to nearest even; a bool is 1 or 0, and true for everything but zeros.
Floats outside the integer type have no result.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import trunc
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.element_type import ElementType, Family


class Kind(enum.Enum):
    """The three kinds of floating-point data (IEEE 754-2019, 3.3)."""

    FINITE = enum.auto()
    INFINITE = enum.auto()
    NAN = enum.auto()


@dataclass(frozen=True, slots=True)
class Number:
    """A floating-point datum: a sign, and a magnitude if it is finite.

    Its arithmetic is that of IEEE 754-2019, without rounding. Equal data have equal attributes;
    `equal` compares as the standard does.

    Attributes:
        kind: Finite, infinity or NaN.
        negative: Its sign; also for zeros, but meaningless for NaN.
        magnitude: Its absolute value; zero if it is not finite.
    """

    kind: Kind
    negative: bool
    magnitude: Fraction

    @property
    def is_finite(self) -> bool:
        """Whether it is no infinity and not NaN."""
        return self.kind is Kind.FINITE

    @property
    def is_zero(self) -> bool:
        """Whether it is a zero of either sign."""
        return self.kind is Kind.FINITE and self.magnitude == 0

    @property
    def below_zero(self) -> bool:
        """Whether it is less than zero; NaN and both zeros are not."""
        return self.negative and self.kind is not Kind.NAN and not self.is_zero

    @property
    def value(self) -> Fraction:
        """The signed value of a finite datum; zero for both zeros."""
        return -self.magnitude if self.negative else self.magnitude

    def __abs__(self) -> "Number":
        return Number(self.kind, negative=False, magnitude=self.magnitude)

    def __neg__(self) -> "Number":
        return Number(self.kind, not self.negative, self.magnitude)

    def __add__(self, other: "Number") -> "Number":
        return self - -other

    def __sub__(self, other: "Number") -> "Number":
        match self.kind, other.kind:
            case (Kind.NAN, _) | (_, Kind.NAN):
                return NAN
            case Kind.INFINITE, Kind.INFINITE:
                return NAN if self.negative == other.negative else self
            case Kind.INFINITE, _:
                return self
            case _, Kind.INFINITE:
                return -other
        value = difference(self.value, other.value)
        # Only -0 - (+0) is -0; the difference of equal numbers is +0.
        zero = self.is_zero and self.negative and not other.negative
        return finite(abs(value), negative=value < 0 or (value == 0 and zero))

    def __mul__(self, other: "Number") -> "Number":
        negative = self.negative != other.negative
        match self.kind, other.kind:
            case (Kind.NAN, _) | (_, Kind.NAN):
                return NAN
            case (Kind.INFINITE, _) | (_, Kind.INFINITE):
                return NAN if self.is_zero or other.is_zero else infinity(negative=negative)
        return finite(self.magnitude * other.magnitude, negative=negative)

    def __truediv__(self, other: "Number") -> "Number":
        negative = self.negative != other.negative
        match self.kind, other.kind:
            case (Kind.NAN, _) | (_, Kind.NAN) | (Kind.INFINITE, Kind.INFINITE):
                return NAN
            case Kind.INFINITE, _:
                return infinity(negative=negative)
            case _, Kind.INFINITE:
                return finite(Fraction(0), negative=negative)
        magnitude = quotient(self.magnitude, other.magnitude)
        if magnitude is not None:
            return finite(magnitude, negative=negative)
        return NAN if self.is_zero else infinity(negative=negative)


NAN: Final = Number(Kind.NAN, negative=False, magnitude=Fraction(0))
POSITIVE_INFINITY: Final = Number(Kind.INFINITE, negative=False, magnitude=Fraction(0))
ZERO: Final = Number(Kind.FINITE, negative=False, magnitude=Fraction(0))
ONE: Final = Number(Kind.FINITE, negative=False, magnitude=Fraction(1))


def finite(magnitude: Fraction, *, negative: bool) -> Number:
    """A finite datum."""
    return Number(Kind.FINITE, negative, magnitude)


def number(value: Fraction | int) -> Number:
    """The finite number of this value, which is not -0."""
    magnitude = abs(value) if isinstance(value, Fraction) else Fraction(abs(value))
    return finite(magnitude, negative=value < 0)


def infinity(*, negative: bool) -> Number:
    """An infinity."""
    return Number(Kind.INFINITE, negative, Fraction(0))


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """A binary floating-point format with gradual underflow, infinities and NaNs.

    Attributes:
        precision: The number of significant bits, including the implicit one: p of IEEE 754.
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


def floor_log2(value: Fraction) -> int:
    """The exponent e with 2^e <= value < 2^(e + 1), for a positive value."""
    numerator, denominator = value.numerator, value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    above, below = scaled(numerator, denominator, -exponent)
    return exponent if below <= above else exponent - 1


@cache
def power_of_two(exponent: int) -> Fraction:
    """2^exponent, for any integer exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def spacing(magnitude: Fraction, binary: BinaryFormat) -> Fraction:
    """A unit in the last place of a format at a number of this magnitude."""
    exponent = floor_log2(magnitude) if magnitude else binary.smallest_exponent
    return power_of_two(max(exponent, binary.smallest_exponent) - binary.precision + 1)


def nearest_integer(value: Fraction) -> int:
    """The integer nearest to a nonnegative number, ties to even."""
    return _nearest_quotient(value.numerator, value.denominator)


def _nearest_quotient(numerator: int, denominator: int) -> int:
    floor, remainder = divmod(numerator, denominator)
    doubled = 2 * remainder
    return floor + (doubled > denominator or (doubled == denominator and floor % 2 == 1))


def scaled(numerator: int, denominator: int, exponent: int) -> tuple[int, int]:
    """A fraction times 2^exponent, not reduced."""
    if exponent < 0:
        return numerator, denominator << -exponent
    return numerator << exponent, denominator


def decode(bits: int, binary_format: BinaryFormat) -> Number:
    """The number for a bit pattern, given as an unsigned integer."""
    fraction_bits = binary_format.precision - 1
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & _all_ones(binary_format)
    negative = bool(bits >> (fraction_bits + binary_format.exponent_bits))
    if exponent == _all_ones(binary_format):
        return NAN if fraction else infinity(negative=negative)
    significand = fraction if exponent == 0 else fraction | (1 << fraction_bits)
    power = max(exponent, 1) - binary_format.largest_exponent - fraction_bits
    return finite(Fraction(*scaled(significand, 1, power)), negative=negative)


def encode(number: Number, binary_format: BinaryFormat) -> int:
    """The bit pattern of a datum, rounded to nearest even; NaN is the positive quiet one."""
    fraction_bits = binary_format.precision - 1
    sign = int(number.negative) << (fraction_bits + binary_format.exponent_bits)
    infinite = _all_ones(binary_format) << fraction_bits
    match number.kind:
        case Kind.NAN:
            return infinite | (1 << (fraction_bits - 1))
        case Kind.INFINITE:
            return sign | infinite
        case Kind.FINITE:
            return sign | min(infinite, _rounded_bits(number.magnitude, binary_format))


def _rounded_bits(magnitude: Fraction, binary_format: BinaryFormat) -> int:
    """The exponent and fraction fields of a magnitude rounded to nearest, ties to even.

    A significand that is rounded up to the next power of two carries into the exponent.
    """
    if magnitude == 0:
        return 0
    fraction_bits = binary_format.precision - 1
    exponent = max(floor_log2(magnitude), binary_format.smallest_exponent)
    ends = scaled(magnitude.numerator, magnitude.denominator, fraction_bits - exponent)
    place = exponent - binary_format.smallest_exponent
    return (place << fraction_bits) + _nearest_quotient(*ends)


def _all_ones(binary_format: BinaryFormat) -> int:
    return (1 << binary_format.exponent_bits) - 1


def quotient(a: Fraction, b: Fraction) -> Fraction | None:
    """The quotient a / b; None if b is zero."""
    return None if b == 0 else a / b


def difference(a: Fraction, b: Fraction) -> Fraction:
    """The difference a - b."""
    return a - b


@dataclass(frozen=True, slots=True)
class IntegerFormat:
    """A two's-complement or unsigned integer type with a width in bits."""

    bits: int
    signed: bool

    @property
    def smallest(self) -> int:
        """Its smallest value."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def largest(self) -> int:
        """Its largest value."""
        return self.smallest + (1 << self.bits) - 1


FLOAT_FORMATS: Mapping[ElementType, BinaryFormat] = {
    ElementType.FLOAT16: BinaryFormat(precision=11, exponent_bits=5),
    ElementType.BFLOAT16: BinaryFormat(precision=8, exponent_bits=8),
    ElementType.FLOAT: BinaryFormat(precision=24, exponent_bits=8),
    ElementType.DOUBLE: BinaryFormat(precision=53, exponent_bits=11),
}
"""binary16, binary32 and binary64 of IEEE 754-2019, table 3.5, and bfloat16."""

INTEGER_FORMATS: Mapping[ElementType, IntegerFormat] = {
    kind: IntegerFormat(8 * kind.dtype.itemsize, signed=kind.dtype.kind == "i")
    for kind in ElementType
    if kind.family is Family.INTEGER
}
"""The eight integer types of ONNX."""

Datum = Number | int | bool
"""An element: floating-point number, integer or bool."""

TYPES: Mapping[int, ElementType] = {
    1: ElementType.FLOAT,
    2: ElementType.UINT8,
    3: ElementType.INT8,
    4: ElementType.UINT16,
    5: ElementType.INT16,
    6: ElementType.INT32,
    7: ElementType.INT64,
    9: ElementType.BOOL,
    10: ElementType.FLOAT16,
    11: ElementType.DOUBLE,
    12: ElementType.UINT32,
    13: ElementType.UINT64,
    16: ElementType.BFLOAT16,
}
"""The types by their ONNX numbers."""


def type_numbered(number: int) -> ElementType:
    """The type with an ONNX number.

    Raises:
        ValueError: It is none of the profile's.
    """
    if number not in TYPES:
        raise ValueError(f"type {number} of ONNX has no meaning")
    return TYPES[number]


def converted(datum: Datum, target: ElementType) -> Datum:
    """Convert an element to another type, before rounding or modulo 2^n.

    A float converted to an integer must be finite.
    """
    match target.family:
        case Family.BOOLEAN:
            return not datum.is_zero if isinstance(datum, Number) else datum != 0
        case Family.INTEGER:
            return trunc(finite_value(datum))
        case Family.FLOAT:
            return as_number(datum)


def finite_value(datum: Datum) -> Fraction:
    """The value of a finite element.

    Raises:
        ValueError: It is an infinity or NaN.
    """
    made = as_number(datum)
    if not made.is_finite:
        raise ValueError(f"{made.kind.name} has no value")
    return made.value


def as_number(datum: Datum) -> Number:
    """A float as it is, and the float of an integer or bool, not yet rounded."""
    return datum if isinstance(datum, Number) else number(datum)


Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

Attributes = Mapping[str, Any]
"""The attributes of a node: numbers, texts, and sequences of them."""

NO_ATTRIBUTES: Attributes = MappingProxyType({})
"""The attributes of a node without any."""

Operands = Sequence[Array | None]
"""The operands of a node, None for omitted ones."""

Exact = npt.NDArray[np.object_]
"""A tensor of exact elements: `Number` for floats, else int or bool."""


def tensor(elements: Iterable[Any], shape: Sequence[int]) -> Exact:
    """A tensor of elements that are no arrays, from row-major order."""
    flat = list(elements)
    made = np.empty(len(flat), object)
    made[:] = flat
    return made.reshape(shape)


def exact_elements(array: Array, element_type: ElementType) -> Exact:
    """A tensor of the exact elements.

    The element type is ignored for a tensor of bools.
    """
    binary = FLOAT_FORMATS.get(element_type)
    if array.dtype.kind == "b" or binary is None:
        return np.asarray(array).astype(object)
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").ravel().tolist()
    return tensor((decode(pattern, binary) for pattern in bits), array.shape)


def significands_of(array: Array, binary: BinaryFormat) -> tuple[Array, Array, Array]:
    """Floats as signed integers times powers of two: integers, exponents, and what is not finite.

    The integers of infinities and NaNs are 0.
    """
    fraction_bits, all_ones = binary.precision - 1, (1 << binary.exponent_bits) - 1
    bits = array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    fractions = (bits & np.uint64((1 << fraction_bits) - 1)).astype(np.int64)
    upper = (bits >> np.uint64(fraction_bits)).astype(np.int64)
    exponents, negative = upper & all_ones, upper > all_ones
    special = exponents == all_ones
    magnitudes = np.where(exponents == 0, fractions, fractions | 1 << fraction_bits)
    magnitudes[special] = 0
    least = binary.smallest_exponent - fraction_bits
    return (
        np.where(negative, -magnitudes, magnitudes),
        np.maximum(exponents, 1) - 1 + least,
        special,
    )


def encoded_elements(elements: Exact, element_type: ElementType) -> Array:
    """Round floats, take integers modulo 2^n, and return the elements in their shape."""
    dtype = element_type.dtype
    bits = [_encoded(element, element_type) for element in elements.ravel().tolist()]
    return np.array(bits, f"u{dtype.itemsize}").view(dtype).reshape(elements.shape)


def _encoded(datum: Datum, element_type: ElementType) -> int:
    """The bit pattern of an element: floats are rounded, integers taken modulo 2^n."""
    if isinstance(datum, Number):
        return encode(datum, FLOAT_FORMATS[element_type])
    return datum % (1 << 8 * element_type.dtype.itemsize)

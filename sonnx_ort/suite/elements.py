"""Elements of operands: those of each equivalence class, and ordinary ones.

The classes are those of the working group's strategy of tests (tests-part2.md, "Type-specific
domains", and the boundaries of domains in "Equivalence classes based on the input domain").
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.numbers import FLOAT_FORMATS, INTEGER_FORMATS
from sonnx_ort.profile.element_type import ElementType, Family

Array = npt.NDArray[Any]


class Class(enum.StrEnum):
    """An equivalence class of cases."""

    NAN = "NaN"
    INFINITY = "infinities"
    ZERO = "zeros"
    SUBNORMAL = "subnormal values"
    BOUNDARY = "boundary of the type"
    """The smallest and largest integers, or normal numbers, and their neighbors."""

    INTERIOR = "interior of the type"
    TYPE = "type"
    RANK = "rank"
    SIZE = "size"
    VERSION = "version"
    KEPT = "constraint kept"
    BROKEN = "constraint broken"


def special_values(element_type: ElementType) -> Array:
    """The values at the edges of a type, in one dimension.

    Floats: zeros, the smallest and largest subnormals, the smallest normal, numbers around 1, the
    largest finite and the infinities, in both signs, and NaN. Integers: the smallest two, those
    around zero, and the largest two. Conditions: both.
    """
    if element_type is ElementType.BOOL:
        return np.array([False, True])
    if element_type.family is Family.INTEGER:
        return _special_integers(element_type)
    return _special_floats(element_type)


def _special_integers(element_type: ElementType) -> Array:
    limits = INTEGER_FORMATS[element_type]
    around_zero = range(-7 if limits.signed else 0, 8)
    edges = [limits.smallest, limits.smallest + 1, limits.largest - 1, limits.largest]
    return np.array(sorted({*edges, *around_zero}), element_type.dtype)


def _special_floats(element_type: ElementType) -> Array:
    limits = FLOAT_FORMATS[element_type]
    fraction_bits = limits.precision - 1
    smallest_normal = 1 << fraction_bits
    one = limits.largest_exponent << fraction_bits
    three = one + smallest_normal + smallest_normal // 2
    infinity = (2 * limits.largest_exponent + 1) << fraction_bits
    positive = [0, 1, smallest_normal - 1, smallest_normal, one - 1, one, one + 1, three]
    positive += [infinity - 1, infinity]
    sign = 1 << (fraction_bits + limits.exponent_bits)
    quiet_nan = infinity + smallest_normal // 2
    return _from_bits([*positive, *(sign + bits for bits in positive), quiet_nan], element_type)


def _from_bits(bits: list[int], element_type: ElementType) -> Array:
    return np.array(bits, f"u{element_type.dtype.itemsize}").view(element_type.dtype)


_OF_FLOATS = (
    Class.ZERO,
    *(Class.SUBNORMAL,) * 2,
    Class.BOUNDARY,
    *(Class.INTERIOR,) * 4,
    Class.BOUNDARY,
    Class.INFINITY,
)
"""The classes of the special floats of one sign, in their order."""


def special_classes(element_type: ElementType) -> Mapping[Class, Array]:
    """The special values of a type by their classes."""
    values = special_values(element_type)
    classes: Iterable[Class] = (*_OF_FLOATS, *_OF_FLOATS, Class.NAN)
    if element_type.family is not Family.FLOAT:
        classes = (_class_of_integer(int(value), element_type) for value in values)
    made: dict[Class, list[int]] = {}
    for place, each in enumerate(classes):
        made.setdefault(each, []).append(place)
    return {each: values[places] for each, places in made.items()}


def _class_of_integer(value: int, element_type: ElementType) -> Class:
    """The class of an integer, or of a bool."""
    limits = INTEGER_FORMATS.get(element_type)
    if limits is not None and value == 0:
        return Class.ZERO
    near = limits and min(value - limits.smallest, limits.largest - value) <= 1
    return Class.BOUNDARY if near else Class.INTERIOR


def ordinary(
    generator: np.random.Generator, element_type: ElementType, shape: tuple[int, ...]
) -> Array:
    """Random elements far from all limits."""
    if element_type is ElementType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if element_type.family is Family.FLOAT:
        return np.asarray(2 * generator.normal(size=shape)).astype(element_type.dtype)
    least = -9 if INTEGER_FORMATS[element_type].signed else 0
    return generator.integers(least, 10, shape).astype(element_type.dtype)

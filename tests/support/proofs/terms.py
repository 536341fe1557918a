"""Elements of tensors as terms of the solvers, and what compares and converts them.

Integers that a model is given are bit-vectors. Sizes, and the 0 and 1 that conditions become, are
mathematical integers within 64 bits: what adds them wraps as int64 does. Floats are those of the
theory of floating-point numbers, with one NaN.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import z3

from sonnx_ort.profile.element_type import ElementType, Family

NEAREST = z3.RNE()
"""Rounding to nearest, ties to even."""

LARGEST_SIZE = (1 << 63) - 1
LARGEST_RANK = (1 << 31) - 1

_WRAP = 1 << 64

_FORMATS = {
    ElementType.FLOAT16: (5, 11),
    ElementType.BFLOAT16: (8, 8),
    ElementType.FLOAT: (8, 24),
    ElementType.DOUBLE: (11, 53),
}
"""How many bits exponent and significand have, the hidden bit among the latter."""


class NotInterpreted(Exception):  # noqa: N818 - reads as what happened
    """Something of which the interpreter does not know what it means."""


def bits_of(element_type: ElementType) -> int:
    """The width of a type."""
    return 8 * element_type.dtype.itemsize


def is_signed(element_type: ElementType) -> bool:
    """Whether a type of integers is signed."""
    return element_type.dtype.kind == "i"


def as_number(element: z3.ExprRef, element_type: ElementType) -> z3.ArithRef:
    """An integer as a mathematical one."""
    return z3.BV2Int(element, is_signed(element_type)) if z3.is_bv(element) else element


def sort_of(element_type: ElementType) -> z3.SortRef:
    """The sort of the elements that a model is given."""
    match element_type.family:
        case Family.FLOAT:
            return z3.FPSort(*_FORMATS[element_type])
        case Family.INTEGER:
            return z3.BitVecSort(bits_of(element_type))
        case _:
            return z3.BoolSort()


def literal(value: Any, element_type: ElementType) -> z3.ExprRef:
    """One element of a constant; integers become what they are combined with."""
    match element_type.family:
        case Family.FLOAT:
            raw = np.array(value, element_type.dtype).view(f"u{element_type.dtype.itemsize}")
            return z3.simplify(
                z3.fpBVToFP(z3.BitVecVal(int(raw), bits_of(element_type)), sort_of(element_type))
            )
        case Family.INTEGER:
            return z3.IntVal(int(value))
        case _:
            return z3.BoolVal(bool(value))


def given(value: Any, element_type: ElementType) -> z3.ExprRef:
    """One element of an operand, in the sort of operands."""
    if element_type.family is Family.INTEGER:
        return z3.BitVecVal(int(value), bits_of(element_type))
    return literal(value, element_type)


def alike(one: z3.ExprRef, other: z3.ExprRef) -> tuple[z3.ExprRef, z3.ExprRef]:
    """Two integers in one sort; a constant takes that of the other.

    Raises:
        NotInterpreted: They have none in common.
    """
    if one.sort() == other.sort():
        return one, other
    if z3.is_bv(one) and z3.is_int_value(other):
        return one, z3.BitVecVal(other.as_long(), one.size())
    if z3.is_bv(other) and z3.is_int_value(one):
        return z3.BitVecVal(one.as_long(), other.size()), other
    raise NotInterpreted(f"elements of the sorts {one.sort()} and {other.sort()} together")


def equal(one: z3.ExprRef, other: z3.ExprRef) -> z3.BoolRef:
    """Whether two elements are equal, as IEEE 754 has it for floats."""
    one, other = alike(one, other)
    return z3.fpEQ(one, other) if z3.is_fp(one) else one == other


def less(one: z3.ExprRef, other: z3.ExprRef, element_type: ElementType) -> z3.BoolRef:
    """Whether one element is smaller than another."""
    one, other = alike(one, other)
    if z3.is_fp(one):
        return z3.fpLT(one, other)
    if z3.is_bv(one) and not is_signed(element_type):
        return z3.ULT(one, other)
    return one < other


def wrapped(number: z3.ArithRef) -> z3.ArithRef:
    """The int64 of a sum or a negative of two."""
    least = -LARGEST_SIZE - 1
    return z3.If(
        number > LARGEST_SIZE, number - _WRAP, z3.If(number < least, number + _WRAP, number)
    )


def wrapped_anyhow(number: z3.ArithRef) -> z3.ArithRef:
    """The int64 of any number."""
    return (number + _WRAP // 2) % _WRAP - _WRAP // 2


def nearest_float(element: z3.BitVecRef, source: ElementType, to: ElementType) -> z3.FPRef:
    """The float that is nearest to an integer."""
    convert = z3.fpSignedToFP if is_signed(source) else z3.fpUnsignedToFP
    return convert(NEAREST, element, sort_of(to))


ToFloat = Callable[[z3.BitVecRef, ElementType, ElementType], z3.FPRef]
"""Gives the float for an integer."""


def converted(
    element: z3.ExprRef, source: ElementType, to: ElementType, to_float: ToFloat = nearest_float
) -> z3.ExprRef:
    """What Cast gives.

    Args:
        element: An element.
        source: Its type.
        to: The type that it is converted to.
        to_float: What stands for the floats of integers.

    Raises:
        NotInterpreted: It is a conversion that no guard makes.
    """
    match source.family, to.family:
        case Family.BOOLEAN, _:
            return _of_condition(element, to)
        case _, Family.BOOLEAN:
            zero = z3.fpIsZero(element) if z3.is_fp(element) else equal(element, z3.IntVal(0))
            return z3.Not(zero)
        case Family.FLOAT, Family.FLOAT:
            return z3.fpFPToFP(NEAREST, element, sort_of(to))
        case Family.INTEGER, Family.INTEGER if z3.is_bv(element):
            return _resized(element, source, bits_of(to))
        case Family.INTEGER, Family.INTEGER if is_signed(source) and is_signed(to):
            if bits_of(source) <= bits_of(to):
                return element
        case Family.INTEGER, Family.FLOAT if z3.is_bv(element):
            return to_float(element, source, to)
    raise NotInterpreted(f"Cast of {source} to {to} of a term of the sort {element.sort()}")


def _of_condition(element: z3.BoolRef, to: ElementType) -> z3.ExprRef:
    if to is ElementType.BOOL:
        return element
    return z3.If(element, literal(1, to), literal(0, to))


def _resized(element: z3.BitVecRef, source: ElementType, bits: int) -> z3.BitVecRef:
    missing = bits - element.size()
    if missing <= 0:
        return z3.Extract(bits - 1, 0, element)
    return z3.SignExt(missing, element) if is_signed(source) else z3.ZeroExt(missing, element)


def without_wrapping(number: z3.ArithRef) -> z3.ArithRef:
    """A sum as it is where nothing wraps."""
    if not z3.is_app(number):
        return number
    if z3.is_app_of(number, z3.Z3_OP_ITE):
        inner = number.arg(2)
        if z3.is_app_of(inner, z3.Z3_OP_ITE) and z3.eq(wrapped(inner.arg(2)), number):
            return without_wrapping(inner.arg(2))
        return number
    if z3.is_add(number) or z3.is_app_of(number, z3.Z3_OP_UMINUS):
        return number.decl()(*map(without_wrapping, number.children()))
    return number

"""Cast of balls; `elements` of the same room has that of exact numbers, and the sources."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.division import truncated
from sonnx_ort.meaning.elementwise import elementwise, is_narrow
from sonnx_ort.meaning.node import BallNode, Node, are_balls, balls, mapped
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    INTEGER_FORMATS,
    TYPES,
    Array,
    Exact,
    power_of_two,
)
from sonnx_ort.meaning.results import (
    Elements,
    Result,
)
from sonnx_ort.profile.element_type import ElementType, Family

if TYPE_CHECKING:
    from flint import arb


def cast(node: Node) -> tuple[Array | Elements | Result, ...]:
    """Cast: to another format, to integers or to bools.

    Raises:
        NotFollowedError: Balls do not decide the results, or the type is not the profile's.
    """
    if not isinstance(node, BallNode):
        return elementwise("Cast")(node)
    target = TYPES.get(node.integer("to", 0))
    if target is None:
        raise NotFollowedError("it casts to a type of which nothing is known")
    x = node.operand(0)
    if target.family is Family.FLOAT:
        return (_cast_to_float(node, balls(x), target),)
    if not are_balls(x):
        return elementwise("Cast")(Node(node.version, node.attributes, node.operands))
    convert = _is_not_zero if target is ElementType.BOOL else _integer_of(target)
    return (mapped(convert, x).astype(target.dtype),)


def _cast_to_float(node: BallNode, x: Exact, target: ElementType) -> Exact:
    """Numbers in another format, by way of float to the narrow ones."""
    if node.binary is None:
        return x
    binary = FLOAT_FORMATS[target]
    there = replace(node, binary=binary)
    roundings = 1 if is_narrow(binary) else 0
    most = power_of_two(binary.precision).numerator

    def converted(each: "arb") -> "arb":
        small = each.is_exact() and each.is_integer() and abs(each) <= most
        return each if small else there.rounded(each, roundings)

    return mapped(converted, x)


def _is_not_zero(x: "arb") -> bool:
    if x == 0 or x != 0:
        return bool(x != 0)
    raise NotFollowedError("a number is too close to 0 to be cast to a bool")


def _integer_of(target: ElementType) -> "Callable[[arb], int]":
    limits = INTEGER_FORMATS[target]

    def convert(x: "arb") -> int:
        if not (x > limits.smallest - 1 and x < limits.largest + 1):
            raise NotFollowedError(f"a number may be outside {target}")
        whole = truncated(x)
        if whole is None:
            raise NotFollowedError("a number is too close to an integer to be truncated")
        return int(whole)

    return convert

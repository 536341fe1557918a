"""Bounds of the integer elements of results: intervals that hold in every run that continues.

Intervals are over mathematical integers: one that is not within the type says nothing, for elements
may wrap. Bools count as integers, because their bytes are 0 or 1 only if an operator ensures it.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import trunc
from typing import Any

import numpy as np
import numpy.typing as npt

from .node import FLOATS, NUMBERS, BoundsRule, Node
from .sizes import Bounds, Rejected, require

BOOLEAN = Bounds(0, 1)

LIMITS: Mapping[str, Bounds] = {
    f"{sign}int{bits}": Bounds(0, (1 << bits) - 1)
    if sign
    else Bounds(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""The ranges of the integer types."""

EXACT_IN_DOUBLE = 1 << 53
"""Up to this magnitude double has every integer. ONNX Runtime computes some integers in it."""

MOST_CONSTANTS = 1 << 16
"""Of constants with more elements only the ends of floats are read."""


def bounds_by(rule: BoundsRule, node: Node) -> Sequence[Bounds | None]:
    """The bounds of a node's results; None for one that may be as wide as its type.

    Raises:
        Rejected: Nothing is known of any.
    """
    limits = (_limits(node.result_type(place)) for place in range(node.results))
    return [
        found if found is not None and _is_narrower(found, own) else None
        for found, own in zip(rule(node), limits, strict=False)
    ]


def bounds_of_elements(elements: npt.NDArray[Any] | None) -> Bounds | None:
    """The interval of constant integers; None if they are none, too many or not known."""
    if elements is None or elements.dtype.kind not in "iu":
        return None
    if not 0 < elements.size <= MOST_CONSTANTS:
        return None
    return Bounds(int(elements.min()), int(elements.max()))


def holds_truths(node: Node, index: int) -> bool:
    """Whether the bytes of an operand of bools are certainly 0 or 1."""
    if node.known_bounds(index) is not None:
        return True
    elements = node.constant(index)
    return elements is not None and bool((np.asarray(elements, bool).view(np.uint8) <= 1).all())


def _limits(element_type: str | None) -> Bounds | None:
    return BOOLEAN if element_type == "bool" else LIMITS.get(element_type or "")


def _is_narrower(bounds: Bounds, limits: Bounds | None) -> bool:
    """Whether an interval is narrower than a type, so that no element wraps."""
    if limits is None or not _is_within(bounds, limits):
        return False
    return bounds != limits or limits == BOOLEAN


def bounds_of_operand(node: Node, index: int) -> Bounds:
    """The interval of an operand: its bounds, or the range of its type.

    The bytes of a bool are 0 or 1 only if an operator ensures it.

    Raises:
        Rejected: It is omitted, of no known type, no integers, or bools without bounds.
    """
    known = node.known_bounds(index)
    return known if known is not None else _range_of(node.type(index))


def _range_of(element_type: str | None) -> Bounds:
    found = LIMITS.get(element_type or "")
    if found is None:
        raise Rejected(f"{element_type} is no type of integers")
    return found


def _all(node: Node) -> list[Bounds]:
    """The intervals of all operands."""
    return [bounds_of_operand(node, index) for index in range(node.operands)]


def hull(bounds: Iterable[Bounds]) -> Bounds:
    """The smallest interval that contains all given ones, at least one."""
    intervals = list(bounds)
    return Bounds(min(b.lower for b in intervals), max(b.upper for b in intervals))


_INT32 = LIMITS["int32"]
_NATURAL = Bounds(0, _INT32.upper)
_NEGATIVE = Bounds(_INT32.lower, -1)
_PAIR = 2


def added(node: Node) -> Sequence[Bounds]:
    """Add: the sums of the ends."""
    a, b = _all(node)
    return [Bounds(a.lower + b.lower, a.upper + b.upper)]


def subtracted(node: Node) -> Sequence[Bounds]:
    """Sub: the differences of opposite ends."""
    a, b = _all(node)
    return [Bounds(a.lower - b.upper, a.upper - b.lower)]


def multiplied(node: Node) -> Sequence[Bounds]:
    """Mul: the products of all ends."""
    a, b = _all(node)
    corners = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return [Bounds(min(corners), max(corners))]


def divided(node: Node) -> Sequence[Bounds]:
    """Truncated division is monotonic in the dividend, and in divisors of the same sign."""
    a, b = _all(node)
    require(0 not in b, "the divisor may be 0")
    corners = [trunc(Fraction(x, y)) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return [Bounds(min(corners), max(corners))]


def remainder(node: Node) -> Sequence[Bounds]:
    """Has the sign of the divisor, or with `fmod` of the dividend, and a smaller magnitude."""
    a, b = _all(node)
    match node.attribute("fmod", 0):
        case 0:
            return [Bounds(min(b.lower + 1, 0), max(b.upper - 1, 0))]
        case 1:
            largest = max(abs(b.lower), abs(b.upper), 1) - 1
            return [Bounds(-largest if a.lower < 0 else 0, largest if a.upper > 0 else 0)]
    raise Rejected("fmod is not known")


def magnitude(node: Node) -> Sequence[Bounds]:
    """Abs: how far from zero the ends are."""
    a = bounds_of_operand(node, 0)
    # Abs of the smallest number is that number itself.
    smallest = a.lower == _range_of(node.result_type(0)).lower < 0
    require(not smallest, "it may be of the smallest number")
    return [Bounds(max(a.lower, -a.upper, 0), max(abs(a.lower), abs(a.upper)))]


def negated(node: Node) -> Sequence[Bounds]:
    """Neg: the ends with the other sign."""
    a = bounds_of_operand(node, 0)
    return [Bounds(-a.upper, -a.lower)]


def sign(node: Node) -> Sequence[Bounds]:
    """Sign: the signs of the ends."""
    a = bounds_of_operand(node, 0)
    if _may_be_mistaken(node, [a]):
        return [Bounds(-1, 1)]
    return [Bounds(_sign_of(a.lower), _sign_of(a.upper))]


def _sign_of(number: int) -> int:
    return (number > 0) - (number < 0)


def rectified(node: Node) -> Sequence[Bounds]:
    """Relu: the numbers above zero."""
    a = bounds_of_operand(node, 0)
    return [Bounds(max(a.lower, 0), max(a.upper, 0))]


def _may_be_mistaken(node: Node, bounds: Iterable[Bounds]) -> bool:
    """Whether ONNX Runtime may compare two numbers wrongly.

    Versions up to 1.31.1 do so in Max, Min, Clip and Sign of int64: if the upper halves are equal,
    they compare the lower halves as signed. This is correct if int32 can hold both numbers. Beyond
    int32, a number that is not negative is taken for the larger of the two, and a negative one for
    the smaller.
    """
    is_int64 = node.type(0) == "int64"
    return is_int64 and not all(_is_within(b, _INT32) for b in bounds)


def _is_within(inner: Bounds, outer: Bounds) -> bool:
    return inner.lower in outer and inner.upper in outer


def largest(node: Node) -> Sequence[Bounds]:
    """Max: the largest of each end."""
    bounds = _all(node)
    if _may_be_mistaken(node, bounds):
        everything = hull(bounds)
        sure = [b.lower for b in bounds if _is_within(b, _NATURAL) and len(bounds) == _PAIR]
        return [Bounds(max([everything.lower, *sure]), everything.upper)]
    return [Bounds(max(b.lower for b in bounds), max(b.upper for b in bounds))]


def smallest(node: Node) -> Sequence[Bounds]:
    """Min: the smallest of each end."""
    bounds = _all(node)
    if _may_be_mistaken(node, bounds):
        everything = hull(bounds)
        sure = [b.upper for b in bounds if _is_within(b, _NEGATIVE) and len(bounds) == _PAIR]
        return [Bounds(everything.lower, min([everything.upper, *sure]))]
    return [Bounds(min(b.lower for b in bounds), min(b.upper for b in bounds))]


def clipped(node: Node) -> Sequence[Bounds]:
    """If the limits cross, the upper one wins."""
    clipped = bounds_of_operand(node, 0)
    limits = [bounds_of_operand(node, index) for index in (1, 2) if node.given(index)]
    if _may_be_mistaken(node, [clipped, *limits]):
        natural = all(_is_within(b, _NATURAL) for b in limits) and len(limits) == _PAIR
        if not natural or limits[0].upper > limits[1].lower:
            return [hull([clipped, *limits])]
    if node.given(1):
        low = bounds_of_operand(node, 1)
        clipped = Bounds(max(clipped.lower, low.lower), max(clipped.upper, low.upper))
    if node.given(2):
        high = bounds_of_operand(node, 2)
        clipped = Bounds(min(clipped.lower, high.lower), min(clipped.upper, high.upper))
    return [clipped]


def converted(node: Node) -> Sequence[Bounds]:
    """Cast: the same numbers, or the integers of floats."""
    to_bool = node.result_type(0) == "bool"
    if to_bool and node.type(0) in NUMBERS:
        return [BOOLEAN]
    if node.type(0) in FLOATS:
        return [_truncated(node)]
    return [bounds_of_operand(node, 0)]


def _truncated(node: Node) -> Bounds:
    """The integers of floats, which lose their fraction."""
    known = node.known_interval(0)
    if known is None or not known.whole.finite:
        raise Rejected("an element may be no finite number")
    return Bounds(trunc(known.whole.lower), trunc(known.whole.upper))


def compared(node: Node) -> Sequence[Bounds]:
    """Comparisons give 0 or 1; nothing is known about the bytes of other bools."""
    for index in range(node.operands):
        if node.type(index) in ("bool", None):
            bounds_of_operand(node, index)
    return [BOOLEAN]


def combined(node: Node) -> Sequence[Bounds]:
    """ONNX Runtime combines the bytes of bools bitwise, whatever their value."""
    _all(node)
    return [BOOLEAN]


def shifted(node: Node) -> Sequence[Bounds]:
    """A right shift moves towards 0, or towards -1 for negative numbers."""
    require(node.attribute("direction") == "RIGHT", "it shifts to the left")
    x = bounds_of_operand(node, 0)
    return [Bounds(min(x.lower, 0), max(x.upper, -1))]


def common_bits(node: Node) -> Sequence[Bounds]:
    """At most the smallest operand that is not negative."""
    uppers = [b.upper for b in _all(node) if b.lower >= 0]
    require(uppers, "both operands may be negative")
    return [Bounds(0, min(uppers))]


_COUNTS = Bounds(0, 2**63 - 1)


def _of_first(node: Node) -> Bounds | None:
    try:
        return bounds_of_operand(node, 0)
    except Rejected:
        return None


def filled(node: Node) -> Sequence[Bounds]:
    """ConstantOfShape: its number."""
    value = node.tensor("value")
    found = bounds_of_elements(value)
    if value is None or value.size != 1 or found is None:
        raise Rejected("it is filled with no integer")
    return [found]


def counted(node: Node) -> Sequence[Bounds]:
    """From the start, up to but excluding the limit; a step of 0 is an error."""
    start, limit, step = _all(node)
    spread = Bounds(limit.lower - start.upper, limit.upper - start.lower)
    allowed = _range_of(node.result_type(0))
    for bounds in (start, limit, spread):
        exact = max(abs(bounds.lower), abs(bounds.upper)) <= EXACT_IN_DOUBLE
        require(exact, "it counts beyond what a double is exact for")
    require(_is_within(spread, allowed), "it counts beyond its type")
    lower = start.lower if step.lower >= 0 else min(start.lower, limit.lower + 1)
    upper = start.upper if step.upper <= 0 else max(start.upper, limit.upper - 1)
    return [Bounds(lower, upper)]


def counts(_: Node) -> Sequence[Bounds]:
    """Counts and positions."""
    return [_COUNTS]


def constant(node: Node) -> Sequence[Bounds | None]:
    """Constant: its tensor."""
    return [bounds_of_elements(node.tensor("value"))]


def found(node: Node) -> Sequence[Bounds | None]:
    """TopK and Unique: elements, positions, and counts of existing elements, which are no 0."""
    return [_of_first(node), _COUNTS, _COUNTS, Bounds(1, _COUNTS.upper)][: node.results]

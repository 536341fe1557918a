"""Bounds of the integer elements of results: intervals that hold in every run that continues.

Intervals are over mathematical integers: one that is not within the type says nothing, for elements
may wrap. Bools count as integers, because their bytes are 0 or 1 only if an operator ensures it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import trunc
from typing import Any

import numpy as np
import numpy.typing as npt

from .catalog import MOVING, require_verified
from .layout import require_filled, require_written
from .node import FLOATS, NUMBERS, Node
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


def bounds_of(node: Node) -> Sequence[Bounds | None]:
    """The bounds of a node's results; None for one of which nothing is known.

    Raises:
        Rejected: Nothing is known of any.
    """
    rule = bounds_rule(node)
    limits = (_limits(node.result_type(place)) for place in range(node.results))
    return [
        found if found is not None and _is_narrower(found, own) else None
        for found, own in zip(rule(node), limits, strict=False)
    ]


def bounds_rule(node: Node) -> "BoundsRule":
    """The verified rule for a node of a standard operator.

    Raises:
        Rejected: There is none, or not for its version or attributes.
    """
    require(node.op_type in BOUNDS_RULES, f"the bounds of a {node.op_type} have no rule")
    require_verified(node)
    return BOUNDS_RULES[node.op_type]


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


def require_counted(node: Node) -> None:
    """Reject a Compress of which elements may be memory that nothing was written to.

    A byte of the condition that is neither 0 nor 1 counts as its number of elements.

    Raises:
        Rejected: The condition may have such a byte.
    """
    require(holds_truths(node, 1), "more elements may be counted than are written")


def _limits(element_type: str | None) -> Bounds | None:
    return BOOLEAN if element_type == "bool" else LIMITS.get(element_type or "")


def _is_narrower(bounds: Bounds, limits: Bounds | None) -> bool:
    """Whether an interval is narrower than a type, so that no element wraps."""
    if limits is None or not _within(bounds, limits):
        return False
    return bounds != limits or limits == BOOLEAN


def _operand(node: Node, index: int) -> Bounds:
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
    return [_operand(node, index) for index in range(node.operands)]


def hull(bounds: Iterable[Bounds]) -> Bounds:
    """The smallest interval that contains all given ones, at least one."""
    intervals = list(bounds)
    return Bounds(min(b.lower for b in intervals), max(b.upper for b in intervals))


BoundsRule = Callable[[Node], Sequence[Bounds | None]]
"""Gives an interval for each result, or None for one of which nothing is known."""

_INT32 = LIMITS["int32"]
_NATURAL = Bounds(0, _INT32.upper)
_NEGATIVE = Bounds(_INT32.lower, -1)
_PAIR = 2


def _sum(node: Node) -> Sequence[Bounds]:
    a, b = _all(node)
    return [Bounds(a.lower + b.lower, a.upper + b.upper)]


def _difference(node: Node) -> Sequence[Bounds]:
    a, b = _all(node)
    return [Bounds(a.lower - b.upper, a.upper - b.lower)]


def _product(node: Node) -> Sequence[Bounds]:
    a, b = _all(node)
    corners = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return [Bounds(min(corners), max(corners))]


def _quotient(node: Node) -> Sequence[Bounds]:
    """Truncated division is monotonic in the dividend, and in divisors of the same sign."""
    a, b = _all(node)
    require(0 not in b, "the divisor may be 0")
    corners = [trunc(Fraction(x, y)) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return [Bounds(min(corners), max(corners))]


def _remainder(node: Node) -> Sequence[Bounds]:
    """Has the sign of the divisor, or with `fmod` of the dividend, and a smaller magnitude."""
    a, b = _all(node)
    match node.attribute("fmod", 0):
        case 0:
            return [Bounds(min(b.lower + 1, 0), max(b.upper - 1, 0))]
        case 1:
            largest = max(abs(b.lower), abs(b.upper), 1) - 1
            return [Bounds(-largest if a.lower < 0 else 0, largest if a.upper > 0 else 0)]
    raise Rejected("fmod is not known")


def _magnitude(node: Node) -> Sequence[Bounds]:
    a = _operand(node, 0)
    # Abs of the smallest number is that number itself.
    smallest = a.lower == _range_of(node.result_type(0)).lower < 0
    require(not smallest, "it may be of the smallest number")
    return [Bounds(max(a.lower, -a.upper, 0), max(abs(a.lower), abs(a.upper)))]


def _negative(node: Node) -> Sequence[Bounds]:
    a = _operand(node, 0)
    return [Bounds(-a.upper, -a.lower)]


def _sign(node: Node) -> Sequence[Bounds]:
    a = _operand(node, 0)
    if _may_be_mistaken(node, [a]):
        return [Bounds(-1, 1)]
    return [Bounds(_sign_of(a.lower), _sign_of(a.upper))]


def _sign_of(number: int) -> int:
    return (number > 0) - (number < 0)


def _not_negative(node: Node) -> Sequence[Bounds]:
    a = _operand(node, 0)
    return [Bounds(max(a.lower, 0), max(a.upper, 0))]


def _may_be_mistaken(node: Node, bounds: Iterable[Bounds]) -> bool:
    """Whether ONNX Runtime may compare two numbers wrongly.

    Versions up to 1.31.1 do so in Max, Min, Clip and Sign of int64: if the upper halves are equal,
    they compare the lower halves as signed. This is correct if int32 can hold both numbers. Beyond
    int32, a number that is not negative is taken for the larger of the two, and a negative one for
    the smaller.
    """
    is_int64 = node.type(0) == "int64"
    return is_int64 and not all(_within(b, _INT32) for b in bounds)


def _within(inner: Bounds, outer: Bounds) -> bool:
    return inner.lower in outer and inner.upper in outer


def _largest(node: Node) -> Sequence[Bounds]:
    bounds = _all(node)
    if _may_be_mistaken(node, bounds):
        everything = hull(bounds)
        sure = [b.lower for b in bounds if _within(b, _NATURAL) and len(bounds) == _PAIR]
        return [Bounds(max([everything.lower, *sure]), everything.upper)]
    return [Bounds(max(b.lower for b in bounds), max(b.upper for b in bounds))]


def _smallest(node: Node) -> Sequence[Bounds]:
    bounds = _all(node)
    if _may_be_mistaken(node, bounds):
        everything = hull(bounds)
        sure = [b.upper for b in bounds if _within(b, _NEGATIVE) and len(bounds) == _PAIR]
        return [Bounds(everything.lower, min([everything.upper, *sure]))]
    return [Bounds(min(b.lower for b in bounds), min(b.upper for b in bounds))]


def _clipped(node: Node) -> Sequence[Bounds]:
    """If the limits cross, the upper one wins."""
    clipped = _operand(node, 0)
    limits = [_operand(node, index) for index in (1, 2) if node.given(index)]
    if _may_be_mistaken(node, [clipped, *limits]):
        natural = all(_within(b, _NATURAL) for b in limits) and len(limits) == _PAIR
        if not natural or limits[0].upper > limits[1].lower:
            return [hull([clipped, *limits])]
    if node.given(1):
        low = _operand(node, 1)
        clipped = Bounds(max(clipped.lower, low.lower), max(clipped.upper, low.upper))
    if node.given(2):
        high = _operand(node, 2)
        clipped = Bounds(min(clipped.lower, high.lower), min(clipped.upper, high.upper))
    return [clipped]


def _converted(node: Node) -> Sequence[Bounds]:
    to_bool = node.result_type(0) == "bool"
    if to_bool and node.type(0) in NUMBERS:
        return [BOOLEAN]
    if node.type(0) in FLOATS:
        return [_truncated(node)]
    return [_operand(node, 0)]


def _truncated(node: Node) -> Bounds:
    """The integers of floats, which lose their fraction."""
    known = node.known_interval(0)
    if known is None or not known.whole.finite:
        raise Rejected("an element may be no finite number")
    return Bounds(trunc(known.whole.lower), trunc(known.whole.upper))


def _truth(node: Node) -> Sequence[Bounds]:
    """Comparisons give 0 or 1; nothing is known about the bytes of other bools."""
    for index in range(node.operands):
        if node.type(index) in ("bool", None):
            _operand(node, index)
    return [BOOLEAN]


def _combined_truths(node: Node) -> Sequence[Bounds]:
    """ONNX Runtime combines the bytes of bools bitwise, whatever their value."""
    _all(node)
    return [BOOLEAN]


def _shifted(node: Node) -> Sequence[Bounds]:
    """A right shift moves towards 0, or towards -1 for negative numbers."""
    require(node.attribute("direction") == "RIGHT", "it shifts to the left")
    x = _operand(node, 0)
    return [Bounds(min(x.lower, 0), max(x.upper, -1))]


def _common_bits(node: Node) -> Sequence[Bounds]:
    """At most the smallest operand that is not negative."""
    uppers = [b.upper for b in _all(node) if b.lower >= 0]
    require(uppers, "both operands may be negative")
    return [Bounds(0, min(uppers))]


_ARITHMETIC: Mapping[str, BoundsRule] = {
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _truth),
    **dict.fromkeys(("IsInf", "IsNaN"), _truth),
    **dict.fromkeys(("And", "Not", "Or", "Xor"), _combined_truths),
    "Abs": _magnitude,
    "Add": _sum,
    "BitShift": _shifted,
    "BitwiseAnd": _common_bits,
    "Cast": _converted,
    "Clip": _clipped,
    "Div": _quotient,
    "Max": _largest,
    "Min": _smallest,
    "Mod": _remainder,
    "Mul": _product,
    "Neg": _negative,
    "Relu": _not_negative,
    "Sign": _sign,
    "Sub": _difference,
}
"""The arithmetic operators by name."""


_COUNTS = Bounds(0, 2**63 - 1)


def _of_first(node: Node) -> Bounds | None:
    try:
        return _operand(node, 0)
    except Rejected:
        return None


def _filled(node: Node) -> Sequence[Bounds]:
    value = node.tensor("value")
    found = bounds_of_elements(value)
    if value is None or value.size != 1 or found is None:
        raise Rejected("it is filled with no integer")
    return [found]


def _range(node: Node) -> Sequence[Bounds]:
    """From the start, up to but excluding the limit; a step of 0 is an error."""
    start, limit, step = _all(node)
    spread = Bounds(limit.lower - start.upper, limit.upper - start.lower)
    allowed = _range_of(node.result_type(0))
    for bounds in (start, limit, spread):
        exact = max(abs(bounds.lower), abs(bounds.upper)) <= EXACT_IN_DOUBLE
        require(exact, "it counts beyond what a double is exact for")
    require(_within(spread, allowed), "it counts beyond its type")
    lower = start.lower if step.lower >= 0 else min(start.lower, limit.lower + 1)
    upper = start.upper if step.upper <= 0 else max(start.upper, limit.upper - 1)
    return [Bounds(lower, upper)]


_COUNTING: Mapping[str, BoundsRule] = {
    **dict.fromkeys(("ArgMax", "ArgMin", "NonZero", "Shape", "Size"), lambda _: [_COUNTS]),
    "Constant": lambda node: [bounds_of_elements(node.tensor("value"))],
    "ConstantOfShape": _filled,
    "Range": _range,
    "TopK": lambda node: [_of_first(node), _COUNTS],
    # Counts of existing elements are at least 1.
    "Unique": lambda node: [_of_first(node), _COUNTS, _COUNTS, Bounds(1, _COUNTS.upper)],
}
"""The operators that return counts and positions by name."""


_ZERO = Bounds(0, 0)


def _scattered(node: Node) -> Sequence[Bounds]:
    require(node.attribute("reduction", "none") == "none", "it reduces")
    return [hull([_operand(node, 0), _operand(node, 2)])]


def _selected(node: Node) -> Sequence[Bounds]:
    require_counted(node)
    return [_operand(node, 0)]


def _joined(node: Node) -> Sequence[Bounds]:
    require_written(node)
    return [hull(_all(node))]


def _padded(node: Node) -> Sequence[Bounds]:
    """Elements of the first operand and the constant, which is zero by default."""
    require_filled(node)
    return [hull([_operand(node, 0), _operand(node, 2) if node.given(2) else _ZERO])]


def _chosen(node: Node) -> Sequence[Bounds]:
    """Elements of two operands; where the condition is no byte of 0 or 1, kernels give 0."""
    others = [] if holds_truths(node, 0) else [_ZERO]
    return [hull([_operand(node, 1), _operand(node, 2), *others])]


_MOVING: Mapping[str, BoundsRule] = {
    **dict.fromkeys(MOVING, lambda node: [_operand(node, 0)] * node.results),
    "Compress": _selected,
    "Concat": _joined,
    "OneHot": lambda node: [_operand(node, 2)],
    "Pad": _padded,
    "ScatterElements": _scattered,
    "ScatterND": _scattered,
    "Trilu": lambda node: [hull([_operand(node, 0), _ZERO])],
    "Where": _chosen,
}
"""The operators that move elements by name."""

BOUNDS_RULES: Mapping[str, BoundsRule] = {**_ARITHMETIC, **_COUNTING, **_MOVING}
"""The rules by standard operator."""

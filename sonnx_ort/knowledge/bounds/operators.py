"""Bounds of the results of each operator."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import trunc

import onnx_ir as ir

from sonnx_ort.knowledge.bounds.rule import (
    BOOLEAN,
    BoundedInputs,
    BoundsRule,
    Unbounded,
    constant_bounds,
    hull,
)
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.profile.operand import Bounds

_INT32 = Bounds(-(1 << 31), (1 << 31) - 1)
_NATURAL = Bounds(0, _INT32.upper)
_NEGATIVE = Bounds(_INT32.lower, -1)
_PAIR = 2


def _sum(inputs: BoundedInputs) -> Sequence[Bounds]:
    a, b = inputs.all_bounds()
    return [Bounds(a.lower + b.lower, a.upper + b.upper)]


def _difference(inputs: BoundedInputs) -> Sequence[Bounds]:
    a, b = inputs.all_bounds()
    return [Bounds(a.lower - b.upper, a.upper - b.lower)]


def _product(inputs: BoundedInputs) -> Sequence[Bounds]:
    a, b = inputs.all_bounds()
    corners = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return [Bounds(min(corners), max(corners))]


def _quotient(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Truncated division is monotonic in the dividend, and in divisors of the same sign."""
    a, b = inputs.all_bounds()
    if 0 in b:
        raise Unbounded
    corners = [trunc(Fraction(x, y)) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return [Bounds(min(corners), max(corners))]


def _remainder(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Has the sign of the divisor, or with `fmod` of the dividend, and a smaller magnitude."""
    a, b = inputs.all_bounds()
    match inputs.attribute("fmod", 0):
        case 0:
            return [Bounds(min(b.lower + 1, 0), max(b.upper - 1, 0))]
        case 1:
            largest = max(abs(b.lower), abs(b.upper), 1) - 1
            return [Bounds(-largest if a.lower < 0 else 0, largest if a.upper > 0 else 0)]
    raise Unbounded


def _magnitude(inputs: BoundedInputs) -> Sequence[Bounds]:
    a = inputs.bounds(0)
    if a.lower == inputs.limits.lower < 0:
        # Abs of the smallest number is that number itself.
        raise Unbounded
    return [Bounds(max(a.lower, -a.upper, 0), max(abs(a.lower), abs(a.upper)))]


def _negative(inputs: BoundedInputs) -> Sequence[Bounds]:
    a = inputs.bounds(0)
    return [Bounds(-a.upper, -a.lower)]


def _sign(inputs: BoundedInputs) -> Sequence[Bounds]:
    a = inputs.bounds(0)
    if _may_be_mistaken(inputs, [a]):
        return [Bounds(-1, 1)]
    return [Bounds(_sign_of(a.lower), _sign_of(a.upper))]


def _sign_of(number: int) -> int:
    return (number > 0) - (number < 0)


def _not_negative(inputs: BoundedInputs) -> Sequence[Bounds]:
    a = inputs.bounds(0)
    return [Bounds(max(a.lower, 0), max(a.upper, 0))]


def _may_be_mistaken(inputs: BoundedInputs, bounds: Iterable[Bounds]) -> bool:
    """Whether ONNX Runtime may compare two numbers wrongly.

    Versions up to 1.31.1 do so in Max, Min, Clip and Sign of int64: if the upper halves are equal,
    they compare the lower halves as signed. This is correct if int32 can hold both numbers. If it
    cannot hold one that is not negative, that one is treated as the larger of the two; if it cannot
    hold one that is negative, as the smaller.
    """
    is_int64 = inputs.element_type(inputs.value(0)) == ElementType.INT64
    return is_int64 and not all(_within(b, _INT32) for b in bounds)


def _within(inner: Bounds, outer: Bounds) -> bool:
    return inner.lower in outer and inner.upper in outer


def _largest(inputs: BoundedInputs) -> Sequence[Bounds]:
    bounds = inputs.all_bounds()
    if _may_be_mistaken(inputs, bounds):
        everything = hull(bounds)
        sure = [b.lower for b in bounds if _within(b, _NATURAL) and len(bounds) == _PAIR]
        return [Bounds(max([everything.lower, *sure]), everything.upper)]
    return [Bounds(max(b.lower for b in bounds), max(b.upper for b in bounds))]


def _smallest(inputs: BoundedInputs) -> Sequence[Bounds]:
    bounds = inputs.all_bounds()
    if _may_be_mistaken(inputs, bounds):
        everything = hull(bounds)
        sure = [b.upper for b in bounds if _within(b, _NEGATIVE) and len(bounds) == _PAIR]
        return [Bounds(everything.lower, min([everything.upper, *sure]))]
    return [Bounds(min(b.lower for b in bounds), min(b.upper for b in bounds))]


def _clipped(inputs: BoundedInputs) -> Sequence[Bounds]:
    """If the limits cross, the upper one wins."""
    clipped = inputs.bounds(0)
    limits = [inputs.bounds(index) for index in (1, 2) if inputs.given(index)]
    if _may_be_mistaken(inputs, [clipped, *limits]):
        natural = all(_within(b, _NATURAL) for b in limits) and len(limits) == _PAIR
        if not natural or limits[0].upper > limits[1].lower:
            return [hull([clipped, *limits])]
    if inputs.given(1):
        low = inputs.bounds(1)
        clipped = Bounds(max(clipped.lower, low.lower), max(clipped.upper, low.upper))
    if inputs.given(2):
        high = inputs.bounds(2)
        clipped = Bounds(min(clipped.lower, high.lower), min(clipped.upper, high.upper))
    return [clipped]


def _converted(inputs: BoundedInputs) -> Sequence[Bounds]:
    to_bool = inputs.element_type(inputs.node.outputs[0]) == "bool"
    if to_bool and inputs.element_type(inputs.value(0)) in NUMERIC_TYPES:
        return [BOOLEAN]
    return [inputs.bounds(0)]


def _truth(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Comparisons give 0 or 1; nothing is known about the bytes of other bools."""
    for index in range(len(inputs.node.inputs)):
        if inputs.element_type(inputs.value(index)) in ("bool", None):
            inputs.bounds(index)
    return [BOOLEAN]


def _combined_truths(inputs: BoundedInputs) -> Sequence[Bounds]:
    """ONNX Runtime combines the bytes of bools bitwise, whatever their value."""
    inputs.all_bounds()
    return [BOOLEAN]


def _shifted(inputs: BoundedInputs) -> Sequence[Bounds]:
    """A right shift moves towards 0, or towards -1 for negative numbers."""
    if inputs.attribute("direction", None) != "RIGHT":
        raise Unbounded
    x = inputs.bounds(0)
    return [Bounds(min(x.lower, 0), max(x.upper, -1))]


def _common_bits(inputs: BoundedInputs) -> Sequence[Bounds]:
    """At most the smallest operand that is not negative."""
    uppers = [b.upper for b in inputs.all_bounds() if b.lower >= 0]
    if not uppers:
        raise Unbounded
    return [Bounds(0, min(uppers))]


ARITHMETIC: Mapping[str, BoundsRule] = {
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
_EXACT = 1 << 53
"""ONNX Runtime computes the elements of Range in double, which is exact up to this integer."""


def _counted(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Sizes and positions are never negative; a size may be 0."""
    del inputs
    return [_COUNTS]


def _best(inputs: BoundedInputs) -> Sequence[Bounds | None]:
    return [_of_first(inputs), _COUNTS]


def _unique(inputs: BoundedInputs) -> Sequence[Bounds | None]:
    """Counts of existing elements are at least 1."""
    return [_of_first(inputs), _COUNTS, _COUNTS, Bounds(1, _COUNTS.upper)]


def _of_first(inputs: BoundedInputs) -> Bounds | None:
    try:
        return inputs.bounds(0)
    except Unbounded:
        return None


def _constant(inputs: BoundedInputs) -> Sequence[Bounds | None]:
    return [constant_bounds(inputs.node.outputs[0])]


def _filled(inputs: BoundedInputs) -> Sequence[Bounds]:
    value = inputs.attribute("value", None)
    if not isinstance(value, ir.TensorProtocol) or value.size != 1:
        raise Unbounded
    if not value.dtype.is_integer():
        raise Unbounded
    (element,) = value.numpy().ravel().tolist()
    return [Bounds(element, element)]


def _range(inputs: BoundedInputs) -> Sequence[Bounds]:
    """From the start, up to but excluding the limit; a step of 0 is an error."""
    start, limit, step = inputs.all_bounds()
    spread = Bounds(limit.lower - start.upper, limit.upper - start.lower)
    allowed = inputs.limits
    for bounds in (start, limit, spread):
        if max(abs(bounds.lower), abs(bounds.upper)) > _EXACT:
            raise Unbounded
    if spread.lower < allowed.lower or spread.upper > allowed.upper:
        raise Unbounded
    lower = start.lower if step.lower >= 0 else min(start.lower, limit.lower + 1)
    upper = start.upper if step.upper <= 0 else max(start.upper, limit.upper - 1)
    return [Bounds(lower, upper)]


COUNTS: Mapping[str, BoundsRule] = {
    **dict.fromkeys(("ArgMax", "ArgMin", "NonZero", "Shape", "Size"), _counted),
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Range": _range,
    "TopK": _best,
    "Unique": _unique,
}
"""The operators that return counts and positions by name."""


_ZERO = Bounds(0, 0)


def _of_the_first(inputs: BoundedInputs) -> Sequence[Bounds]:
    """All outputs contain only elements of the first input."""
    return [inputs.bounds(0)] * len(inputs.node.outputs)


def _of_any(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [hull(inputs.all_bounds())]


def _chosen(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [hull([inputs.bounds(1), inputs.bounds(2)])]


def _one_hot(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [inputs.bounds(2)]


def _padded(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Elements of the first input and the constant, which is zero by default."""
    return [hull([inputs.bounds(0), inputs.bounds(2) if inputs.given(2) else _ZERO])]


def _triangle(inputs: BoundedInputs) -> Sequence[Bounds]:
    return [hull([inputs.bounds(0), _ZERO])]


def _scattered(inputs: BoundedInputs) -> Sequence[Bounds]:
    if inputs.attribute("reduction", "none") != "none":
        raise Unbounded
    return [hull([inputs.bounds(0), inputs.bounds(2)])]


ELEMENTS: Mapping[str, BoundsRule] = {
    **dict.fromkeys(
        (
            *("Compress", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity"),
            *("Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
        ),
        _of_the_first,
    ),
    "Concat": _of_any,
    "OneHot": _one_hot,
    "Pad": _padded,
    "ScatterElements": _scattered,
    "ScatterND": _scattered,
    "Trilu": _triangle,
    "Where": _chosen,
}
"""The operators that move elements by name."""

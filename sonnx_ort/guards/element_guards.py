"""Guards that check elements.

One pass over A finds the smallest value; only if A has it, both are checked for a divisor of -1:

    Equal(A, smallest) -> any? -> Tile(0 or 1) -> And(., Equal(Tile(B), -1)) -> any?

Guards that check differences of integers. ReduceMax(zero point) -> above 0? -> Add(smallest int32)
-> Greater(X) -> any?

The guard of powers of integers. Pow(Cast(X, double), Cast(Y, double)) -> within limits? -> any not?

ONNX Runtime computes the same power for the node after the guard. Rounding hides nothing. Below 64
bits the limits lie half-way between integers. Of 64 bits the limit is 2^53: a power with an
exponent above 1 is that number itself, which is exact, or farther away by 2^25 and more; and the
power of 1 is the base, whose conversion does not cross 2^53. What overflows is infinite.

The guard of lines of floats along an axis. ReduceMax(X, axis) -> Less(smallest finite number) ┐
ReduceSum(X, axis) -> Less(smallest finite number) ┴> And -> any?

ReduceMax passes over some NaN, depending on their places, and a sum over none.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sonnx_ort.facts.bounds import LIMITS
from sonnx_ort.guards.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    GuardNodes,
    Operands,
    Precondition,
    Value,
    any_true,
)
from sonnx_ort.profile.element_type import ElementType, Family, smallest_value
from sonnx_ort.profile.requirements.elements import INT32, OnElements
from sonnx_ort.profile.requirements.exact_powers import limit_of_exponents, limits_of_powers
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import NONZERO
from sonnx_ort.terms.language import Decided
from sonnx_ort.terms.numbers import Limits, NumberSet, finite_numbers


def elements_guard(requirement: OnElements) -> DecidingGuard | None:
    """The guard of a demand on elements; None if attributes leave open what is demanded."""
    numbers, position = requirement.numbers, requirement.position
    if isinstance(numbers, Decided):
        return None
    if numbers in TUNED_GUARDS:
        return TUNED_GUARDS[numbers]

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Whether any element is outside."""
        computed_in = node.type_of(requirement.checked)
        limits = numbers.limits(node.element_type.dtype)
        outside = _not_in(nodes, operands[position], numbers, computed_in, limits)
        return Flag(any_true(nodes, *outside), when_kept=False)

    return DecidingGuard(look, lambda kind: numbers.binds(kind.dtype), Precondition.NOTHING)


def _not_in(
    nodes: GuardNodes, operand: Value, numbers: NumberSet, computed_in: ElementType, limits: Limits
) -> tuple[Value, str]:
    """Which elements are outside, and what any of them is called."""
    if numbers.admits_zero:
        among = outside if numbers.admits_nan else not_within
        return among(nodes, operand, computed_in, limits), "any_outside"
    if limits != (None, None):
        raise TypeError("no guard of an interval without 0")
    if numbers.admits_nan:
        return _zeros(nodes, operand, computed_in), "has_zero"
    return _zeros_and_nan(nodes, operand, computed_in), "any_zero_or_nan"


def _zeros_and_nan(nodes: GuardNodes, operand: Value, computed_in: ElementType) -> Value:
    """Neither below 0 nor above it is 0, and NaN."""
    zero = nodes.constant(0, "zero", computed_in)
    compared = [
        nodes.add(operator, [operand, zero], purpose)
        for operator, purpose in (("Less", "is_below"), ("Greater", "is_above"))
    ]
    return nodes.negated(nodes.add("Or", compared, "is_other_than_zero"), "is_zero_or_nan")


def outside(nodes: GuardNodes, operand: Value, computed_in: ElementType, limits: Limits) -> Value:
    """Which elements are below the lower or above the upper limit; NaN is neither."""
    flags = [
        nodes.add(compare, [operand, nodes.constant(limit, "limit", computed_in)], purpose)
        for compare, limit, purpose in zip(
            ("Less", "Greater"), limits, ("is_below", "is_above"), strict=True
        )
        if limit is not None
    ]
    return nodes.together("Or", flags, "is_outside")


def not_within(
    nodes: GuardNodes, operand: Value, computed_in: ElementType, limits: Limits
) -> Value:
    """Which elements are not within the limits, including NaN."""
    lower, upper = limits
    if lower is None or upper is None:
        # The number below the limit may be subnormal, and ONNX Runtime can flush it to 0.
        beyond_limit = (
            [] if limits == (None, None) else [outside(nodes, operand, computed_in, limits)]
        )
        flags = [*beyond_limit, nodes.add("IsNaN", [operand], "is_nan")]
        return nodes.together("Or", flags, "is_outside")
    scalar = computed_in.dtype.type
    with np.errstate(over="ignore"):
        below_all = float(np.nextafter(scalar(lower), scalar(-np.inf)))
        beyond = float(np.nextafter(scalar(upper), scalar(np.inf)))
    large, small = (nodes.constant(limit, "limit", computed_in) for limit in (below_all, beyond))
    flags = [
        nodes.add("Greater", [operand, large], "is_large_enough"),
        nodes.add("Less", [operand, small], "is_small_enough"),
    ]
    return nodes.add("Not", [nodes.add("And", flags, "is_within")], "is_outside")


_COMPARED = (ElementType.INT32, ElementType.INT64)
"""The integer types that Equal takes in every opset."""


def _divisor_is_nonzero(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One pass over B, for zeros."""
    _, b = operands
    zeros = _zeros(nodes, b, node.computed_in)
    return Flag(any_true(nodes, zeros, "has_zero"), when_kept=False)


def _passing(node: GuardedNode) -> Sequence[int]:
    """B, if ONNX Runtime can compute it by constant folding.

    If constant folding divides an integer by zero, ONNX Runtime creates no session, wherever the
    node is, and does not name it.
    """
    last = len(node.operands) - 1
    return [last] if node.foldable[last] else []


NONZERO_DIVISOR = DecidingGuard(
    _divisor_is_nonzero,
    lambda kind: kind.family is Family.INTEGER,
    Precondition.NOTHING,
    _passing,
    sufficient={-1: lambda _: 1},
)
"""No element of the last operand is zero, if it is an integer."""


def with_infinity(
    nodes: GuardNodes, quotient: Value, operands: Operands, node: GuardedNode
) -> Value:
    """Replace the quotient by +inf wherever B is zero."""
    _, b = operands
    zeros = _falsities(nodes, b)
    infinity = nodes.constant(np.inf, "infinity", node.computed_in)
    # ONNX Runtime's Where turns -0 in its second input into +0.
    return nodes.add("Where", [zeros, infinity, quotient], "infinity_or_quotient")


def _zeros(nodes: GuardNodes, b: Value, element_type: ElementType) -> Value:
    """Which elements are zero."""
    if element_type in _COMPARED:
        return nodes.add("Equal", [b, nodes.constant(0, "zero", element_type)], "is_zero")
    return _falsities(nodes, b)


def _falsities(nodes: GuardNodes, b: Value) -> Value:
    """Which elements are zero, for any type, without a comparison of numbers."""
    return nodes.negated(nodes.cast(b, ElementType.BOOL, "nonzero"), "is_zero")


_EQUAL_OF_SMALL = 11
"""The first opset in which Equal takes 8-bit and 16-bit integers."""


def _quotient_is_representable(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """Check for a divisor of -1 only if A has the smallest value somewhere."""
    a, b = operands
    compared = node.computed_in
    if compared not in _COMPARED and nodes.opset < _EQUAL_OF_SMALL:
        compared = ElementType.INT32
        a, b = (nodes.cast(value, compared, "compared") for value in operands)
    smallest = nodes.constant(smallest_value(node.element_type), "smallest", compared)
    at_smallest = nodes.add("Equal", [a, smallest], "is_smallest")
    copies = nodes.cast(any_true(nodes, at_smallest, "has_smallest"), ElementType.INT64, "copies")
    line = nodes.constant([-1], "line")
    copies = nodes.add("Reshape", [copies, line], "copies")
    # No If: ONNX Runtime's optimizer crashes on some Ifs in branches.
    at_smallest, divisors = (
        nodes.add("Tile", [nodes.add("Reshape", [value, line], "in_line"), copies], "if_needed")
        for value in (at_smallest, b)
    )
    minus_one = nodes.constant(-1, "minus_one", compared)
    at_minus_one = nodes.add("Equal", [divisors, minus_one], "is_minus_one")
    both = nodes.add("And", [at_smallest, at_minus_one], "overflows")
    return Flag(any_true(nodes, both, "some_overflow"), when_kept=False)


REPRESENTABLE_QUOTIENT = DecidingGuard(
    _quotient_is_representable,
    lambda kind: kind.dtype.kind == "i",
    Precondition.ONE_SHAPE,
    sufficient={0: lambda kind: smallest_value(kind) + 1, -1: lambda _: 0},
)
"""No element of A is the smallest value where that of B is -1."""


_INT32 = LIMITS["int32"]


def _is_within_int32(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """The extremes of each operand in double, which holds both limits and what is next to them.

    ONNX Runtime 1.31 takes extremes of int64 in int32.
    """
    del node
    double, limits = ElementType.DOUBLE, (_INT32.lower, _INT32.upper)
    found = []
    for operand in operands:
        wide = nodes.cast(operand, double, "as_double")
        found.extend(extremes_outside(nodes, wide, double, limits))
    return Flag(nodes.together("Or", found, "some_beyond"), when_kept=False)


def extremes_outside(
    nodes: GuardNodes, elements: Value, compared: ElementType, limits: Sequence[int | float]
) -> list[Value]:
    """Whether the smallest and the largest element are outside of limits, between which 0 is.

    For an empty tensor kernels give 0, or infinities that are beyond no limit. Kernels may skip
    NaN.
    """
    whole = {"keepdims": 0}
    smallest = nodes.add("ReduceMin", [elements], "smallest", whole)
    largest = nodes.add("ReduceMax", [elements], "largest", whole)
    lower, upper = (nodes.constant(limit, "limit", compared) for limit in limits)
    return [
        nodes.add("Less", [smallest, lower], "is_below"),
        nodes.add("Greater", [largest, upper], "is_above"),
    ]


WITHIN_INT32 = DecidingGuard(
    _is_within_int32, lambda kind: kind is ElementType.INT64, Precondition.NOTHING
)
"""No element of any operand is outside int32, if it is int64."""

TUNED_GUARDS: Mapping[NumberSet, DecidingGuard] = {NONZERO: NONZERO_DIVISOR, INT32: WITHIN_INT32}
"""Guards that take the place of those that terms make."""


def _difference_is_within_int32(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """Compare the first operand with the limits that the second one leaves it, in int32."""
    operand, subtrahend = operands
    computed_in = node.computed_in
    zero = nodes.constant(0, "zero", computed_in)
    flags = []
    for beyond, reduction, compare, limit in (
        ("Less", "ReduceMax", "Greater", _INT32.lower),
        ("Greater", "ReduceMin", "Less", _INT32.upper),
    ):
        extreme = nodes.add(reduction, [subtrahend], "extreme", {"keepdims": 0})
        moves = nodes.add(compare, [extreme, zero], "moves_limit")
        shift = nodes.add("Where", [moves, extreme, zero], "shift")
        end = nodes.add("Add", [nodes.constant(limit, "end", computed_in), shift], "limit")
        flags.append(nodes.add(beyond, [operand, end], "is_beyond"))
    either = nodes.add("Or", flags, "is_outside")
    return Flag(any_true(nodes, either, "any_outside"), when_kept=False)


DIFFERENCE_WITHIN_INT32 = DecidingGuard(
    _difference_is_within_int32, lambda kind: kind is ElementType.INT32, Precondition.NOTHING
)
"""No difference of the two operands is outside int32."""


def _is_exact(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One power of each pair of elements."""
    double = ElementType.DOUBLE
    base, exponent = (nodes.cast(operand, double, "as_double") for operand in operands)
    power = nodes.add("Pow", [base, exponent], "power")
    below_all, above_all = limits_of_powers(node.element_type.dtype)
    flags = [
        nodes.add("Greater", [power, nodes.constant(below_all, "limit", double)], "large_enough"),
        nodes.add("Less", [power, nodes.constant(above_all, "limit", double)], "small_enough"),
    ]
    exact = nodes.add("And", flags, "is_exact")
    largest = limit_of_exponents(node.element_type.dtype)
    if largest < math.inf:
        limit = nodes.constant(largest, "limit", double)
        known = nodes.add("Less", [exponent, limit], "exponent_is_exact")
        exact = nodes.add("And", [exact, known], "is_exact")
    inexact = nodes.add("Not", [exact], "is_inexact")
    return Flag(any_true(nodes, inexact, "any_inexact"), when_kept=False)


EXACT_POWER = DecidingGuard(
    _is_exact, lambda kind: kind.family is Family.INTEGER, Precondition.ONE_SHAPE
)
"""Every power is one of its type, and exact if it is computed in double."""


def _number_under_crossed_bounds(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """Compare the first elements of the bounds: those of another rank break another rule.

    Elements are read only if the bounds are crossed.
    """
    data, *bounds = operands
    line, first = nodes.constant([-1], "line"), nodes.constant([0], "first")
    zero = nodes.constant([0], "zero", node.computed_in)
    compared = [
        nodes.add(
            "Gather",
            [
                nodes.add(
                    "Concat",
                    [nodes.add("Reshape", [bound, line], "in_line"), zero],
                    "one_at_least",
                    {"axis": 0},
                ),
                first,
            ],
            "bound",
        )
        for bound in bounds
    ]
    crossed = nodes.add("Greater", compared, "is_crossed")
    copies = nodes.cast(crossed, ElementType.INT64, "copies")
    # Nothing is searched for NaN, or everything.
    searched = nodes.add(
        "Tile", [nodes.add("Reshape", [data, line], "in_line"), copies], "if_needed"
    )
    nan = any_true(nodes, nodes.add("IsNaN", [searched], "is_nan"), "any_nan")
    return Flag(nan, when_kept=False)


NUMBERS_UNDER_CROSSED_BOUNDS = DecidingGuard(
    _number_under_crossed_bounds, lambda kind: kind.family is Family.FLOAT, Precondition.NOTHING
)
"""No element is NaN if the lower bound is above the upper one."""


_SUM_BY_INPUTS = 13
_LARGEST_BY_INPUTS = 18
"""The first opsets in which these operators get axes and places as inputs."""


def lines_guard(requirement: LinesAboveNegativeInfinity) -> DecidingGuard:
    """The guard of lines of floats."""

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        (operand,) = operands
        smallest, _ = finite_numbers(node.computed_in.dtype)
        lowest = nodes.constant(smallest, "limit", node.computed_in)
        flags = [
            nodes.add(
                "Less",
                [_reduced(nodes, operator, operand, requirement.axis, since), lowest],
                "is_below",
            )
            for operator, since in (
                ("ReduceMax", _LARGEST_BY_INPUTS),
                ("ReduceSum", _SUM_BY_INPUTS),
            )
        ]
        throughout = nodes.add("And", flags, "is_infinite")
        return Flag(any_true(nodes, throughout, "any_infinite"), when_kept=False)

    return DecidingGuard(look, lambda kind: kind.family is Family.FLOAT)


def _reduced(nodes: GuardNodes, operator: str, operand: Value, axis: int, since: int) -> Value:
    """A number for each line."""
    purpose = "largest" if operator == "ReduceMax" else "sum"
    if nodes.opset < since:
        return nodes.add(operator, [operand], purpose, {"axes": (axis,), "keepdims": 0})
    axes = nodes.constant([axis], "axis")
    return nodes.add(operator, [operand, axes], purpose, {"keepdims": 0})

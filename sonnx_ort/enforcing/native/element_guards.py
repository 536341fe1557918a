"""Guards that check elements.

One pass over A finds the smallest value; only if A has it, both are checked for a divisor of -1:

    Equal(A, smallest) -> any? -> Tile(0 or 1) -> And(., Equal(Tile(B), -1)) -> any?
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from sonnx_ort.enforcing.native.guard import (
    DecidingGuard,
    Flag,
    GuardedNode,
    Operands,
    Precondition,
    any_true,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import ElementType, Family, smallest_value
from sonnx_ort.profile.requirements.division import NONZERO
from sonnx_ort.profile.requirements.elements import INT32, OnElements
from sonnx_ort.terms.elements import Limits, NumberSet
from sonnx_ort.terms.language import Decided


def elements_guard(requirement: OnElements) -> DecidingGuard | None:
    """The guard of a demand on elements; None if attributes leave open what is demanded."""
    numbers, position = requirement.numbers, requirement.position
    if isinstance(numbers, Decided):
        return None
    if numbers in TUNED_GUARDS:
        return TUNED_GUARDS[numbers]

    def look(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Whether any element is outside."""
        computed_in = node.type_of(requirement.checked)
        limits = numbers.limits(node.element_type.dtype)
        outside = _not_in(nodes, operands[position], numbers, computed_in, limits)
        return Flag(any_true(nodes, *outside), when_kept=False)

    return DecidingGuard(look, lambda kind: numbers.binds(kind.dtype), Precondition.NOTHING)


def _not_in(
    nodes: StandardNodes,
    operand: ir.Value,
    numbers: NumberSet,
    computed_in: ir.DataType,
    limits: Limits,
) -> tuple[ir.Value, str]:
    """Which elements are outside, and what any of them is called."""
    if numbers.admits_zero:
        among = _outside if numbers.admits_nan else not_within
        return among(nodes, operand, computed_in, limits), "any_outside"
    if limits != (None, None):
        raise TypeError("no guard of an interval without 0")
    if numbers.admits_nan:
        return _zeros(nodes, operand, computed_in), "has_zero"
    return _zeros_and_nan(nodes, operand, computed_in), "any_zero_or_nan"


def _zeros_and_nan(nodes: StandardNodes, operand: ir.Value, computed_in: ir.DataType) -> ir.Value:
    """Neither below 0 nor above it is 0, and NaN."""
    zero = nodes.constant(0, "zero", computed_in)
    compared = [
        nodes.add(operator, [operand, zero], purpose)
        for operator, purpose in (("Less", "is_below"), ("Greater", "is_above"))
    ]
    other = nodes.add("Or", compared, "is_other_than_zero")
    # ONNX Runtime's optimizer removes a Not.
    false = nodes.constant(False, "false", ir.DataType.BOOL)
    return nodes.add("Equal", [other, false], "is_zero_or_nan")


def _outside(
    nodes: StandardNodes,
    operand: ir.Value,
    computed_in: ir.DataType,
    limits: Limits,
) -> ir.Value:
    """Which elements are below the lower or above the upper limit; NaN is neither."""
    flags = [
        nodes.add(compare, [operand, nodes.constant(limit, "limit", computed_in)], purpose)
        for compare, limit, purpose in zip(
            ("Less", "Greater"), limits, ("is_below", "is_above"), strict=True
        )
        if limit is not None
    ]
    return reduce(lambda one, other: nodes.add("Or", [one, other], "is_outside"), flags)


def not_within(
    nodes: StandardNodes,
    operand: ir.Value,
    computed_in: ir.DataType,
    limits: Limits,
) -> ir.Value:
    """Which elements are not within the limits, including NaN."""
    lower, upper = limits
    if lower is None or upper is None:
        # The number below the limit may be subnormal, and ONNX Runtime can flush it to 0.
        beyond_limit = (
            [] if limits == (None, None) else [_outside(nodes, operand, computed_in, limits)]
        )
        flags = [*beyond_limit, nodes.add("IsNaN", [operand], "is_nan")]
        return reduce(lambda one, other: nodes.add("Or", [one, other], "is_outside"), flags)
    scalar = computed_in.numpy().type
    with np.errstate(over="ignore"):
        below_all = float(np.nextafter(scalar(lower), scalar(-np.inf)))
        beyond = float(np.nextafter(scalar(upper), scalar(np.inf)))
    large, small = (nodes.constant(limit, "limit", computed_in) for limit in (below_all, beyond))
    flags = [
        nodes.add("Greater", [operand, large], "is_large_enough"),
        nodes.add("Less", [operand, small], "is_small_enough"),
    ]
    return nodes.add("Not", [nodes.add("And", flags, "is_within")], "is_outside")


_COMPARED = (ir.DataType.INT32, ir.DataType.INT64)
"""The integer types that Equal takes in every opset."""


def _divisor_is_nonzero(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One pass over B, for zeros."""
    _, b = operands
    zeros = _zeros(nodes, b, node.computed_in)
    return Flag(any_true(nodes, zeros, "has_zero"), when_kept=False)


def _passing(node: GuardedNode) -> Sequence[int]:
    """B, if ONNX Runtime can compute it by constant folding.

    If constant folding divides an integer by zero, ONNX Runtime creates no session, wherever the
    node is, and does not name it.
    """
    last = len(node.examined.operands) - 1
    return [last] if node.examined.foldable[last] else []


NONZERO_DIVISOR = DecidingGuard(
    _divisor_is_nonzero,
    lambda kind: kind.family is Family.INTEGER,
    Precondition.NOTHING,
    _passing,
    sufficient={-1: lambda _: 1},
)
"""No element of the last operand is zero, if it is an integer."""


def with_infinity(
    nodes: StandardNodes, quotient: ir.Value, operands: Operands, node: GuardedNode
) -> ir.Value:
    """Replace the quotient by +inf wherever B is zero."""
    _, b = operands
    zeros = _falsities(nodes, b)
    infinity = nodes.constant(np.inf, "infinity", node.computed_in)
    # ONNX Runtime's Where turns -0 in its second input into +0.
    return nodes.add("Where", [zeros, infinity, quotient], "infinity_or_quotient")


def _zeros(nodes: StandardNodes, b: ir.Value, element_type: ir.DataType) -> ir.Value:
    """Which elements are zero."""
    if element_type in _COMPARED:
        return nodes.add("Equal", [b, nodes.constant(0, "zero", element_type)], "is_zero")
    return _falsities(nodes, b)


def _falsities(nodes: StandardNodes, b: ir.Value) -> ir.Value:
    """Which elements are zero, for any type, without a comparison of numbers."""
    nonzero = nodes.cast(b, ir.DataType.BOOL, "nonzero")
    # ONNX Runtime's optimizer removes a Not.
    false = nodes.constant(False, "false", ir.DataType.BOOL)
    return nodes.add("Equal", [nonzero, false], "is_zero")


_EQUAL_OF_SMALL = 11
"""The first opset in which Equal takes 8-bit and 16-bit integers."""


def _quotient_is_representable(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """Check for a divisor of -1 only if A has the smallest value somewhere."""
    a, b = operands
    compared = node.computed_in
    if compared not in _COMPARED and nodes.opset < _EQUAL_OF_SMALL:
        compared = ir.DataType.INT32
        a, b = (nodes.cast(value, compared, "compared") for value in operands)
    smallest = nodes.constant(smallest_value(node.element_type), "smallest", compared)
    at_smallest = nodes.add("Equal", [a, smallest], "is_smallest")
    copies = nodes.cast(any_true(nodes, at_smallest, "has_smallest"), ir.DataType.INT64, "copies")
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


def _is_within_int32(nodes: StandardNodes, operands: Operands, node: GuardedNode) -> Flag:
    """One pass over each operand."""
    del node
    found = [any_true(nodes, _beyond(nodes, operand), "some_beyond") for operand in operands]
    some = reduce(lambda one, other: nodes.add("Or", [one, other], "some_beyond"), found)
    return Flag(some, when_kept=False)


def _beyond(nodes: StandardNodes, operand: ir.Value) -> ir.Value:
    narrow = nodes.cast(operand, ir.DataType.INT32, "narrow")
    again = nodes.cast(narrow, ir.DataType.INT64, "wide_again")
    fits = nodes.add("Equal", [operand, again], "fits")
    # ONNX Runtime's optimizer removes a Not.
    return nodes.add("Equal", [fits, nodes.constant(False, "false", ir.DataType.BOOL)], "beyond")


WITHIN_INT32 = DecidingGuard(
    _is_within_int32, lambda kind: kind is ElementType.INT64, Precondition.NOTHING
)
"""No element of any operand is outside int32, if it is int64."""

TUNED_GUARDS: Mapping[NumberSet, DecidingGuard] = MappingProxyType(
    {NONZERO: NONZERO_DIVISOR, INT32: WITHIN_INT32}
)
"""Guards that take the place of those that terms make."""

"""The guard of one value: its elements are finite or within a contract, or its sizes are.

value -> Greater, Less -> any outside
value -> Floor -> Greater -> any that is not whole

Of a contract's range the extremes decide, in place of all elements, where its limits allow it.
"""

from functools import reduce

import numpy as np

from sonnx_ort.guards.catalog import term_guard
from sonnx_ort.guards.element_guards import not_within, outside
from sonnx_ort.guards.guard import GuardedNode, GuardNodes, Operands, Value, any_true
from sonnx_ort.profile.contract import Limited, ValueContract
from sonnx_ort.profile.contract_rules import OnSizes, OnValue
from sonnx_ort.profile.element_type import CARRIERS, FLOAT_TYPES, ElementType
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.terms.language import Limits, NumberSet

_COMPARED = (ElementType.FLOAT, ElementType.DOUBLE, ElementType.INT32, ElementType.INT64)
"""The types that Greater and Less take in every opset."""


def breach(
    nodes: GuardNodes,
    requirement: OnElements | OnSizes,
    values: Operands,
    known: GuardedNode,
) -> Value:
    """Whether a value is not as demanded: one flag.

    Args:
        nodes: Takes the nodes.
        requirement: What is demanded of it.
        values: The value, and the inputs that its shape is compared with.
        known: What is known of them, and the type of the value.

    Raises:
        ValueError: No operator compares numbers of its type with the limits; the message says why,
            as a clause.
    """
    if isinstance(requirement, OnSizes):
        flag = term_guard(requirement).look(nodes, values, known)
        return any_true(nodes, flag.value, "any_wrong")
    return _any_outside(nodes, requirement, values[0], known)


def _any_outside(
    nodes: GuardNodes, requirement: OnElements, value: Value, known: GuardedNode
) -> Value:
    """Whether an element is not as demanded."""
    own = known.element_type
    numbers = requirement.decides
    if not isinstance(numbers, NumberSet):
        raise TypeError("a value is held to a set of numbers")
    compared = CARRIERS.get(own, own)
    if compared not in _COMPARED:
        compared = ElementType.INT64
    elements = value if compared is own else nodes.cast(value, compared, "compared")
    if isinstance(requirement, OnValue) and requirement.of.axis is not None:
        among = _beyond_of_index(nodes, requirement.of, elements, known, compared)
        return any_true(nodes, among, "any_outside")
    limits = _comparable(own, numbers.limits(own.dtype))
    if _is_narrow(limits) and compared in _REDUCED:
        found = _by_extremes(nodes, elements, compared, limits)
    else:
        among = not_within if own in FLOAT_TYPES else outside
        found = any_true(nodes, among(nodes, elements, compared, limits), "any_outside")
    if not isinstance(requirement, OnValue):
        return found
    fractional = nodes.add("Greater", [elements, nodes.add("Floor", [elements], "floor")], "above")
    some = any_true(nodes, fractional, "any_fractional")
    return nodes.add("Or", [found, some], "any_outside")


def _beyond_of_index(
    nodes: GuardNodes,
    entry: ValueContract,
    elements: Value,
    known: GuardedNode,
    compared: ElementType,
) -> Value:
    """Which elements are outside of the range of their index on an axis, or NaN."""
    own, (operand, *_) = known.element_type, known.operands
    if operand.shape is None or entry.axis is None:
        raise ValueError("is of a rank that is not known")
    rank = len(operand.shape)
    line = [-1, *[1] * (rank - 1 - entry.axis % rank)]
    ends = [_comparable(own, limits) for limits in entry.limits(own.dtype)]
    columns = (np.array(numbers).reshape(line).tolist() for numbers in zip(*ends, strict=True))
    lower, upper = (nodes.constant(column, "limits", compared) for column in columns)
    flags = [
        nodes.add("Less", [elements, lower], "is_below"),
        nodes.add("Greater", [elements, upper], "is_above"),
    ]
    if own in FLOAT_TYPES:
        flags.append(nodes.add("IsNaN", [elements], "is_nan"))
    return reduce(lambda one, other: nodes.add("Or", [one, other], "is_outside"), flags)


def _comparable(element_type: ElementType, limits: Limits | Limited) -> Limits:
    """The limits of what is compared; an unsigned number beyond int64 becomes negative there."""
    lower, upper = limits
    if element_type is not ElementType.UINT64:
        return limits
    if upper is None or upper >= 1 << 63:
        raise ValueError("is of type uint64, and its range reaches beyond int64")
    return lower or 0, upper


_REDUCED = (ElementType.FLOAT, ElementType.DOUBLE, ElementType.INT32)
"""The types whose extremes are found faster than all elements are compared."""

_NARROW = 1e18
"""No tensor has so many elements that a sum of numbers up to this one overflows."""


def _is_narrow(limits: Limits) -> bool:
    """Whether extremes decide: 0, which an empty tensor may give, and sums are within limits."""
    lower, upper = limits
    return lower is not None and upper is not None and -_NARROW <= lower <= 0 <= upper <= _NARROW


def _by_extremes(
    nodes: GuardNodes, elements: Value, compared: ElementType, limits: Limits
) -> Value:
    """Whether the smallest or the largest element is outside, or the sum is NaN.

    Kernels may skip NaN in the extremes, but not in the sum. For an empty tensor they give 0, or
    infinities that are beyond no limit.
    """
    whole = {"keepdims": 0}
    smallest = nodes.add("ReduceMin", [elements], "smallest", whole)
    largest = nodes.add("ReduceMax", [elements], "largest", whole)
    lower, upper = (nodes.constant(limit or 0, "limit", compared) for limit in limits)
    flags = [
        nodes.add("Less", [smallest, lower], "is_below"),
        nodes.add("Greater", [largest, upper], "is_above"),
    ]
    if compared in FLOAT_TYPES:
        total = nodes.add("ReduceSum", [elements], "total", whole)
        flags.append(nodes.add("IsNaN", [total], "is_nan"))
    found = flags[0]
    for flag in flags[1:]:
        found = nodes.add("Or", [found, flag], "any_outside")
    return found

"""The guard behind a value whose elements have to be finite, or within a contract.

y -> Greater, Less -> any outside -> y's shape or [-code] -> Reshape(y) -> y

Of a contract's range the extremes decide, in place of all elements, where its limits allow it.
"""

import onnx_ir as ir

from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.custom_ops.inspection import value_guard_name
from sonnx_ort.enforcing.hidden_shapes import hide_shape
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.errors import SonnxError
from sonnx_ort.guards.catalog import term_guard
from sonnx_ort.guards.element_guards import not_within, outside
from sonnx_ort.guards.guard import GuardedNode, any_true
from sonnx_ort.obligations.checked_values import CheckedValue
from sonnx_ort.profile.contract_rules import OnSizes
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.terms.elements import Limits, NumberSet

_COMPARED = (ElementType.FLOAT, ElementType.DOUBLE, ElementType.INT32, ElementType.INT64)
"""The types that Greater and Less take in every opset."""


def value_guard(nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
    """The value, readable only if its elements are as demanded.

    Raises:
        SonnxError: No operator compares numbers of its type with the limits.
    """
    read = hide_shape(nodes, value) if checked.may_be_misinferred else value
    requirement = checked.requirement
    if isinstance(requirement, OnSizes):
        found = _wrong_sizes(nodes, checked, requirement, read)
    else:
        found = _any_outside(nodes, checked, requirement, read)
    shape, code = nodes.shape(read), nodes.constant([-checked.rule.code], "code")
    may_be_scalar = checked.operand.scalar_inputs or not checked.operand.shape
    # ONNX Runtime renames what it inlines of a branch: guards are found by names in between.
    obligation = checked.obligation
    returned = bool(obligation.path) and value.is_graph_output()
    name = value_guard_name(obligation.operator, obligation.node, checked.rule, requirement)
    if may_be_scalar or returned:
        # A scalar's shape has no element to hold a code, so its rank is used.
        decided = nodes.add("Where", [found, code, nodes.shape(shape)], "rank_or_code")
        shape = nodes.add("Reshape", [shape, decided], "shape_if_within", name=name)
        return nodes.add("Reshape", [read, shape], "checked")
    decided = nodes.add("Where", [found, code, shape], "shape_or_code")
    return nodes.add("Reshape", [read, decided], "checked", name=name)


def _wrong_sizes(
    nodes: StandardNodes, checked: CheckedValue, requirement: OnSizes, value: ir.Value
) -> ir.Value:
    """Whether the shape is not as demanded."""
    kind, known = ElementType.INT64, checked.obligation.operands
    flag = term_guard(requirement).look(
        nodes, [value, *checked.others], GuardedNode(known, kind, kind)
    )
    wrong: ir.Value = any_true(nodes, flag.value, "any_wrong")
    return wrong


def _any_outside(
    nodes: StandardNodes, checked: CheckedValue, requirement: OnElements, value: ir.Value
) -> ir.Value:
    """Whether an element is not as demanded."""
    own, numbers = checked.element_type, requirement.decides
    if not isinstance(numbers, NumberSet):
        raise TypeError("a value is held to a set of numbers")
    compared = CARRIERS.get(own, own)
    if compared not in _COMPARED:
        compared = ElementType.INT64
    elements = value if compared is own else nodes.cast(value, compared, "compared")
    limits = _comparable(checked, numbers.limits(own.dtype))
    if _is_narrow(limits) and compared in _REDUCED:
        return _by_extremes(nodes, elements, compared, limits)
    among = not_within if own in FLOAT_TYPES else outside
    flags: ir.Value = among(nodes, elements, compared, limits)
    found: ir.Value = any_true(nodes, flags, "any_outside")
    return found


def _comparable(checked: CheckedValue, limits: Limits) -> Limits:
    """The limits of what is compared; an unsigned number beyond int64 becomes negative there."""
    lower, upper = limits
    if checked.element_type is not ElementType.UINT64:
        return limits
    if upper is None or upper >= 1 << 63:
        raise SonnxError(
            f"{checked.rule.id}: '{checked.operand.value}' is of type uint64, and its range "
            "reaches beyond int64; give a smaller one, or use the python backend"
        )
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
    nodes: StandardNodes, elements: ir.Value, compared: ElementType, limits: Limits
) -> ir.Value:
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

"""The guard of each kind of requirement, and those of demands on shapes, made from their terms.

Shape(X) -> Shape -> Equal(., rank)

Shape(X) -> Gather(., axes) -> Less(., smallest) -> any?

Shapes -> ranks and sizes -> Equal(., those that there shall be) -> all?

Then the guard of one value: its elements are finite or within a contract, or its sizes are.

value -> Greater, Less -> any outside
value -> Floor -> Greater -> any that is not whole

Of a contract's range the extremes decide, in place of all elements, where its limits allow it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from sonnx_ort.guards.axis_guards import axes_named_once_guard, equal_but_on_axis_guard
from sonnx_ort.guards.element_guards import (
    DIFFERENCE_WITHIN_INT32,
    EXACT_POWER,
    NUMBERS_UNDER_CROSSED_BOUNDS,
    REPRESENTABLE_QUOTIENT,
    elements_guard,
    extremes_outside,
    lines_guard,
    not_within,
    outside,
)
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
from sonnx_ort.guards.shape_guards import inferable_size_guard, slice_guard
from sonnx_ort.profile.contract import Limited, ValueContract
from sonnx_ort.profile.contract_rules import OnSizes, OnValue
from sonnx_ort.profile.element_type import CARRIERS, FLOAT_TYPES, ElementType
from sonnx_ort.profile.requirements.axes import AxesNamedOnce, EqualButOnAxis
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, OnElements
from sonnx_ort.profile.requirements.exact_powers import ExactPower
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import InfinityForZeroDivisor, RepresentableQuotient
from sonnx_ort.profile.requirements.reshaping import InferableSize
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.requirements.slicing import Slicing
from sonnx_ort.profile.rule import Requirement
from sonnx_ort.terms.language import (
    All,
    Compare,
    Each,
    Either,
    HasAxis,
    IfGiven,
    IsMultiple,
    Number,
    Rank,
    Relation,
    Size,
    SizesBehind,
    Tensor,
    Term,
    Times,
)
from sonnx_ort.terms.numbers import Limits, NumberSet

_MISSING, _MISSING_ON_THE_RIGHT = -1, -(1 << 62)
"""Stand for the size of an axis that is not there; no multiples of them are equal."""

_BEYOND_ALL = 1 << 62
"""An end after the last axis, and a number above all sizes."""

_FILLERS = {
    Relation.EQUAL: (_MISSING, _MISSING_ON_THE_RIGHT),
    Relation.AT_LEAST: (_MISSING, _BEYOND_ALL),
    Relation.AT_MOST: (_BEYOND_ALL, _MISSING),
}
"""What stands for axes that are not there on both sides, so that the comparison does not hold."""

_SLICE_BY_INPUTS = 10
"""The first opset in which Slice gets places as inputs."""


def term_guard(requirement: OnShapes) -> DecidingGuard:
    """The guard of a demand on shapes."""

    def look(nodes: GuardNodes, operands: Operands, node: GuardedNode) -> Flag:
        """Read the term as nodes."""
        known = node.operands
        names = requirement.names_of(len(operands))
        certain = not any(operand.scalar_inputs for operand in known)
        ranks = {o.name: len(o.shape) for o in known if certain and o.shape is not None}
        values = dict(zip(names, operands, strict=True))
        return _Guard(nodes, values, ranks).flag(requirement.term)

    return DecidingGuard(look, lambda _: True, Precondition.NOTHING)


@dataclass(frozen=True, slots=True)
class _Guard:
    """Reads terms as nodes.

    Attributes:
        nodes: The nodes of the guard.
        operands: The operands that are given, by name.
        ranks: The ranks that are known, by name.
    """

    nodes: GuardNodes
    operands: Mapping[str, Value]
    ranks: Mapping[str, int]

    def flag(self, term: Term) -> Flag:
        """Whether a term holds."""
        match term:
            case IfGiven(_, inner):
                return self.flag(inner)
            case Each(of):
                kept = [self._kept(of(Tensor(name))) for name in self.operands]
                return Flag(self.nodes.together("And", kept, "together"), when_kept=True)
            case Compare(_, Relation.EQUAL) | HasAxis():
                return Flag(self._kept(term), when_kept=True)
            case _:
                return Flag(self._broken(term), when_kept=False)

    def _kept(self, term: Term) -> Value:
        """Whether a term about two numbers, or an axis, holds."""
        match term:
            case Compare(left, Relation.EQUAL, right):
                numbers = self._vector([left]), self._vector([right], _MISSING_ON_THE_RIGHT)
                return self.nodes.add("Equal", [*numbers], "is_wanted")
            case HasAxis(tensor, _, False):
                place = self.nodes.constant([term.below_the_rank], "axis")
                return self.nodes.add("Greater", [self._vector([Rank(tensor)]), place], "has_axis")
        raise _no_guard(term)

    def _broken(self, term: Term) -> Value:
        """Whether a term does not hold, as one flag."""
        match term:
            case Compare(Rank() as rank, Relation.EQUAL, 0):
                zero = self.nodes.constant([0], "zero")
                return self.nodes.add("Greater", [self._vector([rank]), zero], "has_axes")
            case Compare():
                return self._any_broken([term])
            case SizesBehind(tensor, axis, longest):
                first = axis + 1 if axis != -1 else _BEYOND_ALL
                sizes = _sliced(self.nodes, self.nodes.shape(self.operands[tensor.name]), first)
                longer = self.nodes.add(
                    "Greater", [sizes, self.nodes.constant(longest, "longest")], "is_longer"
                )
                return any_true(self.nodes, longer, "any_longer")
            case Either(terms):
                broken = [self._broken(each) for each in terms]
                return self.nodes.together("And", broken, "together")
            case IsMultiple(number, factor):
                given, divisor = self._vector([number]), self.nodes.constant([factor], "factor")
                count = self.nodes.add("Div", [given, divisor], "count")
                return self._differs(given, self.nodes.add("Mul", [count, divisor], "multiple"))
            case All(terms) if all(isinstance(each, Compare | IsMultiple) for each in terms):
                compared = [each for each in terms if isinstance(each, Compare)]
                others = (self._broken(each) for each in terms if not isinstance(each, Compare))
                broken = [self._any_broken(compared), *others]
                return self.nodes.together("Or", broken, "together")
        raise _no_guard(term)

    def _any_broken(self, comparisons: Sequence[Compare]) -> Value:
        """Whether any of some comparisons does not hold, with one node for all of one relation."""
        flags = []
        for relation in dict.fromkeys(each.relation for each in comparisons):
            of_relation = [each for each in comparisons if each.relation is relation]
            fillers = _FILLERS[relation]
            left = self._vector([each.left for each in of_relation], fillers[0])
            right = self._vector([each.right for each in of_relation], fillers[1])
            match relation:
                case Relation.EQUAL:
                    broken = self._differs(left, right)
                case Relation.AT_LEAST:
                    broken = self.nodes.add("Less", [left, right], "is_too_small")
                case Relation.AT_MOST:
                    broken = self.nodes.add("Greater", [left, right], "is_too_large")
            alone = len(of_relation) == 1
            flags.append(broken if alone else any_true(self.nodes, broken, "any_broken"))
        return self.nodes.together("Or", flags, "together")

    def _differs(self, left: Value, right: Value) -> Value:
        return self.nodes.negated(self.nodes.add("Equal", [left, right], "is_same"), "differs")

    def _vector(self, numbers: Sequence[int | Number], missing: int = _MISSING) -> Value:
        """Numbers as a vector; `missing` for the size of an axis that is not there."""
        factors = [each.factor if isinstance(each, Times) else 1 for each in numbers]
        plain = [each.number if isinstance(each, Times) else each for each in numbers]
        parts = list(self._parts(plain, missing))
        vector = parts[0]
        if len(parts) > 1:
            vector = self.nodes.add("Concat", parts, "numbers", {"axis": 0})
        if set(factors) == {1}:
            return vector
        return self.nodes.add("Mul", [vector, self.nodes.constant(factors, "factors")], "multiples")

    def _parts(self, numbers: Sequence[int | Number], missing: int) -> Iterator[Value]:
        """Numbers as vectors: constants that follow each other in one, and sizes of one operand."""
        for _, group in groupby(numbers, _vector_key):
            match same_kind := list(group):
                case [int(), *_]:
                    yield self.nodes.constant(
                        [n for n in same_kind if isinstance(n, int)], "wanted"
                    )
                case [Size(tensor), *_]:
                    axes = [number.axis for number in same_kind if isinstance(number, Size)]
                    yield self._sizes(tensor, axes, missing)
                case [Rank(tensor)]:
                    yield self.nodes.shape(self.nodes.shape(self.operands[tensor.name]))
                case _:
                    raise TypeError(f"no guard of the number {same_kind[0]}")

    def _sizes(self, tensor: Tensor, axes: Sequence[int], missing: int) -> Value:
        """The sizes of axes; `missing` for one that is not there."""
        shape = self.nodes.shape(self.operands[tensor.name])
        rank = self.ranks.get(tensor.name, 0)
        if rank and list(axes) == list(range(rank)):
            return shape
        if all(-rank <= axis < rank for axis in axes):
            return self._gathered(shape, axes)
        after, before = max(axes) + 1, -min(axes)
        parts = [shape]
        if before > 0:
            parts.insert(0, self.nodes.constant([missing] * before, "no_sizes"))
        if after > 0:
            parts.append(self.nodes.constant([missing] * after, "no_sizes"))
        around = self.nodes.add("Concat", parts, "sizes_or_none", {"axis": 0})
        places = [axis + max(before, 0) if axis >= 0 else axis - max(after, 0) for axis in axes]
        return self._gathered(around, places)

    def _gathered(self, sizes: Value, places: Sequence[int]) -> Value:
        places_of_sizes = self.nodes.constant([*places], "axes")
        return self.nodes.add("Gather", [sizes, places_of_sizes], "sizes", {"axis": 0})


def _no_guard(term: Term) -> TypeError:
    """Refuse a term that attributes decide, that ONNX Runtime holds, or of a new kind."""
    return TypeError(f"no guard of the term {type(term).__name__}")


def _vector_key(number: int | Number) -> object:
    """What is equal for numbers that can stand in one vector."""
    match number:
        case int():
            return "constants"
        case Size(tensor):
            return tensor
    return id(number)


def _sliced(nodes: GuardNodes, shape: Value, first: int) -> Value:
    """The sizes from a place on."""
    if nodes.opset < _SLICE_BY_INPUTS:
        attributes = {"axes": (0,), "starts": (first,), "ends": (_BEYOND_ALL,)}
        return nodes.add("Slice", [shape], "sizes_behind", attributes)
    places = [nodes.constant([place], "place") for place in (first, _BEYOND_ALL)]
    return nodes.add("Slice", [shape, *places], "sizes_behind")


_GUARDS: Mapping[type, DecidingGuard | Callable[[Any], DecidingGuard | None]] = {
    RepresentableQuotient: REPRESENTABLE_QUOTIENT,
    ExactPower: EXACT_POWER,
    DifferenceWithinInt32: DIFFERENCE_WITHIN_INT32,
    NumbersUnderCrossedBounds: NUMBERS_UNDER_CROSSED_BOUNDS,
    OnElements: elements_guard,
    InfinityForZeroDivisor: elements_guard,
    OnShapes: term_guard,
    OnSizes: term_guard,
    Slicing: slice_guard,
    LinesAboveNegativeInfinity: lines_guard,
    EqualButOnAxis: equal_but_on_axis_guard,
    InferableSize: inferable_size_guard,
    AxesNamedOnce: axes_named_once_guard,
}
"""The guard of each kind of requirement, or what makes it if it depends on more than the kind."""


def deciding_guard(requirement: Requirement) -> DecidingGuard | None:
    """The guard of a requirement, or None."""
    found = _GUARDS.get(type(requirement))
    return found(requirement) if callable(found) else found


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
    numbers = _number_set(requirement)
    compared = _compared_in(own)
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


def compares_each(requirement: OnElements | OnSizes, element_type: ElementType) -> bool:
    """Whether the guard makes tensors as large as the value that it looks at."""
    if isinstance(requirement, OnSizes):
        return False
    compared = _compared_in(element_type)
    if isinstance(requirement, OnValue) or compared is not element_type:
        return True
    limits = _number_set(requirement).limits(element_type.dtype)
    return not (_is_narrow(limits) and compared in _REDUCED)


def _number_set(requirement: OnElements) -> NumberSet:
    if not isinstance(requirement.numbers, NumberSet):
        raise TypeError("a value is held to a set of numbers")
    return requirement.numbers


def _compared_in(element_type: ElementType) -> ElementType:
    """The type in which elements are compared."""
    carrier = CARRIERS.get(element_type, element_type)
    return carrier if carrier in _COMPARED else ElementType.INT64


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
    return nodes.together("Or", flags, "is_outside")


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

    Kernels may skip NaN in the extremes, but not in the sum.
    """
    flags = extremes_outside(nodes, elements, compared, [limit or 0 for limit in limits])
    if compared in FLOAT_TYPES:
        total = nodes.add("ReduceSum", [elements], "total", {"keepdims": 0})
        flags.append(nodes.add("IsNaN", [total], "is_nan"))
    return nodes.together("Or", flags, "any_outside")

"""Which float tensors hold no -0.

The gap of a tensor is a number g such that each of its elements with a minus sign is at most -g: 0
if nothing is known, infinity if no element has one. So a tensor with a gap above 0 holds no -0. A
NaN counts as neither. A sum is -0 only of two of them, since a sum of two floats that is not 0 is
never rounded to 0. A product or quotient may be, so that it needs a gap that is large enough.

Each rule is tested against the kernels of ONNX Runtime:
`tests/analysis/values/test_minus_zeros.py`, and where elements are only moved by
`tests/soundness/test_moved_elements.py`. They hold for float and double, and for a processor
that computes with subnormal numbers, which the option `session.set_denormal_as_zero` switches off.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.analysis.values.graph_node import GraphNode, Held, rule_for
from sonnx_ort.facts.bounds import MOST_CONSTANTS
from sonnx_ort.facts.node import Moves
from sonnx_ort.facts.operators import RULES
from sonnx_ort.facts.sizes import Rejected, Sizes
from sonnx_ort.profile.element_type import ElementType, Family


@dataclass(frozen=True, slots=True)
class _Limits:
    """The smallest positive number of a type, the smallest normal one, and 1 - the next below 1."""

    smallest: float
    normal: float
    below_one: float


_TYPES: Mapping[str, _Limits] = {
    "float": _Limits(2.0**-149, 2.0**-126, 2.0**-24),
    "double": _Limits(2.0**-1074, 2.0**-1022, 2.0**-53),
}

_DEEPEST = 64
"""How many nodes one after the other are looked at."""

_ROUNDING = 1 - 2.0**-20
"""A product is rounded to no less than this part of it, unless it is subnormal."""

_POSITIVE = math.inf
_UNKNOWN = 0.0
_LARGEST = float(np.finfo(np.float64).max)
"""The gap of a tensor whose only numbers with a minus sign are infinite."""


class NegativeZeros:
    """The gaps of the float tensors of a graph."""

    def __init__(
        self,
        version: int,
        element_type: Callable[[ir.Value], str | None],
        shapes: Mapping[ir.Value, Sizes] | None = None,
        shared: frozenset[str] = frozenset(),
    ) -> None:
        """Store what is known of values.

        Args:
            version: The version of the standard operators.
            element_type: Gives the ONNX name of a value's type if it is certain.
            shapes: The certain shapes of values.
            shared: The symbols of which several axes may differ in value.
        """
        self._version = version
        self._element_type = element_type
        self._held = Held(shapes or {}, shared=shared)
        self._known: dict[ir.Value, float] = {}

    def of(self, value: ir.Value, depth: int = 0) -> float:
        """The gap of a value."""
        if value not in self._known:
            self._known[value] = self._found(value, depth)
        return self._known[value]

    def of_moved(self, moves: Moves, node: ir.Node, value: ir.Value, depth: int) -> float:
        """The gap of a result that has elements of operands alone."""
        try:
            moved = moves(GraphNode(node, self._version, self._held))
        except Rejected:
            return _UNKNOWN
        operands = [node.inputs[position] for position in moved.operands]
        gaps = [_UNKNOWN if each is None else self.of(each, depth) for each in operands]
        others = node.outputs[moved.results :] if moved.results else ()
        return _UNKNOWN if value in others else min(gaps)

    def _found(self, value: ir.Value, depth: int) -> float:
        """The gap by the elements if they are stored, else by the rule of the operator."""
        limits = _TYPES.get(self._element_type(value) or "")
        if limits is None:
            return _UNKNOWN
        elements = _stored_floats(value)
        if elements is not None:
            return _gap_of(elements)
        node = value.producer()
        if node is None or depth >= _DEEPEST or rule_for(node, self._version) is None:
            return _UNKNOWN
        rule, moves = GAP_RULES.get(node.op_type), RULES[node.op_type].moves
        if rule is None and moves is not None:
            return self.of_moved(moves, node, value, depth + 1)
        seen = _Seen(node, self, self._element_type, depth + 1, limits)
        return _UNKNOWN if rule is None else rule(seen)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A node, with the gaps of its inputs and the limits of its result's type."""

    node: ir.Node
    gaps: NegativeZeros
    element_type: Callable[[ir.Value], str | None]
    depth: int
    limits: _Limits

    def value(self, position: int) -> ir.Value | None:
        return self.node.inputs[position] if position < len(self.node.inputs) else None

    def gap(self, position: int) -> float:
        value = self.value(position)
        return _UNKNOWN if value is None else self.gaps.of(value, self.depth)

    def gaps_of_all(self) -> Iterator[float]:
        return (self.gap(position) for position in range(len(self.node.inputs)))

    def constant(self, position: int) -> npt.NDArray[np.float64] | None:
        """The elements of a constant, also of one that is repeated by Expand."""
        value = self.value(position)
        while value is not None and (elements := _stored_floats(value)) is None:
            node = value.producer()
            value = node.inputs[0] if node is not None and node.op_type == "Expand" else None
        return None if value is None else elements

    def scaled(self, gap: float, factor: float) -> float:
        """The gap of products by factors that are not below this one."""
        if gap == _POSITIVE:
            return gap
        product = min(gap * factor, _LARGEST)
        return product * _ROUNDING if product >= 2 * self.limits.normal else _UNKNOWN


def _stored_floats(value: ir.Value) -> npt.NDArray[np.float64] | None:
    tensor = constant_tensor(value)
    if tensor is None or tensor.size > MOST_CONSTANTS or not tensor.dtype.is_floating_point():
        return None
    return tensor.numpy().astype(np.float64)


def _gap_of(elements: npt.NDArray[np.float64]) -> float:
    signed = np.abs(elements[np.signbit(elements) & ~np.isnan(elements)])
    return min(float(signed.min()), _LARGEST) if signed.size else _POSITIVE


def _positive_of_all(seen: _Seen) -> float:
    """No number with a minus sign, unless the flag is set by which the operand may be copied."""
    return _UNKNOWN if seen.node.attributes.get_int("noop_with_empty_axes", 0) else _POSITIVE


def _sum(seen: _Seen) -> float:
    one, other = seen.gap(0), seen.gap(1)
    if min(one, other) == _POSITIVE:
        return _POSITIVE
    return seen.limits.smallest if max(one, other) > 0 else _UNKNOWN


def _difference(seen: _Seen) -> float:
    """A difference is -0 only of -0 and 0."""
    constant = seen.constant(1)
    without_zero = constant is not None and bool(((constant != 0) | np.signbit(constant)).all())
    return seen.limits.smallest if without_zero or seen.gap(0) > 0 else _UNKNOWN


def _product(seen: _Seen) -> float:
    one, other = seen.gap(0), seen.gap(1)
    if seen.value(0) is seen.value(1) or min(one, other) == _POSITIVE:
        return _POSITIVE
    for gap, factor in ((one, 1), (other, 0)):
        constant = seen.constant(factor)
        if constant is not None and constant.size and (constant > 0).all():
            return seen.scaled(gap, float(constant.min()))
    return _UNKNOWN


def _quotient(seen: _Seen) -> float:
    dividend = seen.gap(0)
    if min(dividend, seen.gap(1)) == _POSITIVE:
        return _POSITIVE
    constant = seen.constant(1)
    if constant is None or not constant.size or not (constant > 0).all():
        return _UNKNOWN
    return seen.scaled(dividend, 1 / float(constant.max()))


def _clipped(seen: _Seen) -> float:
    """Each element is one of an operand; above a positive bound there is no minus sign."""
    if seen.node.attributes:
        return _UNKNOWN
    limits = min((seen.gap(p) for p in (1, 2) if seen.value(p) is not None), default=_POSITIVE)
    lower = seen.constant(1)
    if lower is not None and lower.size and (lower > 0).all() and limits == _POSITIVE:
        return _POSITIVE
    return min(seen.gap(0), limits)


def _summed(seen: _Seen) -> float:
    gap = seen.gap(0)
    return gap if gap in (_POSITIVE, _UNKNOWN) else seen.limits.smallest


def _cast(seen: _Seen) -> float:
    value = seen.value(0)
    given = None if value is None else seen.element_type(value)
    if given == "bool":
        return _POSITIVE
    found = ElementType.named(given)
    if found is not None and found.family is Family.INTEGER:
        return _POSITIVE if found.dtype.kind == "u" else 1.0
    return seen.scaled(seen.gap(0), 1.0)


GAP_RULES: Mapping[str, Callable[[_Seen], float]] = {
    **dict.fromkeys(("Abs", "Exp", "Sigmoid", "Softmax"), lambda _: _POSITIVE),
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceSumSquare"), _positive_of_all),
    **dict.fromkeys(("Max", "Min"), lambda seen: min(seen.gaps_of_all(), default=_UNKNOWN)),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), lambda seen: min(seen.gap(0), _LARGEST)),
    # No number with a minus sign: a -0 is kept, and no other number below 0.
    **dict.fromkeys(("Relu", "Sqrt"), lambda seen: _POSITIVE if seen.gap(0) > 0 else _UNKNOWN),
    "Add": _sum,
    "Cast": _cast,
    "Clip": _clipped,
    "Div": _quotient,
    # Of all numbers below 1 the next one has the logarithm that is nearest to 0.
    "Log": lambda seen: seen.limits.below_one / 2,
    "Mul": _product,
    "ReduceMean": lambda seen: _POSITIVE if seen.gap(0) == _POSITIVE else _UNKNOWN,
    "ReduceSum": _summed,
    "Sub": _difference,
}
"""The rules by standard operator; where elements are only moved, the gap is that of operands."""

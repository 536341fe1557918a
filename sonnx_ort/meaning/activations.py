"""Clip, Softmax and HardSwish, and of balls HardSigmoid, Gelu and others.

Sources: the drafts of the working group of Clip and Softmax, sections on reals and on floats; for
Softmax before version 13, bounds of one element, and the others ONNX.

The bound of Softmax is ours: that of the algorithm of its draft, with an exponential that is off by
2 ulps. It is evaluated on balls, each step of which may round.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.meaning.balls import Interval, ball_of, ball_type, ends, precisely
from sonnx_ort.meaning.comparison import largest, less
from sonnx_ort.meaning.elementwise import ULPS_OF_EXP
from sonnx_ort.meaning.functions import exponential
from sonnx_ort.meaning.lines import Lines, of_arrays
from sonnx_ort.meaning.node import BallNode, Node, mapped
from sonnx_ort.meaning.numbers import (
    NAN,
    ZERO,
    Array,
    BinaryFormat,
    Kind,
    Number,
    encoded_elements,
    number,
    power_of_two,
    tensor,
)
from sonnx_ort.meaning.results import (
    OPEN,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    between_balls,
    exactly,
)

if TYPE_CHECKING:
    from flint import arb


_BOUND = "the algorithm of the draft with an exponential off by 2 ulps (ours)"


_OF_ONE_AXIS = 13
"""The version since which a Softmax is along one axis."""

_PER_EXPONENTIAL = 16
"""How many products take as long as an exponential."""


def softmax(node: Node) -> tuple[Elements, ...]:
    """Softmax: the exponential of each element by the sum of those along an axis.

    All of a line is NaN if any element of it is NaN or infinity; otherwise -inf gives 0, also on a
    line of nothing else. Before version 13 the axes from `axis` on count as one.

    Raises:
        NotDefinedError: There is no such axis.
    """
    x = node.exact()
    axis, lines = _along_axis(node, x)
    flat = lines.reshape(-1, lines.shape[-1]) if lines.shape[-1] else lines.reshape(0, 1)
    with precisely():
        made = tensor(chain(*(_shares(node, line) for line in flat.tolist())), lines.shape)
    elements = np.moveaxis(made, -1, axis).reshape(x.shape)
    return (Elements(elements, node.element_type(), _BOUND),)


def _along_axis(node: Node, x: Array) -> tuple[int, Array]:
    """The axis of a Softmax, and its first operand with this axis as the last one.

    Before version 13 the last axis has all that were from it on.
    """
    if node.version < _OF_ONE_AXIS:
        axis = node.axis(1)
        return axis, x.reshape(*x.shape[:axis], prod(x.shape[axis:]))
    axis = node.axis(-1)
    return axis, np.moveaxis(x, axis, -1)


def lines_of_softmax(node: Node, operands: Sequence[Array | None]) -> Lines | None:
    """Lines along the axis, all elements of which are computed together."""
    (x,) = of_arrays(operands[:1])
    if x.size == 0:
        return None
    axis, lines = _along_axis(node, x)
    gone = range(axis, x.ndim if node.version < _OF_ONE_AXIS else axis + 1)
    each = np.broadcast_to(np.expand_dims(lines, tuple(gone)), (*x.shape, lines.shape[-1]))
    reads = _PER_EXPONENTIAL * lines.shape[-1]
    return Lines(x.shape, [each[..., np.newaxis, :]], {"axis": 1}, (1, -1), reads, has_lines=True)


def _shares(node: Node, line: Sequence[Any]) -> Iterable[Any]:
    """The Softmax of one line: balls of a BallNode, enclosures of exact elements."""
    if isinstance(node, BallNode):
        if node.binary is None:
            return _shares_over_the_reals(line)
        return map(node.rounded, _rounded_shares(node, node.binary, line))
    top = largest(*line)
    if not top.is_finite:
        masked = top.kind is Kind.INFINITE and top.negative
        return [Enclosed(ZERO if masked else NAN)] * len(line)
    finite = [each for each in line if each.is_finite]
    shares = map(Enclosed, _exact_shares(finite, top))
    binary = node.format()
    if binary is not None:
        of_format = BallNode(node.version, {}, (), binary=binary)
        rounded = _rounded_shares(of_format, binary, [ball_of(each.value) for each in finite])
        shares = map(between_balls, (each.value for each in shares), rounded)
    return [next(shares) if each.is_finite else Enclosed(ZERO) for each in line]


def _exact_shares(line: Sequence[Number], top: Number) -> Iterable[Interval]:
    """Both ends of each share over the reals."""
    weights = [Interval.around(exponential(each - top)) for each in line]
    for w, others in zip(weights, _others(weights, Interval()), strict=True):
        yield Interval.between(w.low / (w.low + others.high), w.high / (w.high + others.low))


def _shares_over_the_reals(line: "Sequence[arb]") -> "Iterable[arb]":
    """The shares, of the differences to a number that all share.

    Any number may stand in the place of the largest one, and each exponential stands once in
    its share: 1 by 1 plus the others by it.
    """
    ball = ball_type()
    top = ball(largest(*line).mid())
    weights = [(each - top).exp() for each in line]
    for weight, others in zip(weights, _others(weights, ball(0)), strict=True):
        share = 1 / (1 + others / weight)
        yield share if share.is_finite() else ball(0).union(ball(1))


def _rounded_shares(node: BallNode, binary: BinaryFormat, line: "Sequence[arb]") -> "Iterable[arb]":
    """What roundings make of the exponentials of the differences to the largest, by their sum."""
    top, nearly_one = largest(*line), ball_type()(1, ball_of(power_of_two(-binary.precision)))
    depths = [(top - each).max(0) for each in line]
    # A depth beyond the format is infinite, and its exponential is 0.
    weights = [_rounded_exponential(node, -depth * nearly_one) for depth in depths]
    whole: Any = sum(weights)
    divisor = node.rounded(whole, len(line) - 1, reach=(whole,))
    # A quotient may be the product of a reciprocal.
    return (node.rounded(weight / divisor, 2) for weight in weights)


def _rounded_exponential(node: BallNode, x: "arb") -> "arb":
    # Every implementation gives 1 for 0 (ours).
    return x.exp() if x == 0 else node.rounded(x.exp(), 2 * ULPS_OF_EXP - 1).max(0).min(2)


def _others(weights: Sequence[Any], zero: Any) -> Iterable[Any]:
    """For each element the sum of the others."""
    before = accumulate(weights[:-1], initial=zero)
    after = [*accumulate(weights[:0:-1], initial=zero)]
    return (sum(pair, zero) for pair in zip(before, reversed(after), strict=True))


def clip(node: Node) -> tuple[Elements | Result, ...]:
    """Clip: an element, or the bound that it lies beyond; the upper one if the lower is above it.

    NaN lies beyond no bound, and bounds nothing. Before version 11 bounds are attributes.

    Raises:
        NotDefinedError: A bound has not one element.
    """
    x, element_type = node.exact(), node.common_type(0, 1, 2)
    lowest, highest = (_bound(node, *named) for named in ((1, "min"), (2, "max")))
    if isinstance(node, BallNode):
        x = x if lowest is None else mapped(lambda each: each.max(lowest), x)
        return (Elements(x if highest is None else mapped(lambda e: e.min(highest), x), None),)
    crossed = lowest is not None and highest is not None and less(highest, lowest)

    def clipped(element: Any) -> Any:
        if crossed:
            return highest
        if lowest is not None and less(element, lowest):
            element = lowest
        return highest if highest is not None and less(highest, element) else element

    if element_type is not None and node.is_of_integers():
        return (exactly(encoded_elements(mapped(clipped, x), element_type)),)
    return (Elements(mapped(lambda each: Enclosed(clipped(each)), x), element_type),)


def _bound(node: Node, place: int, name: str) -> Any:
    """A limit of Clip, before version 11 an attribute; None if it is left out or NaN."""
    if node.version < 11:
        bound = node.factor(name, 0.0) if name in node.attributes else None
    elif node.optional(place) is None:
        bound = None
    else:
        elements = node.exact(place)
        if elements.size != 1:
            raise NotDefinedError(f"{name} of shape {elements.shape} has not one element")
        bound = elements.item()
    return None if getattr(bound, "kind", None) is Kind.NAN else bound


def hard_sigmoid(node: BallNode) -> tuple[Array, ...]:
    """HardSigmoid: alpha x + beta, clipped to [0, 1]."""
    alpha, beta = node.factor("alpha", 0.2), node.factor("beta", 0.5)

    def of_element(x: "arb") -> "arb":
        return node.rounded(alpha * x + beta, 3, abs(alpha * x) + abs(beta)).max(0).min(1)

    return (mapped(of_element, node.operand(0)),)


_SIXTH = Fraction(1, 6)
_OF_GATES = "the roundings of the gate and of the product, a quotient by 6 in any order (ours)"


def hard_swish(node: Node) -> tuple[Array | Elements, ...]:
    """HardSwish: x times x / 6 + 1 / 2, the latter clipped to [0, 1]; -inf times 0 is NaN.

    Source: ONNX HardSwish, version 22. Its text has 1 / 6, and its function body that in float:
    implementations in a wider format may have either.
    """
    if isinstance(node, BallNode):
        return (mapped(lambda x: _hard_swish_of(node, x), node.operand(0)),)
    with precisely():
        of_format = node.with_balls(node.format())
        rounded = mapped(lambda ball: _hard_swish_of(of_format, ball), of_format.operand(0))
        made = mapped(_gated_exactly, node.exact(), rounded)
    return (Elements(made, node.element_type(), _OF_GATES),)


def _hard_swish_of(node: BallNode, x: "arb") -> "arb":
    slope, half = ball_of(_SIXTH), ball_of(Fraction(1, 2))
    if node.binary is not None:
        slope = slope.union(ball_of(Fraction(float(np.float32(_SIXTH)))))
    gate = node.rounded(slope * x + half, 3, slope * abs(x) + half).max(0).min(1)
    # A quotient by 6 may come last.
    return node.rounded(x * gate, 1)


def _gated_exactly(x: Number, rounded: "arb") -> Enclosed:
    """The element, which is rational, and what roundings make of it."""
    if not x.is_finite:
        return Enclosed(NAN if x.negative else x)
    value = number(x.value * min(max(_SIXTH * x.value + Fraction(1, 2), Fraction(0)), Fraction(1)))
    if not rounded.is_finite():
        return replace(OPEN, value=value)
    return Enclosed(value, within=Interval.between(*ends(rounded)))


def gelu(node: BallNode) -> tuple[Array, ...]:
    """Gelu: x / 2 (1 + erf(x / sqrt 2)), or the approximation by a hyperbolic tangent."""
    node.unbounded("Gelu")
    ball = ball_type()
    root = ball(2).sqrt()
    if str(node.attributes.get("approximate", "none")) == "tanh":
        factor, cubic = (2 / ball.pi()).sqrt(), ball("0.044715")

        def curve(x: "arb") -> "arb":
            return (factor * (x + cubic * x * x * x)).tanh()
    else:

        def curve(x: "arb") -> "arb":
            return (x / root).erf()

    return (mapped(lambda x: x / 2 * (1 + curve(x)), node.operand(0)),)

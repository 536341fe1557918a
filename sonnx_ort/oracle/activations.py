"""Clip, Softmax, BatchNormalization and HardSwish, and of balls HardSigmoid, Gelu and others.

Sources: the drafts of the working group of the first three, sections on reals and on floats; for
Softmax before version 13, bounds of one element, types that differ, and the others ONNX.

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

from sonnx_ort.oracle.balls import (
    Interval,
    NotFollowedError,
    ball_of,
    ball_type,
    ends,
    precisely,
)
from sonnx_ort.oracle.elementwise import ULPS_OF_EXP
from sonnx_ort.oracle.functions import exponential, largest, less, size, square_root
from sonnx_ort.oracle.node import BallNode, Node, mapped
from sonnx_ort.oracle.numbers import (
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
from sonnx_ort.oracle.results import (
    OPEN,
    UNDEFINED,
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


def softmax(node: Node) -> tuple[Elements, ...]:
    """Softmax: the exponential of each element by the sum of those along an axis.

    All of a line is NaN if any element of it is NaN or infinity; otherwise -inf gives 0, also on a
    line of nothing else. Before version 13 the axes from `axis` on count as one.

    Raises:
        NotDefinedError: There is no such axis.
    """
    x = node.exact()
    flattened = node.version < 13
    axis = node.axis(1 if flattened else -1)
    lines = x if flattened else np.moveaxis(x, axis, -1)
    length = int(np.prod(x.shape[axis:])) if flattened else x.shape[axis]
    flat = lines.reshape(-1, length) if length else lines.reshape(0, 1)
    with precisely():
        made = tensor(chain(*(_shares(node, line) for line in flat.tolist())), lines.shape)
    elements = made if flattened else np.moveaxis(made, -1, axis)
    return (Elements(elements, node.element_type(), _BOUND),)


def _shares(node: Node, line: Sequence[Any]) -> Iterable[Any]:
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
        return (mapped(lambda x: _gated(node, x), node.operand(0)),)
    with precisely():
        of_format = node.with_balls(node.format())
        rounded = mapped(lambda ball: _gated(of_format, ball), of_format.operand(0))
        made = mapped(_gated_exactly, node.exact(), rounded)
    return (Elements(made, node.element_type(), _OF_GATES),)


def _gated(node: BallNode, x: "arb") -> "arb":
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


_ROUNDINGS_OF_A_NORMALIZATION = 8
"""A sum, a root, a reciprocal, two factors, two sums, and one in reserve."""

_NORMALIZED = "8 roundings of the sum of magnitudes, for any order of scaling and shifting (ours)"


def batch_normalization(node: Node) -> tuple[Elements, ...]:
    """BatchNormalization: (element - mean) / deviation, scaled and shifted.

    The second axis of X is the channel; the other operands are scale, shift, mean and variance per
    channel. Any order of scaling, shifting and subtracting is admitted.

    Raises:
        NotDefinedError: Operands do not have one element for each channel.
        ValueError: The node is for training, or has statistics for each element, or the square of a
            deviation may be below 0.
    """
    of_balls = isinstance(node, BallNode)
    old = of_balls and node.version < 9
    if node.integer("training_mode", 0) or not node.integer("spatial", 1) or old:
        raise ValueError("BatchNormalization has a meaning here for inference by channels alone")
    x, vectors = node.exact(), [node.exact(place) for place in range(1, 5)]
    count = x.shape[1] if x.ndim > 1 else 1
    if any(vector.shape != (count,) for vector in vectors):
        raise NotDefinedError(f"operands do not have one element for each of {count} channels")
    if not of_balls and node.format() is None:
        raise ValueError("BatchNormalization has no meaning over the reals here")
    epsilon = node.factor("epsilon", 1e-5)
    along = [-1, *[1] * (x.ndim - 2)] if x.ndim else []
    scale, shift, mean, variance = (vector.reshape(along) for vector in vectors)
    deviation = mapped(lambda each: _deviation(each, epsilon), variance)
    normalized = mapped(
        lambda *each: _normalized(node, *each), x, scale, shift, mean, variance, deviation
    )
    reason = "the operands break BatchNormalization.C3"
    return (Elements(normalized, node.element_type(), _NORMALIZED, reason),)


def _deviation(variance: Any, epsilon: Any) -> Any:
    if not isinstance(variance, Number) and not variance + epsilon > 0:
        raise NotFollowedError("a variance may be 0 or negative")
    return square_root(variance + epsilon)


def _normalized(  # noqa: PLR0913, PLR0917 - the operands, and the root of one
    node: Node, x: Any, scale: Any, shift: Any, mean: Any, variance: Any, deviation: Any
) -> Any:
    """An element; not defined if the variance is negative or NaN."""
    if isinstance(x, Number) and (variance.kind is Kind.NAN or variance.below_zero):
        return UNDEFINED
    made = scale * (x - mean) / deviation + shift
    divisor = size(deviation)
    factor = Fraction(0) if divisor == 0 else size(scale) / divisor
    distance = size(x) + size(mean)
    reach = [size(scale) * distance, factor, distance, size(variance)]
    roundings = _ROUNDINGS_OF_A_NORMALIZATION
    if isinstance(scale, Number):
        if scale.kind is Kind.INFINITE:
            # If scaled before the subtraction, element and mean may both be infinite.
            return replace(OPEN, value=made)
        if not (divisor and all(each.is_finite for each in (x, shift, mean, variance))):
            roundings = 0
    return node.rounded(
        made,
        roundings,
        factor * distance + size(shift),
        reach=reach,
        underflow=2 * (distance + size(scale) + 4),
    )


def layer_normalization(node: BallNode) -> tuple[Array, ...]:
    """LayerNormalization: to mean 0 and variance 1 along the last axes, scaled and shifted."""
    node.unbounded("LayerNormalization")
    x, axis, epsilon = node.operand(0), node.axis(-1), node.factor("epsilon", 1e-5)
    kept, scale, shift = x.shape[:axis], node.operand(1), node.optional(2)
    made = np.empty((prod(kept), prod(x.shape[axis:])), object)
    for place, line in enumerate(x.reshape(made.shape).tolist()):
        mean = sum(line) / max(1, len(line))
        centered = [each - mean for each in line]
        variance = sum(each * each for each in centered) / max(1, len(line))
        made[place] = [each / (variance + epsilon).sqrt() for each in centered]
    scaled = mapped(lambda e, factor: e * factor, made.reshape(x.shape), scale)
    return (scaled if shift is None else mapped(lambda a, b: a + b, scaled, shift),)

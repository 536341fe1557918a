"""Intervals of the results of functions of single elements."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from .accuracy import accuracy_of, function_of
from .arithmetic import FORMATS, corners
from .bounds import holds_truths
from .intervals import (
    float_attribute,
    format_of,
    hull,
    is_below_its_largest,
    largest_quotient,
    operand,
    reads_what_others_read,
)
from .node import IntervalRule, Node
from .ranges import ANYTHING, Ends, Interval
from .sizes import require

ZERO, ONE = Interval.of(0, 0), Interval.of(1, 1)


def difference(node: Node) -> Sequence[Interval]:
    """Sub; 0 if both operands are one value."""
    a, b = operand(node, 0), operand(node, 1)
    if node.is_same(0, 1) and reads_what_others_read(node) and not a.infinite:
        return [ZERO]
    found = format_of(node).difference(a, b)
    if is_below_its_largest(node):
        return [Interval(np.minimum(found.lower, 0), np.minimum(found.upper, 0), found.nan)]
    return [found]


def product(node: Node) -> Sequence[Interval]:
    """Mul; a square if both operands are one value."""
    a, b, kind = operand(node, 0), operand(node, 1), format_of(node)
    if node.is_same(0, 1):
        return [kind.square(a)]
    found = kind.product(a, b)
    return [found if found.nan else found.limited(_largest_product(node))]


def _largest_product(node: Node) -> float:
    """The largest magnitude of a product with a reciprocal, which is a quotient."""
    found = math.inf
    for index in (0, 1):
        inverse = node.source(1 - index)
        if inverse is not None and inverse.op_type == "Reciprocal":
            found = min(found, largest_quotient(node, index, inverse, 0))
        elif inverse is not None and inverse.op_type == "Div":
            one = operand(inverse, 0).whole
            if one.lower == one.upper == 1 and not one.nan:
                found = min(found, largest_quotient(node, index, inverse, 1))
    return found


def quotient(node: Node) -> Sequence[Interval]:
    """The quotients of two operands.

    ONNX Runtime may compute a normalization, a difference divided by a root, by another formula. In
    versions up to 1.26 its variance can be rounded to a negative number.
    """
    sources = [node.source(index) for index in (0, 1)]
    if [each and each.op_type for each in sources] == ["Sub", "Sqrt"]:
        return [ANYTHING]
    found = format_of(node).quotient(operand(node, 0), operand(node, 1))
    return [found if found.nan else found.limited(largest_quotient(node, 0, node, 1))]


def magnitude(node: Node) -> Sequence[Interval]:
    """Abs: how far from zero the ends are."""
    x = operand(node, 0)
    return [Interval(x.nearest, x.magnitude, x.nan)]


def monotonic(
    function: Callable[[Ends], Ends], *, domain: tuple[float, float] = (-math.inf, math.inf)
) -> IntervalRule:
    """A function that never falls; NaN outside of its domain.

    Args:
        function: The function.
        domain: The smallest and the largest argument with a number as its result.
    """

    def rule(node: Node) -> Sequence[Interval]:
        x = operand(node, 0)
        outside = bool(((x.lower < domain[0]) | (x.upper > domain[1])).any())
        with np.errstate(all="ignore"):
            ends = function(np.clip(x.lower, *domain)), function(np.clip(x.upper, *domain))
        return [_measured(node, x, *ends, nan=outside)]

    return rule


def exact(function: Callable[[Ends], Ends]) -> IntervalRule:
    """A function that never falls, and whose results are numbers of the type."""

    def rule(node: Node) -> Sequence[Interval]:
        x = operand(node, 0)
        return [format_of(node).held(function(x.lower), function(x.upper), nan=x.nan)]

    return rule


def between(lower: float, upper: float) -> IntervalRule:
    """A function whose results lie in an interval."""

    def rule(node: Node) -> Sequence[Interval]:
        return [_measured(node, operand(node, 0), np.asarray(lower), np.asarray(upper))]

    return rule


def _measured(node: Node, x: Interval, lower: Ends, upper: Ends, *, nan: bool = False) -> Interval:
    """What a kernel computes of an operand, from the exact results and the accuracy that it has.

    Args:
        node: The node.
        x: The operand.
        lower: The smallest exact result.
        upper: The largest.
        nan: Whether a result can be NaN, of a number that is not infinite.

    Raises:
        Rejected: The accuracy was not measured.
    """
    accuracy = accuracy_of(function_of(node), node.result_type(0) or "")
    with np.errstate(all="ignore"):
        magnitude = np.maximum(np.abs(lower), np.abs(upper))
        least, largest = accuracy.limits(x)
        lower = np.maximum(lower - accuracy.error(lower, magnitude, x.magnitude), least)
        upper = np.minimum(upper + accuracy.error(upper, magnitude, x.magnitude), largest)
        # An operand outside of the domain has no limits.
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
        least, largest = accuracy.special(x)
        lower, upper = np.minimum(lower, least), np.maximum(upper, largest)
    return format_of(node).held(lower, upper, nan=nan or accuracy.nan(x))


def reciprocal(node: Node) -> Sequence[Interval]:
    """Of 0 it is an infinity of either sign."""
    x = operand(node, 0)
    if x.has_zero:
        return [Interval.of(-math.inf, math.inf, nan=x.nan)]
    with np.errstate(all="ignore"):
        return [_measured(node, x, 1 / x.upper, 1 / x.lower)]


def softplus(node: Node) -> Sequence[Interval | None]:
    """The logarithm of exp(x) + 1.

    Where ONNX Runtime has no kernel of a type, as of double and float16 in version 18 of the opset,
    it computes just that, and the exponential overflows.
    """
    found = monotonic(lambda x: np.logaddexp(0.0, x))(node)
    require(node.result_type(0) == "float", "the exponential may overflow")
    return found


def rectified(node: Node) -> Sequence[Interval]:
    """Relu: the numbers above zero."""
    x = operand(node, 0)
    return [Interval(np.maximum(x.lower, 0), np.maximum(x.upper, 0), x.nan)]


def negated(node: Node) -> Sequence[Interval]:
    """Neg: the ends with the other sign."""
    return [operand(node, 0).negative]


def sloped(node: Node) -> Sequence[Interval]:
    """PRelu: the number itself, or below 0 its product with that of the other operand."""
    return [_two_sided(node, operand(node, 0), operand(node, 1))]


def leaky(node: Node) -> Sequence[Interval]:
    """The number itself, or below 0 its product with alpha."""
    return [_two_sided(node, operand(node, 0), float_attribute(node, "alpha", 0.01))]


def _two_sided(node: Node, x: Interval, slope: Interval) -> Interval:
    """The number itself, or below 0 its product with a slope of any sign."""
    below = Interval(np.minimum(x.lower, 0), np.minimum(x.upper, 0), x.nan)
    product = format_of(node).product(below, slope)
    return _joined(x, product, nan=x.infinite or slope.infinite)


def _joined(x: Interval, below: Interval, *, nan: bool) -> Interval:
    """The numbers that are not negative, and what is computed of the negative ones."""
    negative, natural = x.lower < 0, x.upper >= 0
    lower = np.where(natural, np.maximum(x.lower, 0), np.inf)
    upper = np.where(natural, x.upper, -np.inf)
    return Interval(
        np.where(negative, np.minimum(below.lower, lower), lower),
        np.where(negative, np.maximum(below.upper, upper), upper),
        x.nan or below.nan or nan,
    )


def logistic(x: Ends) -> Ends:
    """Sigmoid."""
    return np.asarray(1 / (1 + np.exp(-x)))


def error_function(x: Ends) -> Ends:
    """Erf."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def exponential(node: Node) -> Sequence[Interval]:
    """Elu, Celu and Selu: the number itself, or below 0 alpha * (exp(x) - 1); times gamma."""
    x, kind, selu = operand(node, 0), format_of(node), node.op_type == "Selu"
    alpha = float_attribute(node, "alpha", 1.6732632 if selu else 1.0)
    # Celu divides by it.
    require((alpha.lower >= kind.normal).all(), "alpha is not positive")
    exponential = kind.rounded(np.asarray(0.0), np.asarray(1.0)).at_least(0)
    below = kind.product(alpha, kind.difference(exponential, ONE))
    found = _joined(x, below, nan=x.infinite)
    if not selu:
        return [found]
    gamma = float_attribute(node, "gamma", 1.0507010)
    require(not kind.product(alpha, gamma).infinite, "infinity times 0 is NaN")
    return [kind.product(gamma, found)]


def gated(node: Node) -> Sequence[Interval]:
    """The number times a factor from 0 to 1, which is not less than -1 altogether."""
    x = operand(node, 0)
    return [_measured(node, x, np.where(x.lower >= 0, 0.0, -1.0), np.maximum(x.upper, 0))]


def linear_between(node: Node) -> Sequence[Interval]:
    """HardSigmoid: a line between 0 and 1."""
    x, kind = operand(node, 0), format_of(node)
    alpha, beta = float_attribute(node, "alpha", 0.2), float_attribute(node, "beta", 0.5)
    line = kind.sum(kind.product(alpha, x), beta)
    return [kind.held(line.lower.clip(0, 1), line.upper.clip(0, 1), nan=line.nan or x.infinite)]


def extreme(choose: Callable[[Ends, Ends], Ends]) -> IntervalRule:
    """Max and Min; a kernel may drop NaN and take another operand's number."""

    def rule(node: Node) -> Sequence[Interval]:
        operands = [operand(node, index) for index in range(node.operands)]
        if any(each.nan for each in operands):
            return [ANYTHING]
        lower, upper = operands[0].lower, operands[0].upper
        for each in operands[1:]:
            lower, upper = choose(lower, each.lower), choose(upper, each.upper)
        return [format_of(node).held(lower, upper)]

    return rule


def clipped(node: Node) -> Sequence[Interval]:
    """A kernel may take NaN for a limit; which limit wins if they cross is not relied on."""
    x, low, high = operand(node, 0), _limit(node, 1), _limit(node, 2)
    require(not low.nan and not high.nan, "a limit may be NaN")
    if x.nan or (low.upper > high.lower).any():
        return [hull([x, low, high])]
    lower = np.minimum(np.maximum(x.lower, low.lower), high.lower)
    upper = np.minimum(np.maximum(x.upper, low.upper), high.upper)
    return [Interval(lower, upper, nan=False)]


def _limit(node: Node, index: int) -> Interval:
    """A limit of a Clip; a missing one may be the largest finite number, or infinity.

    Old versions have it as an attribute, whose default is that of float for all types.
    """
    if node.given(index):
        return operand(node, index)
    name, sign = ("min", -1) if index == 1 else ("max", 1)
    given, largest = node.attribute(name), format_of(node).largest
    if given is not None and not math.isinf(given):
        return float_attribute(node, name, 0.0)
    if given is None and node.version < _CLIP_BY_OPERANDS:
        largest = min(largest, FORMATS["float"].largest)
    ends = sorted((sign * largest, sign * math.inf)) if given is None else [given] * 2
    return Interval.of(*ends)


_CLIP_BY_OPERANDS = 11
"""The first version of Clip whose limits are operands."""


def power(node: Node) -> Sequence[Interval]:
    """Whole exponents, and bases that are not negative."""
    x, exponent, kind = operand(node, 0), node.constant(1), format_of(node)
    if exponent is None or exponent.size != 1:
        return [_any_power(node, x)]
    (power,) = exponent.astype(np.float64).ravel()
    if power == 2:
        return [kind.square(x)]
    if not (power >= 0 and math.isfinite(power)):
        return [_any_power(node, x)]
    if power == int(power) and int(power) % 2 == 0:
        x = Interval(x.nearest, x.magnitude, x.nan)
    elif power != int(power) and (x.lower < 0).any():
        return [Interval.of(0, math.inf, nan=True)]
    with np.errstate(all="ignore"):
        ends = np.power(x.lower, power), np.power(x.upper, power)
    return [kind.rounded(*ends, nan=x.nan)]


def _any_power(node: Node, x: Interval) -> Interval:
    y = operand(node, 1)
    positive = bool((x.lower > 0).all())
    if not positive or x.infinite or y.infinite:
        return Interval.of(0 if positive else -math.inf, math.inf, nan=True)
    return format_of(node).rounded(*corners(x, y, np.power)).at_least(0)


def converted(node: Node) -> Sequence[Interval]:
    """Cast: numbers of another type."""
    x = operand(node, 0)
    return [format_of(node).rounded(x.lower, x.upper, nan=x.nan)]


def dequantized(node: Node) -> Sequence[Interval]:
    """The difference to the zero point, times the scale."""
    kind, scale = format_of(node), operand(node, 1).uniform
    zero = operand(node, 2).uniform if node.given(2) else ZERO
    return [kind.product(kind.difference(operand(node, 0).uniform, zero), scale)]


def scale_of_elements(node: Node) -> Sequence[Interval | None]:
    """DynamicQuantizeLinear: the scale is the spread of the elements and 0 in 255 parts, or 1."""
    x, kind = operand(node, 0).whole, format_of(node, 1)
    highest, lowest = Interval.of(0, max(x.upper, 0.0)), Interval.of(min(x.lower, 0.0), 0)
    scale = kind.quotient(kind.difference(highest, lowest), Interval.of(255, 255))
    found = hull([scale, ONE])
    return [None, Interval(np.maximum(found.lower, 0), found.upper, found.nan or x.nan), None]


def chosen(node: Node) -> Sequence[Interval]:
    """Elements of two operands; where the condition is no byte of 0 or 1, kernels give 0."""
    parts = [operand(node, 1), operand(node, 2)]
    if not holds_truths(node, 0):
        parts.append(ZERO)
    lower, upper = parts[0].lower, parts[0].upper
    for each in parts[1:]:
        lower, upper = np.minimum(lower, each.lower), np.maximum(upper, each.upper)
    return [format_of(node).held(lower, upper, nan=any(each.nan for each in parts))]

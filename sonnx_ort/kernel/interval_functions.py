"""Intervals of the results of functions of single elements."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .intervals import (
    SLACK,
    float_attribute,
    format_of,
    hull,
    is_below_its_largest,
    largest_quotient,
    operand,
    rounded,
)
from .node import Node
from .ranges import Ends, Interval
from .sizes import require

IntervalRule = Callable[[Node], Sequence[Interval | None]]
"""Gives an interval for each float result, or None for one of which nothing is known."""


def _sum(node: Node) -> Sequence[Interval]:
    a, b = operand(node, 0), operand(node, 1)
    return [added(node, a, b)]


def _difference(node: Node) -> Sequence[Interval]:
    a, b = operand(node, 0), operand(node, 1)
    if node.is_same(0, 1) and not a.nan and not a.infinite:
        return [Interval.of(0, 0)]
    found = added(node, a, Interval(-b.upper, -b.lower, b.nan))
    if is_below_its_largest(node):
        return [Interval(np.minimum(found.lower, 0), np.minimum(found.upper, 0), found.nan)]
    return [found]


def added(node: Node, a: Interval, b: Interval, *, fused: bool = False) -> Interval:
    """The sums of two intervals; `fused` if a kernel may compute them with the products before."""
    opposite = a.infinite and b.infinite
    with np.errstate(all="ignore"):
        lower, upper = a.lower + b.lower, a.upper + b.upper
        error = SLACK * format_of(node).unit * (a.magnitude + b.magnitude) if fused else 0.0
    return rounded(node, lower, upper, nan=a.nan or b.nan or opposite, error=error)


def _total(node: Node) -> Sequence[Interval]:
    """Sum and Mean of any number of operands."""
    found = operand(node, 0)
    for index in range(1, node.operands):
        found = added(node, found, operand(node, index))
    if node.op_type == "Mean":
        count = node.operands
        found = rounded(node, found.lower / count, found.upper / count, nan=found.nan)
    return [found]


def _product(node: Node) -> Sequence[Interval]:
    a, b = operand(node, 0), operand(node, 1)
    if node.is_same(0, 1):
        return [_square(node, a)]
    lower, upper = _corners(a, b, np.multiply)
    nan = (a.has_zero and b.infinite) or (b.has_zero and a.infinite)
    found = rounded(node, lower, upper, nan=a.nan or b.nan or nan)
    return [found if found.nan else _limited(found, _largest_product(node))]


def _limited(interval: Interval, largest: float) -> Interval:
    """The interval without numbers of a magnitude above one."""
    lower, upper = (ends.clip(-largest, largest) for ends in (interval.lower, interval.upper))
    return Interval(lower, upper, interval.nan)


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


def _square(node: Node, a: Interval) -> Interval:
    with np.errstate(over="ignore"):
        found = rounded(node, _nearest(a) ** 2, a.magnitude**2, nan=a.nan)
    return found.at_least(0)


def _nearest(a: Interval) -> Ends:
    """The smallest magnitude."""
    least = np.minimum(np.abs(a.lower), np.abs(a.upper))
    return np.where((a.lower <= 0) & (a.upper >= 0), 0.0, least)


def _corners(a: Interval, b: Interval, function: Callable[[Ends, Ends], Ends]) -> tuple[Ends, Ends]:
    """The smallest and the largest result of the ends of two intervals; 0 times infinity is 0."""
    with np.errstate(all="ignore"):
        found = [
            np.nan_to_num(function(x, y), nan=0.0, posinf=np.inf, neginf=-np.inf)
            for x in (a.lower, a.upper)
            for y in (b.lower, b.upper)
        ]
    lower, upper = found[0], found[0]
    for each in found[1:]:
        lower, upper = np.minimum(lower, each), np.maximum(upper, each)
    return lower, upper


def _quotient(node: Node) -> Sequence[Interval]:
    """A divisor that can be 0 gives an infinity of either sign, or NaN.

    ONNX Runtime may compute a normalization, a difference divided by a root, by another formula. In
    versions up to 1.26 its variance can be rounded to a negative number.
    """
    sources = [node.source(index) for index in (0, 1)]
    normalizes = [each and each.op_type for each in sources] == ["Sub", "Sqrt"]
    found = _divided(node, operand(node, 0), operand(node, 1), normalizes=normalizes)
    return [found if found.nan else _limited(found, largest_quotient(node, 0, node, 1))]


def _divided(node: Node, a: Interval, b: Interval, *, normalizes: bool = False) -> Interval:
    nan = a.nan or b.nan or normalizes or (a.infinite and b.infinite)
    if b.has_zero:
        return Interval.of(-math.inf, math.inf, nan=nan or a.has_zero)
    lower, upper = _corners(a, b, np.divide)
    if normalizes:
        return Interval.of(-math.inf, math.inf, nan=True)
    return rounded(node, lower, upper, nan=nan)


def _negative(node: Node) -> Sequence[Interval]:
    x = operand(node, 0)
    return [Interval(-x.upper, -x.lower, x.nan)]


def _magnitude(node: Node) -> Sequence[Interval]:
    x = operand(node, 0)
    return [Interval(_nearest(x), x.magnitude, x.nan)]


def _monotonic(
    function: Callable[[Ends], Ends],
    *,
    domain: tuple[float, float] = (-math.inf, math.inf),
    exact: bool = False,
    least: float = -math.inf,
    largest: float = 0.0,
) -> IntervalRule:
    """A function that never falls; NaN outside of its domain.

    Args:
        function: The function.
        domain: The smallest and the largest argument with a number as its result.
        exact: Whether results are not rounded.
        least: The smallest result of any kernel, however it rounds.
        largest: The largest intermediate number whose rounding may remain in the result.
    """

    def rule(node: Node) -> Sequence[Interval]:
        x = operand(node, 0)
        outside = bool(((x.lower < domain[0]) | (x.upper > domain[1])).any())
        with np.errstate(all="ignore"):
            ends = function(np.clip(x.lower, *domain)), function(np.clip(x.upper, *domain))
        error = SLACK * format_of(node).unit * largest
        found = rounded(node, *ends, nan=x.nan or outside, exact=exact, error=error)
        return [found.at_least(least)]

    return rule


def _between(lower: float, upper: float) -> IntervalRule:
    """A function of finite numbers whose results lie in an interval, and that is NaN elsewhere."""

    def rule(node: Node) -> Sequence[Interval]:
        x = operand(node, 0)
        found = rounded(node, np.asarray(lower), np.asarray(upper), nan=x.nan or x.infinite)
        return [found]

    return rule


def _rectified(node: Node) -> Sequence[Interval]:
    """A kernel may take NaN for 0."""
    x = operand(node, 0)
    return [Interval(np.maximum(x.lower, 0), np.maximum(x.upper, 0), x.nan)]


def _leaky(node: Node) -> Sequence[Interval]:
    """The number itself, or below 0 its product with alpha."""
    alpha = float_attribute(node, "alpha", 0.01)
    return [_two_sided(node, operand(node, 0), Interval.of(alpha, alpha))]


def _two_sided(node: Node, x: Interval, slope: Interval) -> Interval:
    lower, upper = _corners(
        Interval(np.minimum(x.lower, 0), np.minimum(x.upper, 0), x.nan), slope, np.multiply
    )
    above = np.maximum(x.lower, 0), np.maximum(x.upper, 0)
    negative, positive = x.lower < 0, x.upper >= 0
    least = np.where(
        positive & ~negative, above[0], np.where(positive, np.minimum(lower, 0), lower)
    )
    most = np.where(positive, np.maximum(above[1], np.where(negative, upper, 0)), upper)
    nan = x.nan or slope.nan or x.infinite or slope.infinite
    return rounded(node, least, most, nan=nan)


def _exponential(node: Node) -> Sequence[Interval]:
    """Elu, Celu and Selu: the number itself, or below 0 not less than alpha, times gamma."""
    x = operand(node, 0)
    selu = node.op_type == "Selu"
    require(node.attribute("alpha", 1.0) > 0, "alpha is not positive")
    alpha = abs(float_attribute(node, "alpha", 1.6732632 if selu else 1.0))
    gamma = abs(float_attribute(node, "gamma", 1.0507010 if selu else 1.0))
    require(gamma > 0 and math.isfinite(alpha * gamma), "its factors have no finite product")
    lower = np.where(x.lower >= 0, 0.0, -alpha * gamma)
    upper = np.maximum(x.upper, 0) * gamma + alpha * gamma
    return [rounded(node, lower, upper, nan=x.nan or x.infinite)]


def _gated(node: Node) -> Sequence[Interval]:
    """The number times a factor from 0 to 1, which is not less than -1 altogether."""
    x = operand(node, 0)
    lower = np.where(x.lower >= 0, 0.0, -1.0)
    upper = np.maximum(x.upper, 0)
    return [rounded(node, lower, upper, nan=x.nan or x.infinite)]


def _linear_between(node: Node) -> Sequence[Interval]:
    """HardSigmoid: a line between 0 and 1."""
    x = operand(node, 0)
    alpha, beta = float_attribute(node, "alpha", 0.2), float_attribute(node, "beta", 0.5)
    require(alpha >= 0, "it falls")
    with np.errstate(all="ignore"):
        ends = np.clip(alpha * x.lower + beta, 0, 1), np.clip(alpha * x.upper + beta, 0, 1)
    error = SLACK * format_of(node).unit * (1 + abs(beta))
    return [rounded(node, *ends, nan=x.nan or x.infinite, error=error)]


def _extreme(node: Node, choose: Callable[[Ends, Ends], Ends]) -> Interval:
    """A kernel may drop NaN and take another operand's number."""
    operands = [operand(node, index) for index in range(node.operands)]
    if any(each.nan for each in operands):
        return hull([each.uniform for each in operands])
    lower, upper = operands[0].lower, operands[0].upper
    for each in operands[1:]:
        lower, upper = choose(lower, each.lower), choose(upper, each.upper)
    return rounded(node, lower, upper, exact=True)


def _clipped(node: Node) -> Sequence[Interval]:
    """A kernel may take NaN for a limit; which limit wins if they cross is not relied on."""
    x, low, high = operand(node, 0), _limit(node, 1), _limit(node, 2)
    require(not low.nan and not high.nan, "a limit may be NaN")
    if (low.upper > high.lower).any():
        return [hull([x, low, high])]
    found = Interval(
        np.minimum(np.maximum(x.lower, low.lower), high.lower),
        np.minimum(np.maximum(x.upper, low.upper), high.upper),
        x.nan,
    )
    return [hull([found, low, high]) if x.nan else found]


def _limit(node: Node, index: int) -> Interval:
    """A limit of a Clip; a missing one may be the largest finite number, or infinity.

    Old versions have it as an attribute, whose default is that of float for all types.
    """
    if node.given(index):
        return operand(node, index)
    name, sign = ("min", -1) if index == 1 else ("max", 1)
    if node.attribute(name) is not None:
        return Interval.of(*[node.attribute(name)] * 2)
    ends = sorted((sign * format_of(node).largest, sign * math.inf))
    return Interval.of(*ends)


def _power(node: Node) -> Sequence[Interval]:
    """Whole exponents, and bases that are not negative."""
    x, exponent = operand(node, 0), node.constant(1)
    if exponent is None or exponent.size != 1:
        return [_any_power(node, x)]
    (power,) = exponent.astype(np.float64).ravel()
    if power == 2:
        return [_square(node, x)]
    if power < 0 or not math.isfinite(power):
        return [_any_power(node, x)]
    if power == int(power) and int(power) % 2 == 0:
        x = Interval(_nearest(x), x.magnitude, x.nan)
    elif power != int(power) and (x.lower < 0).any():
        return [Interval.of(0, math.inf, nan=True)]
    with np.errstate(all="ignore"):
        ends = np.power(x.lower, power), np.power(x.upper, power)
    return [rounded(node, *ends, nan=x.nan)]


def _any_power(node: Node, x: Interval) -> Interval:
    y = operand(node, 1)
    positive = bool((x.lower > 0).all())
    if not positive or x.infinite or y.infinite:
        return Interval.of(0 if positive else -math.inf, math.inf, nan=True)
    lower, upper = _corners(x, y, np.power)
    found = rounded(node, lower, upper, nan=x.nan or y.nan)
    return found.at_least(0)


def _converted(node: Node) -> Sequence[Interval]:
    x = operand(node, 0)
    return [rounded(node, x.lower, x.upper, nan=x.nan)]


def _dequantized(node: Node) -> Sequence[Interval]:
    """The difference to the zero point, times the scale."""
    x, scale = operand(node, 0), operand(node, 1).uniform
    zero = operand(node, 2).uniform if node.given(2) else Interval.of(0, 0)
    x = x.uniform
    difference = Interval(x.lower - zero.upper, x.upper - zero.lower, x.nan)
    lower, upper = _corners(difference, scale, np.multiply)
    return [rounded(node, lower, upper, nan=x.nan or scale.nan or scale.infinite)]


def _scale_of_elements(node: Node) -> Sequence[Interval | None]:
    """DynamicQuantizeLinear: the scale is the spread of the elements and 0 in 255 parts, or 1."""
    x = operand(node, 0).whole
    largest = max((max(x.upper, 0.0) - min(x.lower, 0.0)) / 255, 1.0)
    found = rounded(node, np.asarray(0.0), np.asarray(largest), nan=x.nan, result=1)
    return [None, found.at_least(0), None]


def _chosen(node: Node) -> Sequence[Interval]:
    x, y = operand(node, 1), operand(node, 2)
    lower, upper = np.minimum(x.lower, y.lower), np.maximum(x.upper, y.upper)
    return [rounded(node, lower, upper, nan=x.nan or y.nan, exact=True)]


FUNCTIONS: Mapping[str, IntervalRule] = {
    "Abs": _magnitude,
    "Add": _sum,
    "Asin": _monotonic(np.arcsin, domain=(-1, 1)),
    "Asinh": _monotonic(np.arcsinh),
    "Atan": _monotonic(np.arctan),
    "Cast": _converted,
    "Ceil": _monotonic(np.ceil, exact=True),
    "Celu": _exponential,
    "Clip": _clipped,
    "Cos": _between(-1, 1),
    "DequantizeLinear": _dequantized,
    "Div": _quotient,
    "DynamicQuantizeLinear": _scale_of_elements,
    "Elu": _exponential,
    "Erf": _monotonic(np.vectorize(math.erf, otypes=[np.float64]), largest=1),
    "Exp": _monotonic(np.exp, least=0),
    "Floor": _monotonic(np.floor, exact=True),
    "Gelu": _gated,
    "HardSigmoid": _linear_between,
    "HardSwish": _gated,
    "LeakyRelu": _leaky,
    "Log": _monotonic(np.log, domain=(0, math.inf)),
    "Max": lambda node: [_extreme(node, np.maximum)],
    "Mean": _total,
    "Min": lambda node: [_extreme(node, np.minimum)],
    "Mish": _gated,
    "Mul": _product,
    "Neg": _negative,
    "PRelu": lambda node: [_two_sided(node, operand(node, 0), operand(node, 1))],
    "Pow": _power,
    "Reciprocal": lambda node: [_divided(node, Interval.of(1, 1), operand(node, 0))],
    "Relu": _rectified,
    "Round": _monotonic(np.round, exact=True),
    "Selu": _exponential,
    "Sigmoid": _monotonic(lambda x: 1 / (1 + np.exp(-x)), least=0, largest=1),
    "Sign": _monotonic(np.sign, exact=True),
    "Sin": _between(-1, 1),
    "Softplus": _monotonic(lambda x: np.logaddexp(0.0, x), least=0),
    "Sqrt": _monotonic(np.sqrt, domain=(0, math.inf), least=0),
    "Sub": _difference,
    "Sum": _total,
    "Tanh": _monotonic(np.tanh, largest=1),
    "Where": _chosen,
}
"""The functions of single elements by name."""

"""Relu, LeakyRelu, Exp, Sin, Sigmoid, Tanh, Softmax and Clip.

Sources: the drafts of the working group of these names, and ericjenn/sonnx for Sin, sections on
reals and on floats; for Softmax before version 13, and bounds of one
element, ONNX. Results that are not rational are enclosed
by ball arithmetic (python-flint, the extra `oracle`).

Errors: what the drafts allow, where they say it. Of Tanh `tanh_acc.md` derives a bound from an
exponential that is off by 2 ulps; the bounds of Sigmoid and Softmax are ours, derived in the same
way from the algorithms that their drafts give. The drafts leave the accuracy of Exp and Sin open.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate, chain
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.ball_node import BallNode, mapped
from sonnx_ort.oracle.elements import encoded_elements
from sonnx_ort.oracle.functions import closely, enclosed
from sonnx_ort.oracle.intervals import ball_type
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import (
    NAN,
    POSITIVE_INFINITY,
    BinaryFormat,
    Kind,
    Number,
    floor_log2,
    largest,
    multiply_floats,
    power_of_two,
    precedes,
    upper_bound,
)
from sonnx_ort.oracle.results import (
    EXACT,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    half_a_subnormal,
    number,
    point,
    relative_error,
    tensor,
)

if TYPE_CHECKING:
    from flint import arb

_ZERO, _ONE = (number(Fraction(k)) for k in (0, 1))
_FAR = 2048
"""e to this power is infinite in every format, e to its negative rounds to zero in all."""

_TINY = number(power_of_two(-_FAR))
"""More than e to the power of -2048."""

_ANYTHING = power_of_two(2 * _FAR)
"""A reach beyond every format, so that any result is admitted."""

ULPS_OF_EXP = 2
"""The accuracy of an exponential that `tanh_acc.md` supposes of the numbers from -1 to 0."""

_BOUNDS = {
    "Exp": f"{ULPS_OF_EXP} ulps (ours: what tanh_acc.md supposes of an exponential)",
    "Sin": "2 ulps (ours: the draft gives the nearest number and leaves errors open)",
    "Sigmoid": "the algorithm of the draft with an exponential off by 2 ulps (ours)",
    "Tanh": "tanh_acc.md, the bound of the first algorithm, of an exponential off by 2 ulps",
    "Softmax": "the algorithm of the draft with an exponential off by 2 ulps (ours)",
    "LeakyRelu": "alpha may be rounded to the type before the product is (ours)",
}


def relu(node: Node) -> tuple[Elements | Result, ...]:
    """Relu: 0 below 0, else the element; NaN stays NaN."""
    x, element_type = node.exact(), node.element_type()
    if element_type is not None and node.is_of_integers():
        kept = encoded_elements([max(each, 0) for each in x.ravel().tolist()], element_type)
        return (exactly(kept.reshape(x.shape)),)
    return (_elementwise(node, lambda n: point(_ZERO if _below_zero(n) else n), EXACT),)


def leaky_relu(node: Node) -> tuple[Elements, ...]:
    """LeakyRelu: alpha times the element below 0, else the element; NaN stays NaN.

    ONNX keeps alpha as a float, which 16-bit types may round.
    """
    factor = node.factor("alpha", 0.01)
    binary = node.format()
    narrow = binary is not None and binary.precision < 24

    def leaky(x: Number) -> Enclosed:
        if not _below_zero(x):
            return point(x)
        made = multiply_floats(factor, x)
        if binary is None or not narrow:
            return point(made)
        return point(made, relative_error(2, binary) * made.magnitude + half_a_subnormal(binary))

    return (_elementwise(node, leaky, _BOUNDS["LeakyRelu"] if narrow else EXACT),)


def _below_zero(x: Number) -> bool:
    return x.negative and not x.is_zero and x.kind is not Kind.NAN


def _elementwise(node: Node, compute: Callable[[Number], Enclosed], bound: str) -> Elements:
    x = node.exact()
    made = tensor(map(compute, x.ravel().tolist()), x.shape)
    return Elements(made, node.element_type(), bound)


def exponential(x: Number) -> Enclosed:
    """E to the power x; beyond 2048 only that it is beyond all formats."""
    match x.kind:
        case Kind.NAN:
            return point(NAN)
        case Kind.INFINITE:
            return point(_ZERO if x.negative else x)
    if x.is_zero:
        return point(_ONE)
    if x.magnitude > _FAR:
        return Enclosed(_ZERO, _TINY) if x.negative else point(POSITIVE_INFINITY)
    return _enclosed(closely(lambda ball: ball.exp(), x.value))


def sine(x: Number) -> Enclosed:
    """The sine; NaN of infinities, and each zero for itself."""
    if x.kind is not Kind.FINITE:
        return point(NAN)
    return point(x) if x.is_zero else _enclosed(closely(lambda ball: ball.sin(), x.value))


def logistic(x: Number) -> Enclosed:
    """1 / (1 + e^-x)."""
    match x.kind:
        case Kind.NAN:
            return point(NAN)
        case Kind.INFINITE:
            return point(_ZERO if x.negative else _ONE)
    if x.is_zero:
        return point(number(Fraction(1, 2)))
    if x.magnitude > _FAR:
        return Enclosed(_ZERO, _TINY) if x.negative else Enclosed(number(1 - _TINY.value), _ONE)
    return _enclosed(closely(lambda ball: 1 / (1 + (-ball).exp()), x.value))


def hyperbolic_tangent(x: Number) -> Enclosed:
    """The hyperbolic tangent; each zero for itself."""
    if x.kind is Kind.NAN or x.is_zero:
        return point(x)
    if x.kind is Kind.FINITE and x.magnitude <= _FAR:
        return _enclosed(closely(lambda ball: ball.tanh(), x.value))
    if x.kind is Kind.INFINITE:
        return point(number(Fraction(-1 if x.negative else 1)))
    near = number(1 - _TINY.value)
    return (
        Enclosed(number(Fraction(-1)), number(-near.value)) if x.negative else Enclosed(near, _ONE)
    )


def _enclosed(ends: tuple[Fraction, Fraction]) -> Enclosed:
    return Enclosed(number(ends[0]), number(ends[1]))


def ulps(made: Enclosed, count: int, binary: BinaryFormat) -> Fraction:
    """So many units in the last place of an element of a format."""
    magnitude = max(made.lower.magnitude, made.upper.magnitude)
    exponent = floor_log2(magnitude) if magnitude else binary.smallest_exponent
    spacing = max(exponent, binary.smallest_exponent) - binary.precision + 1
    return count * power_of_two(spacing)


def error_of_exponential(_: Number, made: Enclosed, binary: BinaryFormat) -> Fraction:
    """The error of Exp, and of Sin."""
    return ulps(made, ULPS_OF_EXP, binary)


def error_of_logistic(x: Number, made: Enclosed, binary: BinaryFormat) -> Fraction:
    """The error of Sigmoid: an exponential e off by 2 ulps, 1 + e, and a quotient.

    Both are relative: 4 u e / (1 + e) of the sum and, below 0, 4 u of the numerator; 2 u of the
    operations.
    """
    del x
    roundings = relative_error(2 * ULPS_OF_EXP * 2 + 2, binary)
    return roundings * upper_bound(made.upper.magnitude) + 6 * half_a_subnormal(binary)


def error_of_tangent(x: Number, made: Enclosed, binary: BinaryFormat) -> Fraction:
    """The error of Tanh: the general formula of `tanh_acc.md`, "non-optimised Exp"."""
    distance = min(x.magnitude, Fraction(_FAR))
    doublings = max(0, floor_log2(2 * distance) + 1) if distance else 0
    tangent = max(made.lower.magnitude, made.upper.magnitude)

    def bound(distance: "arb", tangent: "arb", u: "arb") -> "arb":
        return bound_of_tangent((-2 * distance).exp(), doublings, tangent, u)

    unit = power_of_two(-binary.precision)
    return enclosed(bound, 64, distance, tangent, unit)[1] + half_a_subnormal(binary)


def bound_of_tangent(power: "arb", doublings: int, tangent: "arb", u: "arb") -> "arb":
    """The formula itself: `power` is e^-2|x|, and u the unit roundoff."""
    accuracy = (4 + doublings) * u
    above = accuracy * 2 * power * (1 + u) + 2 * u * (1 - power**2)
    below = (1 + power) * ((1 + power) * (1 - u) - accuracy * power * (1 + u))
    return above / below * (1 + u) + u * tangent


Error = Callable[[Number, Enclosed, BinaryFormat], Fraction]
FUNCTIONS: dict[str, tuple[Callable[[Number], Enclosed], Error]] = {
    "Exp": (exponential, error_of_exponential),
    "Sin": (sine, error_of_exponential),
    "Sigmoid": (logistic, error_of_logistic),
    "Tanh": (hyperbolic_tangent, error_of_tangent),
}
"""The functions of floats, and the errors that are admitted."""


def function(operator: str) -> Callable[[Node], tuple[Elements, ...]]:
    """What computes one of `FUNCTIONS` element by element."""
    compute, error = FUNCTIONS[operator]

    def of_node(node: Node) -> tuple[Elements, ...]:
        binary = node.format()

        def of_element(x: Number) -> Enclosed:
            made = compute(x)
            if binary is None or made.upper.kind is not Kind.FINITE or x.kind is not Kind.FINITE:
                return made
            return Enclosed(made.lower, made.upper, error(x, made, binary))

        return (_elementwise(node, of_element, _BOUNDS[operator]),)

    return of_node


def softmax(node: Node) -> tuple[Elements, ...]:
    """Softmax: the exponential of each element by the sum of those along an axis.

    All of a line is NaN if any element of it is NaN or infinity; otherwise -inf gives 0, also on a
    line of nothing else. Before version 13 the axes from `axis` on count as one.

    Raises:
        NotDefinedError: There is no such axis.
    """
    x = node.exact()
    together = node.version < 13
    axis = node.axis(1 if together else -1)
    lines = np.moveaxis(x, axis, -1) if not together else x
    length = int(np.prod(x.shape[axis:])) if together else x.shape[axis]
    flat = lines.reshape(-1, length) if length else lines.reshape(0, 1)
    made = tensor(chain(*(_shares(node, line) for line in flat.tolist())), lines.shape)
    elements = made if together else np.moveaxis(made, -1, axis)
    return (Elements(elements, node.element_type(), _BOUNDS["Softmax"]),)


def _shares(node: Node, line: Sequence[Any]) -> Iterable[Any]:
    if isinstance(node, BallNode):
        return _shares_of_balls(node, line)
    top = largest(*line)
    if top.kind is not Kind.FINITE:
        masked = top.kind is Kind.INFINITE and top.negative
        return [point(_ZERO if masked else NAN)] * len(line)
    depths = [None if e.kind is Kind.INFINITE else top.value - e.value for e in line]
    weights = [point(_ZERO) if d is None else exponential(number(-d)) for d in depths]
    return _quotients(weights, depths, node.format())


def _shares_of_balls(node: BallNode, line: "Sequence[arb]") -> "list[arb]":
    """The exponentials by their sum, of the differences to a number that all share.

    In a format it is the largest element. Over the reals any number may stand in its place, and
    each exponential is taken apart from the others in its divisor: 1 by 1 plus the others by it.
    """
    ball = ball_type()
    top = reduce(lambda a, b: a.max(b), line)
    if node.binary is None:
        weights = [(each - ball(top.mid())).exp() for each in line]
        shares = [1 / (1 + others / w) for w, others in zip(weights, _others(weights), strict=True)]
    else:
        depths = [node.rounded((top - each).max(0), 2) for each in line]
        weights = [node.rounded((-d).exp(), 2 * ULPS_OF_EXP).max(0).min(2) for d in depths]
        whole: Any = sum(weights)
        divisor = node.rounded(whole, len(line), reach=whole)
        shares = [node.rounded(weight / divisor, 4) for weight in weights]
    # A divisor that may be 0 leaves the share open.
    return [share if share.is_finite() else ball(0).union(ball(1)) for share in shares]


def _others(weights: "Sequence[arb]") -> list[Any]:
    """For each element the sum of the others."""
    zero = ball_type()(0)
    before, behind = ([zero, *accumulate(ordered)] for ordered in (weights[:-1], weights[:0:-1]))
    return [sum(pair) for pair in zip(before, reversed(behind), strict=True)]


def _quotients(
    weights: Sequence[Enclosed], depths: Sequence[Fraction | None], binary: BinaryFormat | None
) -> Iterable[Enclosed]:
    lower, upper = (sum((e.value for e in ends), Fraction(0)) for ends in _columns(weights))
    if binary is None:
        for weight in weights:
            yield _enclosed((weight.lower.value / upper, weight.upper.value / lower))
        return
    errors = [_error_of_weight(*pair, binary) for pair in zip(weights, depths, strict=True)]
    missed = sum(errors, Fraction(0))
    missed = upper_bound(missed + relative_error(len(weights), binary) * (upper + missed))
    if missed >= lower:
        yield from (Enclosed(NAN, NAN, reach=_ANYTHING) for _ in weights)
        return
    quotient = relative_error(3, binary)
    for weight, error in zip(weights, errors, strict=True):
        low, high = weight.lower.value / upper, weight.upper.value / lower
        least = (weight.lower.value - error) / (upper + missed) * (1 - quotient)
        most = (weight.upper.value + error) / (lower - missed) * (1 + quotient)
        distance = max(low - least, most - high) + 2 * half_a_subnormal(binary)
        yield Enclosed(number(low), number(high), distance, upper + missed)


def _columns(weights: Sequence[Enclosed]) -> tuple[list[Number], list[Number]]:
    return [w.lower for w in weights], [w.upper for w in weights]


def _error_of_weight(weight: Enclosed, depth: Fraction | None, binary: BinaryFormat) -> Fraction:
    """The error of the exponential of a rounded difference."""
    if depth is None or depth == 0:
        return Fraction(0)
    turned = depth * power_of_two(-binary.precision)
    if turned > 1:
        return power_of_two(-min(floor(depth), _FAR))
    # e^t - 1 is below 1.72 t for t up to 1; the rest of 1.75 t covers the product of both errors.
    relative = Fraction(7, 4) * turned + 2 * ULPS_OF_EXP * power_of_two(-binary.precision)
    underflow = 2 * ULPS_OF_EXP * half_a_subnormal(binary)
    return relative * upper_bound(weight.upper.value) + underflow


def clip(node: Node) -> tuple[Elements | Result, ...]:
    """Clip: an element, or the bound that it lies beyond; the upper one if the lower is above it.

    NaN lies beyond no bound, and bounds nothing. Before version 11 bounds are attributes.

    Raises:
        NotDefinedError: A bound has not one element.
    """
    x, element_type = node.exact(), node.common_type(0, 1, 2)
    lowest, highest = (_bound(node, *named) for named in ((1, "min"), (2, "max")))

    if isinstance(node, BallNode):
        if lowest is not None:
            x = mapped(lambda each: each.max(lowest), x)
        return (Elements(x if highest is None else mapped(lambda e: e.min(highest), x), None),)

    crossed = lowest is not None and highest is not None and precedes(highest, lowest)

    def clipped(element: Any) -> Any:
        if crossed:
            return highest
        if lowest is not None and precedes(element, lowest):
            element = lowest
        return highest if highest is not None and precedes(highest, element) else element

    flat = [clipped(element) for element in x.ravel().tolist()]
    if element_type is not None and node.is_of_integers():
        return (exactly(encoded_elements(flat, element_type).reshape(x.shape)),)
    return (Elements(tensor(map(point, flat), x.shape), element_type),)


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

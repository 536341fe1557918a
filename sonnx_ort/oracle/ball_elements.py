"""Element-wise operators on balls, which broadcast as ONNX says.

Errors of a format: those that `activations`, `enclosure` and `recurrent` admit, and one rounding of
the bound more, as `results` admits it. Of a monotone function both ends of a ball are evaluated.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.activations import ULPS_OF_EXP, bound_of_tangent, clip
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
    alike,
    are_balls,
    balls,
    mapped,
    size_of_result,
)
from sonnx_ort.oracle.functions import exact_end
from sonnx_ort.oracle.intervals import ball_type
from sonnx_ort.oracle.numbers import FLOAT_FORMATS, BinaryFormat, floor_log2
from sonnx_ort.oracle.recurrent import Kernel
from sonnx_ort.oracle.results import UNITS
from sonnx_ort.profile.element_type import ElementType

if TYPE_CHECKING:
    from flint import arb

_FAR = 2048
"""Beyond it the hyperbolic tangent changes by nothing that a format has."""

FLOAT_PRECISION = FLOAT_FORMATS[ElementType.FLOAT].precision
"""The precision of the narrowest format in which kernels compute without a wider one."""

_TOO_CLOSE = "two elements are too close to be compared"
_EVEN = 2

OfElements = Callable[..., Any]
"""Computes an element of the result, given the node and one element of each operand."""


def _by(compute: OfElements) -> Operation:
    """What computes element by element."""

    def of_node(node: BallNode) -> tuple[Array, ...]:
        return (mapped(lambda *elements: compute(node, *elements), *node.given()),)

    return Operation(of_node, size_of_result)


def divided(node: BallNode, a: "arb | int", b: "arb") -> "arb":
    """The quotient.

    Raises:
        NotFollowedError: The divisor may be 0.
    """
    if not b != 0:
        raise NotFollowedError("a divisor may be 0")
    return node.rounded(a / b)


def truncated(x: "arb") -> Any:
    """The integer without the fraction; None if the numbers of a ball have several."""
    if not x.is_finite():
        return None
    ends = [(e.floor() if e >= 0 else e.ceil()).unique_fmpz() for e in (x.lower(), x.upper())]
    return ends[0] if ends[0] == ends[1] else None


def _remainder(node: BallNode, a: "arb", b: "arb") -> "arb":
    """What is left of a quotient, truncated if `fmod` is set, floored if not."""
    if not b != 0:
        raise NotFollowedError("a divisor may be 0")
    quotient = a / b
    whole = truncated(quotient) if node.integer("fmod", 0) else quotient.floor().unique_fmpz()
    if whole is None:
        raise NotFollowedError("a quotient is too close to an integer")
    return node.rounded(a - whole * b)


def _square_root(node: BallNode, x: "arb") -> "arb":
    if not x >= 0:
        raise NotFollowedError("a radicand may be negative")
    return node.rounded(x.sqrt())


def _logarithm(node: BallNode, x: "arb") -> "arb":
    if not x > 0:
        raise NotFollowedError("the operand of a logarithm may be 0 or negative")
    return node.rounded(x.log(), _roundings("Log", node.binary))


def _angle(node: BallNode, x: "arb") -> "arb":
    if not (x >= -1 and x <= 1):
        raise NotFollowedError("the operand of an arc cosine may be outside [-1, 1]")
    return node.rounded(x.acos(), _roundings("Acos", node.binary))


def _roundings(operator: str, binary: BinaryFormat | None) -> int:
    """The roundings that are as much as rounding once, and then being off by some `UNITS`."""
    types = [kind for kind, each in FLOAT_FORMATS.items() if each == binary]
    return 2 * max((UNITS.get((operator, kind), 0) for kind in types), default=0) + 1


def _even_power(x: "arb", exponent: "arb") -> "arb":
    """An even power; that of Arb is below 0 too, where a ball is on both sides of it."""
    if x.is_exact():
        return x**exponent
    size = _magnitude(x)
    ends = [end.max(0) ** exponent for end in (size.lower(), size.upper())]
    return ends[0].union(ends[1])


def _power(node: BallNode, x: "arb", y: "arb | int") -> "arb":
    exponent = ball_type()(y)
    whole = exponent.unique_fmpz() if exponent.is_exact() and exponent.is_integer() else None
    if whole is not None and (whole >= 0 or x != 0):
        even = _even_power(x, exponent - whole % _EVEN)
        made = even if whole % _EVEN == 0 else x * even
    elif x > 0:
        made = x**exponent
    elif x == 0 and exponent > 0:
        made = exponent * 0
    else:
        raise NotFollowedError("the base of a power may be 0 or negative")
    return node.rounded(made, _roundings("Pow", node.binary))


def _magnitude(x: "arb") -> "arb":
    """The absolute value; that of Arb is below 0 too, where a ball is on both sides of it."""
    if x >= 0 or x <= 0:
        return abs(x)
    return x.abs_upper().union(x * 0)


def _parametric(node: BallNode, x: "arb", slope: "arb") -> "arb":
    return _leaking(x, node.rounded(slope * x.min(0)))


def _leaky(node: BallNode) -> tuple[Array, ...]:
    """LeakyRelu: a 16-bit type may round alpha before the product."""
    narrow = node.binary is not None and node.binary.precision < FLOAT_PRECISION
    alpha, roundings = node.factor("alpha", 0.01), 3 if narrow else 1
    x = node.operand(0)
    return (mapped(lambda e: _leaking(e, node.rounded(alpha * e.min(0), roundings)), x),)


def _leaking(x: "arb", below: "arb") -> "arb":
    """An element that is not below 0, or else the product that takes its place."""
    if x >= 0:
        return x
    return below if x < 0 else x.max(0).union(below)


def _function(compute: "Callable[[arb], arb]", roundings: int) -> Operation:
    """A function of which an error as of so many roundings is admitted."""
    return _by(lambda node, x: node.rounded(compute(x), roundings))


def _unbounded(operator: str, compute: "Callable[[arb], arb]") -> Operation:
    """A function of whose errors no bound is known."""

    def of_element(node: BallNode, x: "arb") -> "arb":
        node.unbounded(operator)
        return compute(x)

    return _by(of_element)


def _tangent(node: BallNode, x: "arb") -> "arb":
    """Tanh, with the formula of its error evaluated on balls."""
    ball = ball_type()
    made: arb = Kernel(None).activated("Tanh", x)
    if node.binary is None:
        return made
    distance = abs(x).min(_FAR)
    most = exact_end((2 * distance).upper())
    doublings = max(0, floor_log2(most) + 1) if most > 0 else 0
    unit = ball(2) ** -node.binary.precision
    bound = bound_of_tangent((-2 * distance).exp(), doublings, abs(made), unit)
    return node.rounded(made + ball(0, bound.upper()))


def _hard_sigmoid(node: BallNode) -> tuple[Array, ...]:
    alpha, beta = node.factor("alpha", 0.2), node.factor("beta", 0.5)

    def of_element(x: "arb") -> "arb":
        return node.rounded(alpha * x + beta, 4, abs(alpha * x) + abs(beta)).max(0).min(1)

    return (mapped(of_element, node.operand(0)),)


def _gelu(node: BallNode) -> tuple[Array, ...]:
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


def _larger(a: "arb", b: "arb") -> "arb":
    return a.max(b)


def _smaller(a: "arb", b: "arb") -> "arb":
    return a.min(b)


def _compared(sure: OfElements, sure_not: OfElements) -> Operation:
    """A comparison, of which a ball may leave open what it gives."""

    def of_element(_: BallNode, a: "arb", b: "arb") -> bool:
        if sure(a, b):
            return True
        if sure_not(a, b):
            return False
        raise NotFollowedError(_TOO_CLOSE)

    def of_node(node: BallNode) -> tuple[Array, ...]:
        made = mapped(lambda a, b: of_element(node, a, b), *node.given())
        return (made.astype(np.bool_),)

    return Operation(of_node, size_of_result)


def _where(node: BallNode) -> tuple[Array, ...]:
    condition = node.known(0)
    if are_balls(node.operand(1)) or are_balls(node.operand(2)):
        x, y = (balls(node.operand(place)) for place in (1, 2))
    else:
        x, y = node.operand(1), node.operand(2)
    return (np.where(*alike(condition, x, y)),)


def _extreme(compute: OfElements) -> Operation:
    def of_node(node: BallNode) -> tuple[Array, ...]:
        return (mapped(lambda *elements: reduce(compute, elements), *node.given()),)

    return Operation(of_node, lambda node: size_of_result(node) * len(node.given()))


def _exact_element(compute: OfElements) -> Operation:
    """An operator whose results are in the format of its operands."""
    return _by(lambda _, *elements: compute(*elements))


def size_of_first(node: BallNode) -> int:
    """The number of elements of the first operand."""
    return node.operand(0).size


ELEMENTWISE: Mapping[str, Operation] = MappingProxyType(
    {
        "Abs": _exact_element(_magnitude),
        "Acos": _by(_angle),
        "Add": _by(lambda node, a, b: node.rounded(a + b)),
        "Ceil": _exact_element(lambda x: x.ceil()),
        "Clip": Operation(clip, size_of_first),
        "Cos": _unbounded("Cos", lambda x: x.cos()),
        "Div": _by(divided),
        "Equal": _compared(lambda a, b: a == b, lambda a, b: a != b),
        "Erf": _unbounded("Erf", lambda x: x.erf()),
        "Exp": _function(lambda x: x.exp(), 2 * ULPS_OF_EXP + 1),
        "Floor": _exact_element(lambda x: x.floor()),
        "Gelu": Operation(_gelu, size_of_first),
        "Greater": _compared(lambda a, b: a > b, lambda a, b: a <= b),
        "GreaterOrEqual": _compared(lambda a, b: a >= b, lambda a, b: a < b),
        "HardSigmoid": Operation(_hard_sigmoid, size_of_first),
        "LeakyRelu": Operation(_leaky, size_of_first),
        "Less": _compared(lambda a, b: a < b, lambda a, b: a >= b),
        "LessOrEqual": _compared(lambda a, b: a <= b, lambda a, b: a > b),
        "Log": _by(_logarithm),
        "Max": _extreme(_larger),
        "Min": _extreme(_smaller),
        "Mod": _by(_remainder),
        "Mul": _by(lambda node, a, b: node.rounded(a * b)),
        "Neg": _exact_element(lambda x: -x),
        "Not": Operation(lambda node: (~node.known(0),), size_of_first, exact=True),
        "PRelu": _by(_parametric),
        "Pow": _by(_power),
        "Reciprocal": _by(lambda node, x: divided(node, 1, x)),
        "Relu": _exact_element(lambda x: x.max(0)),
        "Sigmoid": _function(lambda x: Kernel(None).activated("Sigmoid", x), 4 * ULPS_OF_EXP + 3),
        "Sin": _function(lambda x: x.sin(), 2 * ULPS_OF_EXP + 1),
        "Sqrt": _by(_square_root),
        "Sub": _by(lambda node, a, b: node.rounded(a - b)),
        "Tanh": _by(_tangent),
        "Where": Operation(_where, size_of_result, moves=True, exact=True),
    }
)
"""The element-wise operators, and those on single elements."""

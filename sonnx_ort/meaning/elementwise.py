"""The element-wise operators, whose operands are broadcast to each other.

Broadcasting is that of ONNX; the profile's rules on shapes and on the operands of `Broadcast` are
narrower. Elements outside the domain of an operator have no defined result.

Errors: what the drafts allow, where they say it, and what was measured of ONNX Runtime. Of Tanh
`tanh_acc.md` derives a bound from an exponential that is off by 2 ulps; the bound of Sigmoid is
ours, derived in the same way from the algorithm that its draft gives. The drafts leave the accuracy
of Exp and Sin open. Operators without a draft are ONNX's, which leaves the accuracy of Erf and
Softplus open.
"""

import operator as python
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import trunc
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.meaning import comparison, division, functions
from sonnx_ort.meaning.balls import ball_of, exact_end, precisely
from sonnx_ort.meaning.domains import domain
from sonnx_ort.meaning.node import BallNode, Node, are_balls, balls, broadcast, mapped
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    ZERO,
    Array,
    Attributes,
    BinaryFormat,
    Exact,
    Number,
    converted,
    encoded_elements,
    exact_elements,
    floor_log2,
    power_of_two,
    spacing,
    tensor,
    type_numbered,
)
from sonnx_ort.meaning.origins import measured
from sonnx_ort.meaning.results import (
    EXACT,
    UNDEFINED,
    UNITS,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    between,
    equal_elements,
    exactly,
    half_a_subnormal,
    mask,
)
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

if TYPE_CHECKING:
    from flint import arb

Computation = Callable[..., Any]
"""Computes one exact element, which is then rounded or taken modulo 2^n once."""

ULPS_OF_EXP = 2
"""The accuracy of an exponential that `tanh_acc.md` supposes of the numbers from -1 to 0."""


_ON_NUMBERS: Mapping[str, Computation] = {
    "Abs": functions.magnitude,
    "Add": python.add,
    "Equal": comparison.equal,
    "Greater": lambda a, b: comparison.less(b, a),
    "GreaterOrEqual": lambda a, b: comparison.less_or_equal(b, a),
    "Less": comparison.less,
    "LessOrEqual": comparison.less_or_equal,
    "Mul": python.mul,
    "Neg": python.neg,
    "PRelu": functions.p_relu,
    "Sub": python.sub,
    "Where": lambda condition, x, y: x if condition else y,
}
"""What is one computation of floats, balls and integers."""

_ON_FLOATS: Mapping[str, Computation] = {
    **_ON_NUMBERS,
    "Acos": functions.arc_cosine,
    "Ceil": lambda x: x.ceil(),
    "Cos": lambda x: x.cos(),
    "Div": division.divide,
    "Erf": functions.error_function,
    "Exp": functions.exponential,
    "Floor": lambda x: x.floor(),
    "LeakyRelu": functions.p_relu,
    "Log": functions.logarithm,
    "Max": comparison.largest,
    "Min": comparison.smallest,
    "Mod": division.floored_remainder,
    "Pow": functions.power,
    "Reciprocal": division.reciprocal,
    "Relu": functions.relu,
    "Sigmoid": functions.logistic,
    "Sin": functions.sine,
    "Softplus": functions.soft_plus,
    "Sqrt": functions.square_root,
    "Tanh": functions.hyperbolic_tangent,
}
_ON_INTEGERS: Mapping[str, Computation] = {
    **_ON_NUMBERS,
    "BitShift": python.lshift,
    "BitwiseAnd": python.and_,
    "BitwiseOr": python.or_,
    "BitwiseXor": python.xor,
    "Div": functions.divide_integers,
    "Max": lambda *operands: max(operands),
    "Min": lambda *operands: min(operands),
    "Mod": python.mod,
    "Pow": python.pow,
    "Relu": lambda x: max(x, 0),
}
_ON_CONDITIONS: Mapping[str, Computation] = {
    "And": python.and_,
    "Equal": comparison.equal,
    "Or": python.or_,
    "Xor": python.xor,
}

_COMPUTATIONS: Mapping[Family, Mapping[str, Computation]] = {
    Family.FLOAT: _ON_FLOATS,
    Family.INTEGER: _ON_INTEGERS,
    Family.BOOLEAN: _ON_CONDITIONS,
}
_NARROW = frozenset({ElementType.FLOAT16, ElementType.BFLOAT16})
"""Types to which a Cast may convert wider numbers through float, rounding twice."""

_COMPARISONS = frozenset({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})

_IN_THE_FORMAT = frozenset({"Abs", "Ceil", "Floor", "Max", "Min", "Neg", "Relu"})
"""The operators whose results are in the format of their operands."""

_UNBOUNDED = frozenset({"Cos"})
"""The functions of whose errors no bound is known."""

_OF_BALLS = frozenset({"Ceil", "Cos", "Floor"})
"""The operators without a document of SONNX, which have a meaning for balls alone."""

_PASSING_ON = frozenset({"LeakyRelu", "PRelu", "Relu", "Sin"})
"""The operators whose documents give some elements as they are."""

_FUNCTIONS = frozenset({"Erf", "Exp", "LeakyRelu", "Relu", "Sigmoid", "Sin", "Softplus", "Tanh"})
"""The functions of one operand, which are defined for all elements."""

OPERATORS = (
    frozenset(name for computations in _COMPUTATIONS.values() for name in computations) | {"Cast"}
) - (_OF_BALLS | _FUNCTIONS)
"""The element-wise operators that broadcast, or have a domain."""

_BOUNDS: Mapping[str, str] = {
    "Erf": "2 ulps (ours: ONNX leaves errors open)",
    "Exp": f"{ULPS_OF_EXP} ulps (ours: what tanh_acc.md supposes of an exponential)",
    "Sin": "2 ulps (ours: the draft gives the nearest number and leaves errors open)",
    "Sigmoid": "the algorithm of the draft with an exponential off by 2 ulps (ours)",
    "Softplus": "the algorithm max(X, 0) + log1p(exp(-abs(X))), its functions off by 2 ulps (ours)",
    "Tanh": "tanh_acc.md, the bound of the first algorithm, of an exponential off by 2 ulps",
    "LeakyRelu": "alpha may be rounded to the type before the product is (ours)",
}


def elementwise(operator: str) -> Callable[[Node], tuple[Elements | Result | Array, ...]]:
    """What computes one of the element-wise operators."""

    def of_node(node: Node) -> tuple[Elements | Result | Array, ...]:
        compute = _computation_of(operator, node)
        if isinstance(node, BallNode):
            return (_of_balls(operator, compute, node),)
        return (_of_elements(operator, compute, node),)

    return of_node


def _computation_of(operator: str, node: Node) -> Computation:
    element_type = operand_type(operator, node) or ElementType.FLOAT
    compute = computation(operator, element_type, node.edition, node.attributes)
    return (
        partial(compute, slope=node.factor("alpha", 0.01)) if operator == "LeakyRelu" else compute
    )


def _of_elements(operator: str, compute: Computation, node: Node) -> Elements | Result:
    spread = _broadcast(operator, node)
    places = list(zip(*(each.ravel().tolist() for each in spread), strict=True))
    shape = spread[0].shape
    element_type = operand_type(operator, node)
    if element_type is None:
        return Elements(tensor((Enclosed(compute(*place)) for place in places), shape), None)
    of_result = result_type(operator, element_type, node.attributes)
    bounds = domain(operator, element_type, of_result)
    broken = [bounds.broken(place) for place in places]
    rules = sorted({rule.named(node.edition) for rule in broken if rule is not None})
    reason = f"the operands break {' and '.join(rules)}" if rules else ""
    if of_result.family is Family.FLOAT and operator != "Cast":
        finish = partial(_enclosed, operator, node)
        pairs = zip(broken, places, strict=True)
        made = (UNDEFINED if rule else finish(compute(*place), *place) for rule, place in pairs)
        units = UNITS.get((operator, element_type), 0)
        bound = measured(operator, element_type) or _BOUNDS.get(operator, EXACT)
        return Elements(tensor(made, shape), of_result, bound, reason, units)
    zero = ZERO if of_result.family is Family.FLOAT else 0
    pairs = zip(broken, places, strict=True)
    exact = tensor((zero if rule else compute(*place) for rule, place in pairs), shape)
    nearest = encoded_elements(exact, of_result)
    undefined = mask((rule is not None for rule in broken), shape)
    if operator == "Cast" and of_result in _NARROW:
        through = exact_elements(encoded_elements(exact, ElementType.FLOAT), ElementType.FLOAT)
        return _rounded_once_or_twice(nearest, encoded_elements(through, of_result))
    return exactly(nearest, undefined, reason)


def _rounded_once_or_twice(nearest: Array, twice: Array) -> Result:
    """The result of a Cast to 16 bits, which may go through float."""
    if equal_elements(nearest, twice).all():
        return exactly(nearest)
    with np.errstate(invalid="ignore"):
        ends = [np.where(s, nearest, twice) for s in (nearest < twice, nearest >= twice)]
    nothing = np.zeros(nearest.shape, np.bool_)
    return Result(nearest, between(*ends), nothing, "a float may be rounded before (ours)")


def _enclosed(operator: str, node: Node, made: Any, x: Any, *_: Any) -> Any:
    """An element with the error that is admitted of it; none of what is not finite."""
    binary = node.format() if operator in _BOUNDS else None
    unchanged = operator in _PASSING_ON and made is x
    if binary is None or unchanged or not x.is_finite:
        return Enclosed(made, passed_on=unchanged)
    return node.rounded(made, **_error(operator, binary, made, x))


def _of_balls(operator: str, compute: Computation, node: BallNode) -> Array:
    """The balls of an operator, or the bools of a comparison."""
    if operator == "Where":
        return _selected_balls(node)
    if operator in _COMPARISONS:
        return mapped(compute, *node.given()).astype(np.bool_)
    if operator in _UNBOUNDED:
        node.unbounded(operator)
    binary = node.binary
    if binary is None or operator in _IN_THE_FORMAT:
        return mapped(compute, *node.given())
    # An error of some units is as much as of twice as many roundings.
    types = [element_type for element_type, each in FLOAT_FORMATS.items() if each == binary]
    roundings = 2 * max((UNITS.get((operator, each), 0) for each in types), default=0)

    def of_elements(x: "arb", *others: Any) -> "arb":
        made = compute(x, *others)
        if made is x:
            return made
        bound = _error(operator, binary, made, x) or {"roundings": roundings}
        return node.rounded(made, **bound)

    return mapped(of_elements, *node.given())


def _selected_balls(node: BallNode) -> Array:
    condition, *others = node.known(0), node.operand(1), node.operand(2)
    if any(map(are_balls, others)):
        others = list(map(balls, others))
    return np.where(*broadcast(condition, *others))


def _error(operator: str, binary: BinaryFormat, made: Any, x: Any) -> dict[str, Any]:
    """The error of a function, as `Node.rounded` takes it; empty for other operators."""
    match operator:
        case "Erf" | "Exp" | "Sin":
            return {"error": error_of_exponential(made, binary)}
        case "Sigmoid":
            # An exponential e is off by 2 ulps, which are 4 u e / (1 + e) of the sum 1 + e and,
            # below 0, 4 u of the numerator; the operations are off by 2 u.
            return {"roundings": 2 * ULPS_OF_EXP * 2 + 2, "underflow": 6}
        case "Softplus":
            # The exponential e and log1p are each off by 2 ulps, which are 4 u; a share of e
            # changes log1p(e) by no larger share. The sum is the last rounding.
            return {"roundings": 2 * (2 * ULPS_OF_EXP), "underflow": 2 * (2 * ULPS_OF_EXP)}
        case "Tanh":
            return {"error": error_of_tangent(made, x, binary)}
        case "LeakyRelu" if is_narrow(binary):
            return {"roundings": 2, "underflow": 1}
    return {}


def is_narrow(binary: BinaryFormat) -> bool:
    """Whether kernels may compute in a wider format."""
    return binary.precision < FLOAT_FORMATS[ElementType.FLOAT].precision


def error_of_exponential(made: Any, binary: BinaryFormat) -> Fraction:
    """The error of Exp, Sin and Erf: so many units in the last place of the larger end."""
    return ULPS_OF_EXP * spacing(functions.highest(made), binary)


def error_of_tangent(made: Any, x: Any, binary: BinaryFormat) -> Fraction:
    """The error of Tanh: the general formula of `tanh_acc.md`, "non-optimised Exp"."""
    with precisely():
        distance = ball_of(x.magnitude) if isinstance(x, Number) else abs(x)
        distance = distance.min(functions.FAR)
        most = 2 * exact_end(distance.upper())
        doublings = max(0, floor_log2(most) + 1) if most > 0 else 0
        unit = ball_of(power_of_two(-binary.precision))
        tangent = ball_of(functions.highest(made))
        bound = bound_of_tangent((-2 * distance).exp(), doublings, tangent, unit)
        return exact_end(bound.upper()) + half_a_subnormal(binary)


def bound_of_tangent(power: "arb", doublings: int, tangent: "arb", u: "arb") -> "arb":
    """The formula itself: `power` is e^-2|x|, and u the unit roundoff."""
    accuracy = (4 + doublings) * u
    above = accuracy * 2 * power * (1 + u) + 2 * u * (1 - power**2)
    below = (1 + power) * ((1 + power) * (1 - u) - accuracy * power * (1 + u))
    return above / below * (1 + u) + u * tangent


def operand_type(operator: str, node: Node) -> ElementType | None:
    """The type of the operands; of a Where that of X and Y, of a Pow that of the base.

    None over the reals.

    Raises:
        ValueError: The operands have several types, which the operator does not support.
    """
    if operator in _BOUNDS:
        node.format()
    separate = operator == "Pow" and (node.is_of_integers(1) or not node.is_of_integers(0))
    first = 1 if operator == "Where" else 0
    return node.common_type(*range(first, 1 if separate else len(node.operands)))


def _broadcast(operator: str, node: Node) -> Sequence[Exact]:
    """The exact operands in their common shape.

    The slope of a PRelu does not extend its operand.

    Raises:
        NotDefinedError: They cannot be broadcast.
    """
    operands = [node.exact(place) for place in range(len(node.operands))]
    shapes = [operand.shape for operand in operands]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        common = None
    if common is None or (operator == "PRelu" and common != shapes[0]):
        raise NotDefinedError(f"operands of shapes {shapes} cannot be broadcast")
    return [np.broadcast_to(operand, common) for operand in operands]


def computation(
    operator: str, element_type: ElementType, edition: Edition, attributes: Attributes
) -> Computation:
    """The computation of an operator's elements.

    Raises:
        ValueError: The operator does not support the type of its common operands.
    """
    family = element_type.family
    computations = _COMPUTATIONS[family]
    match operator, family:
        case "Cast", _:
            return partial(converted, target=result_type(operator, element_type, attributes))
        case "Div", Family.FLOAT if edition is Edition.PRELIMINARY:
            return division.divide_by_formula
        case "BitShift", Family.INTEGER if attributes.get("direction") == "RIGHT":
            return python.rshift
        case "Mod", Family.INTEGER if attributes.get("fmod"):
            return lambda a, b: a - b * trunc(Fraction(a, b))
        case "Mod", Family.FLOAT if attributes.get("fmod"):
            return division.remainder
    if operator not in computations:
        raise ValueError(f"{operator} of {element_type} has no meaning")
    return computations[operator]


def result_type(operator: str, element_type: ElementType, attributes: Attributes) -> ElementType:
    """The type of the results, given the common type of the operands.

    Raises:
        ValueError: It is none of the profile's.
    """
    if operator == "Cast":
        return type_numbered(int(attributes["to"]))
    return ElementType.BOOL if operator in _COMPARISONS else element_type

"""The functions of one operand, and their exact results: in double by numpy, or enclosed by flint.

The results in double are meant for arguments in float and float16. They may be off by some units of
double, which is less than a millionth of a unit of float.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

Doubles = npt.NDArray[np.float64]

_OPSET = 22
_PRECISION = 1200
"""The bits of enclosures: those of the remainder of the largest double by pi, and some more."""

_FAR = 4000.0
"""An argument of an exponential whose result is 0 or infinite in double, and whose enclosure is
made quickly."""

_ALPHA, _GAMMA = float(np.float32(1.6732632)), float(np.float32(1.0507010))
_SLOPE = float(np.float32(0.2))
_CUBE = 0.044715


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one operand.

    Attributes:
        node: The operator and its attributes, in ONNX's textual syntax.
        exact: Its results in double.
        enclosed: An enclosure of a result; None if no kernel computes it in double.
        rises: Whether it never falls.
        operator_set: The version of the operator set.
    """

    node: str
    exact: Callable[[Doubles], Doubles]
    enclosed: Callable[[arb], arb] | None = None
    rises: bool = True
    operator_set: int = _OPSET


_STEPS = 128
"""How many centers between two whole numbers error functions are expanded at."""

_TERMS = 7
_LAST = 6
"""The error function of 6 differs from 1 by less than a unit of double."""


def _expansions() -> Doubles:
    """The terms of the error function around each center, for each power of the distance.

    The derivatives of exp(-c * c) are Hermite polynomials of c times it.
    """
    centers = np.arange(_LAST * _STEPS + 1) / _STEPS
    slope = 2 / math.sqrt(math.pi) * np.exp(-centers * centers)
    hermite = [np.ones_like(centers), 2 * centers]
    for order in range(1, _TERMS):
        hermite.append(2 * centers * hermite[-1] - 2 * order * hermite[-2])
    terms = [np.array([math.erf(center) for center in centers])]
    for power in range(1, _TERMS):
        sign = (-1) ** (power - 1)
        terms.append(sign * slope * hermite[power - 1] / math.factorial(power))
    return np.array(terms)


_EXPANSIONS = _expansions()


def erf(x: Doubles) -> Doubles:
    """The error function, which numpy does not have; NaN gives NaN.

    It is expanded around the nearest multiple of 1/128, to the sixth power of the distance: what is
    left out is less than (1/256)^7. The expansion around 0 is odd and begins with the distance, so
    that small results are as accurate.
    """
    magnitude = np.minimum(np.abs(x), _LAST)
    places = np.rint(np.nan_to_num(magnitude) * _STEPS)
    distance = magnitude - places / _STEPS
    place = places.astype(np.intp)
    found = _EXPANSIONS[-1].take(place)
    for terms in _EXPANSIONS[-2::-1]:
        found *= distance
        found += terms.take(place)
    signed: Doubles = np.copysign(found, x)
    return signed


def _sigmoid(x: Doubles) -> Doubles:
    return 1 / (1 + np.exp(-x))


_DEPTH = 80
_TAIL = -2.5


def _gelu(x: Doubles) -> Doubles:
    """Where 1 + erf would lose most digits, the continued fraction of its complement is used."""
    found = x * (0.5 * (1 + erf(x * math.sqrt(0.5))))
    tail = x < _TAIL
    if tail.any():
        z = np.minimum(-x[tail] * math.sqrt(0.5), 1e3)
        fraction = z
        for level in range(_DEPTH, 0, -1):
            fraction = z + level / 2 / fraction
        found[tail] = x[tail] * (np.exp(-z * z) / fraction / (2 * math.sqrt(math.pi)))
    return found


def _gelu_tanh(x: Doubles) -> Doubles:
    """Half of x times 1 + tanh(u), which is x times the logistic function of 2 u."""
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + _CUBE * x * x * x))


def _softplus(x: Doubles) -> Doubles:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _mish(x: Doubles) -> Doubles:
    """X times tanh(log(1 + e^x)), which is n / (n + 2) with n = e^x (e^x + 2)."""
    power = np.exp(np.minimum(x, 40))
    n = power * (power + 2)
    found: Doubles = x * (n / (n + 2))
    return found


def _hard_swish(x: Doubles) -> Doubles:
    return x * np.clip(x / 6 + 0.5, 0, 1)


def _hard_sigmoid(x: Doubles) -> Doubles:
    return np.clip(_SLOPE * x + 0.5, 0, 1)


def _elu(x: Doubles) -> Doubles:
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)


def _selu(x: Doubles) -> Doubles:
    return _GAMMA * np.where(x < 0, _ALPHA * np.expm1(np.minimum(x, 0)), x)


def _clipped(x: arb) -> arb:
    return max(min(x, arb(_FAR)), arb(-_FAR))


def _logistic(x: arb) -> arb:
    return 1 / (1 + (-_clipped(x)).exp())


def _enclosed_gelu_tanh(x: arb) -> arb:
    cube = arb(44715) / 1_000_000 * x**3
    return x * _logistic(2 * (2 / arb.pi()).sqrt() * (x + cube))


FUNCTIONS: Mapping[str, Function] = {
    "Exp": Function("Exp", np.exp, lambda x: _clipped(x).exp()),
    "Sigmoid": Function("Sigmoid", _sigmoid, _logistic),
    "Tanh": Function("Tanh", np.tanh, lambda x: _clipped(x).tanh()),
    "Erf": Function("Erf", erf),
    "Gelu none": Function("Gelu", _gelu, rises=False),
    "Gelu tanh": Function(
        'Gelu <approximate="tanh">', _gelu_tanh, _enclosed_gelu_tanh, rises=False
    ),
    "Log": Function("Log", np.log, lambda x: x.log()),
    "Sqrt": Function("Sqrt", np.sqrt, lambda x: x.sqrt()),
    "Reciprocal": Function("Reciprocal", lambda x: 1 / x, lambda x: 1 / x, rises=False),
    "HardSwish": Function("HardSwish", _hard_swish, rises=False),
    "HardSigmoid": Function("HardSigmoid", _hard_sigmoid),
    "Elu": Function("Elu", _elu),
    "Celu": Function("Celu", _elu),
    "Selu": Function("Selu", _selu),
    "Asin": Function("Asin", np.arcsin),
    "Asinh": Function("Asinh", np.arcsinh),
    "Atan": Function("Atan", np.arctan),
    "Softplus": Function("Softplus", _softplus),
    "Sin": Function("Sin", np.sin, lambda x: x.sin(), rises=False),
    "Cos": Function("Cos", np.cos, lambda x: x.cos(), rises=False),
    "Mish": Function("Mish", _mish, rises=False),
}
"""The functions by name: the operator, and for Gelu its attribute. The slow ones are last."""


def enclosure(function: Function, argument: float) -> arb:
    """An enclosure of a result; NaN if there is none.

    Raises:
        ValueError: The function has no enclosures.
    """
    if function.enclosed is None:
        raise ValueError(f"{function.node} has no enclosures")
    ctx.prec = _PRECISION if abs(argument) > 2**30 else 160
    return function.enclosed(arb(argument))

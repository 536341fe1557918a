"""The results of custom operators, for operands that keep all rules.

Floats follow IEEE 754; sums, differences and products of integers wrap modulo 2^n. Integer
quotients are truncated towards zero, as in ONNX and C; numpy's `//` floors. Zero divisors and the
smallest value divided by -1 are rejected before.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

Arithmetic = Callable[..., Array]
"""Computes the result from operands that keep all rules, and from the argument `edition`.

It may overwrite the first operand.
"""

_BLOCK = 16384
"""The number of elements divided at a time, so that temporary arrays fit into the cache."""


def divide(a: Array, b: Array, *, edition: Edition) -> Array:
    """Divide element by element.

    Args:
        a: The dividends; overwritten.
        b: The divisors, of the same shape and dtype.
        edition: Determines the result of floats for a zero divisor: that of IEEE 754, or +inf.

    Returns:
        The quotients, in the operands' shape and dtype.
    """
    match a.dtype.kind:
        case "f":
            return _divide_floats(a, b, edition)
        case "u":
            return np.floor_divide(a, b, out=a)
        case _:
            return _truncated_quotient(a, b)


# Half as expensive as a decorator as it is as a context manager.
@np.errstate(all="ignore")
def _divide_floats(a: Array, b: Array, edition: Edition) -> Array:
    np.divide(a, b, out=a)
    if edition is Edition.PRELIMINARY:
        a[b == 0] = np.inf
    return a


def _truncated_quotient(a: Array, b: Array) -> Array:
    if a.dtype.itemsize < 8:
        # Exact: a quotient that is not an integer differs from the nearest one by at least 1/|b|,
        # and the rounding error of a double is smaller for operands of up to 32 bits.
        return np.divide(a, b, out=np.empty_like(a), dtype=np.float64, casting="unsafe")
    if a.size <= _BLOCK:
        remainder = np.fmod(a, b, out=np.empty_like(a))
        return np.floor_divide(np.subtract(a, remainder, out=remainder), b, out=remainder)
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    for start in range(0, a.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        flat_a[block] = _quotient_of_magnitudes(flat_a[block], flat_b[block])
    return flat_a.reshape(a.shape)


def _quotient_of_magnitudes(a: Array, b: Array) -> Array:
    # Unsigned, because numpy's signed division branches on the signs of every pair of elements.
    sign = (a ^ b) >> 63
    quotient = np.floor_divide(np.abs(a).view(np.uint64), np.abs(b).view(np.uint64)).view(np.int64)
    return (quotient ^ sign) - sign


@np.errstate(all="ignore")
def reciprocal(x: Array, *, edition: Edition) -> Array:
    """The reciprocal of each element of x, which is overwritten; the same in both editions."""
    del edition
    np.divide(x.dtype.type(1), x, out=x)
    return x


def largest(*operands: Array, edition: Edition) -> Array:
    """The largest of the elements at each place: NaN if one is, and 0 rather than -0."""
    del edition
    return functools.reduce(functools.partial(_extreme, np.maximum, negative=False), operands)


def smallest(*operands: Array, edition: Edition) -> Array:
    """The smallest of the elements at each place: NaN if one is, and -0 rather than 0."""
    del edition
    return functools.reduce(functools.partial(_extreme, np.minimum, negative=True), operands)


@np.errstate(all="ignore")
def _extreme(function: np.ufunc, a: Array, b: Array, *, negative: bool) -> Array:
    """What a function gives; of two zeros of a float type, of which numpy gives either, one sign.

    Args:
        function: The function.
        a: Elements.
        b: Others, at the same places.
        negative: Whether it is -0 of zeros of both signs, rather than 0.
    """
    # Of two scalars numpy makes no array.
    made = np.asarray(function(a, b))
    if made.dtype.kind == "f":
        zeros = np.asarray((a == 0) & (b == 0))
        made[zeros] = np.where(np.signbit(a[zeros]) == negative, a[zeros], b[zeros])
    return made


def select(condition: Array, x: Array, y: Array, *, edition: Edition) -> Array:
    """The elements of x where the condition is true, and those of y elsewhere, with their bits."""
    del edition
    return np.where(condition, x, y)


def by_ufunc(function: np.ufunc, *, in_place: bool = True) -> Arithmetic:
    """Make a computation from a numpy function, the same in both editions.

    Args:
        function: The function.
        in_place: Whether the result has the operands' type and overwrites the first operand.
    """

    def called(operands: Sequence[Array]) -> Array:
        result: Array = function(*operands, out=operands[0]) if in_place else function(*operands)
        return result

    # Half as expensive as a decorator as it is as a context manager; integers raise no warnings.
    silently = np.errstate(all="ignore")(called)

    def compute(*operands: Array, edition: Edition) -> Array:
        del edition
        return (silently if operands[0].dtype.kind == "f" else called)(operands)

    return compute


ARITHMETIC: Mapping[str, Arithmetic] = MappingProxyType(
    {
        "Abs": by_ufunc(np.abs),
        "Add": by_ufunc(np.add),
        "And": by_ufunc(np.logical_and),
        "BitwiseAnd": by_ufunc(np.bitwise_and),
        "BitwiseOr": by_ufunc(np.bitwise_or),
        "BitwiseXor": by_ufunc(np.bitwise_xor),
        "Div": divide,
        "Equal": by_ufunc(np.equal, in_place=False),
        "Greater": by_ufunc(np.greater, in_place=False),
        "GreaterOrEqual": by_ufunc(np.greater_equal, in_place=False),
        "Less": by_ufunc(np.less, in_place=False),
        "LessOrEqual": by_ufunc(np.less_equal, in_place=False),
        "Max": largest,
        "Min": smallest,
        "Mul": by_ufunc(np.multiply),
        "Neg": by_ufunc(np.negative),
        "Or": by_ufunc(np.logical_or),
        "Reciprocal": reciprocal,
        "Sqrt": by_ufunc(np.sqrt),
        "Sub": by_ufunc(np.subtract),
        "Where": select,
        "Xor": by_ufunc(np.logical_xor),
    }
)
"""The element-wise operators that custom operators compute.

ONNX Runtime computes the others, after a custom operator that checks the operands. Their last bits
differ between implementations (Acos, Log, Pow), or the sign of a zero does, which no document
decides (PRelu), or their meaning depends on attributes (BitShift, Cast, Mod).
"""

SELECTING = frozenset({"Max", "Min", "Where"})
"""Those whose results are elements of operands, which a wider type holds as they are.

ONNX Runtime gives other zeros: R13 and R14 of the findings.
"""

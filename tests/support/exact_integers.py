"""What operators give on small integers, computed exactly in wider ones, and what breaks a rule.

Apart from the product: no quotient is computed in floating point, and no sign by numpy.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Wide = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def _truncated(a: Wide, b: Wide) -> Wide:
    magnitude = abs(a) // abs(b)
    return np.where((a < 0) == (b < 0), magnitude, -magnitude)


def _remainder(a: Wide, b: Wide) -> Wide:
    """What truncated division leaves, with the sign of the dividend."""
    return a - _truncated(a, b) * b


def _modulus(a: Wide, b: Wide) -> Wide:
    """What is left, with the sign of the divisor."""
    left = _remainder(a, b)
    return np.where((left != 0) & ((left < 0) != (b < 0)), left + b, left)


EXACT: Mapping[str, Callable[..., npt.NDArray[Any]]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _truncated,
    "Mod": _modulus,
    "Mod fmod=1": _remainder,
    "BitShift LEFT": lambda a, b: a * 2**b,
    "BitShift RIGHT": lambda a, b: a // 2**b,
    "Max": lambda a, b: np.where(a > b, a, b),
    "Min": lambda a, b: np.where(a < b, a, b),
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "Equal": lambda a, b: a == b,
    "Less": lambda a, b: a < b,
    "LessOrEqual": lambda a, b: a <= b,
    "Greater": lambda a, b: a > b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "Where true": lambda a, _: a,
    "Where false": lambda _, b: b,
    "Abs": lambda a: np.where(a < 0, -a, a),
    "Neg": lambda a: -a,
    "Cast": lambda a: a,
}
"""By operator and, where it has some, attributes or conditions; taken modulo 2^n behind that."""


def broken(name: str, operands: list[Wide], dtype: np.dtype[Any]) -> dict[str, Flags]:
    """Where operands break which rule of the typed edition.

    Args:
        name: A name of `EXACT`.
        operands: The operands.
        dtype: Their type.
    """
    operator, limits = name.split(" ", maxsplit=1)[0], np.iinfo(dtype)
    a, b = operands[0], operands[-1]
    match operator:
        case "Div" | "Mod":
            overflow = (a == limits.min) & (b == -1)
            return {f"{operator}.int.C1": b == 0, f"{operator}.int.C2": overflow}
        case "BitShift":
            return {"BitShift.int.C1": (b < 0) | (b >= limits.bits)}
        case "Abs" if limits.min < 0:
            return {"Abs.int.C1": a == limits.min}
    return {}

"""Expected results, from the exact oracle: rationals, rounded once."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort import oracle
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Oracle = Callable[[Array, Array, ElementType, Edition], Array | oracle.Violation]


def quotients(a: Array, b: Array, edition: Edition = Edition.TYPED) -> Array:
    """Divide element by element.

    Args:
        a: The dividends.
        b: The divisors, of the same shape and dtype.
        edition: Decides what a zero divisor gives on floats.

    Raises:
        ValueError: The operands break a rule.
    """
    return _defined(oracle.divide, a, b, edition)


def differences(a: Array, b: Array, edition: Edition = Edition.TYPED) -> Array:
    """Subtract element by element.

    Args:
        a: The minuends.
        b: The subtrahends, of the same shape and dtype.
        edition: The edition; it decides no result.

    Raises:
        ValueError: The operands break a rule.
    """
    return _defined(oracle.subtract, a, b, edition)


ORACLES: Mapping[str, Callable[[Array, Array, Edition], Array]] = {
    "Div": quotients,
    "Sub": differences,
}
"""The results of each operator on two operands of one shape."""


def spread(*tensors: Array) -> tuple[Array, ...]:
    """Give tensors their common shape, each by repeating its elements.

    Args:
        *tensors: The tensors.

    Raises:
        ValueError: They have no common shape.
    """
    outcome = oracle.broadcast(*tensors)
    if isinstance(outcome, tuple):
        return outcome
    raise ValueError(f"the tensors break {outcome.rule}")


def _defined(oracle: Oracle, a: Array, b: Array, edition: Edition) -> Array:
    element_type = next(t for t in ElementType if t.dtype == a.dtype)
    outcome = oracle(a, b, element_type, edition)
    if isinstance(outcome, np.ndarray):
        return outcome
    raise ValueError(f"the operands break {outcome.rule}")

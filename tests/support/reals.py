"""What the documents say of a node over the reals, where no type rounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sonnx_ort.oracle import Result, Undefined
from sonnx_ort.oracle.balls import precisely
from sonnx_ort.oracle.meaning import OPERATIONS
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.results import Elements, NotDefinedError, tensor

Array = np.ndarray[Any, Any]

_REAL = frozenset(
    {"Conv", "Exp", "Gemm", "LSTM", "LeakyRelu", "MatMul", "MaxPool", "Range", "Relu"}
    | {"Sigmoid", "Sin", "Softmax", "Tanh"}
)
"""The operators whose documents have a section on reals."""

_NEWEST = 1 << 10


def meaning_over_the_reals(
    operator: str, attributes: Mapping[str, Any], operands: list[Array | None]
) -> tuple[Array, ...] | Undefined:
    """What a document says of the results of a node over the reals, in the newest version.

    Args:
        operator: Its name.
        attributes: The attributes that the node has; those of real type may be `Fraction`.
        operands: All operands, arrays of `Fraction`, None for omitted ones.

    Returns:
        A tensor for each result with two rationals for each element that enclose it; both are the
        same if it is known to be rational. None for an element that is not defined, or too large.
        Integers, as in the second result of MaxPool, are integers. Or why there is none at all.

    Raises:
        ValueError: The operator has no meaning over the reals here.
    """
    if operator not in _REAL:
        raise ValueError(f"{operator} has no meaning over the reals here")
    try:
        with precisely():
            made = OPERATIONS[operator].compute(Node(_NEWEST, attributes, tuple(operands)))
            return tuple(map(_over_the_reals, made))
    except NotDefinedError as error:
        return Undefined(str(error))


def _over_the_reals(made: Elements | Result) -> Array:
    if isinstance(made, Result):
        return made.nearest.astype(object)
    return tensor(map(_ends, made.elements.ravel()), made.elements.shape)


def _ends(element: Any) -> Any:
    lower, upper = element.numbers
    return (lower.value, upper.value) if element.defined and lower.is_finite else None

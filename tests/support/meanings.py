"""What computes nodes with operands, and whether the oracle admits it."""

import enum
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

from sonnx_ort.meaning import Result, Undefined
from sonnx_ort.meaning.balls import precisely
from sonnx_ort.meaning.documented import OPERATIONS
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import BinaryFormat, Kind, decode, encode, finite, tensor
from sonnx_ort.meaning.results import Elements, NotDefinedError
from sonnx_ort.vectors.applied import Applied
from support import ort_values
from support.sessions import on_one_thread

Array = np.ndarray[Any, Any]
Run = Callable[[Applied], list[Array]]


def by_onnxruntime(applied: Applied) -> list[Array]:
    """What ONNX Runtime gives, without optimization."""
    options = on_one_thread("none")
    session = ort.InferenceSession(applied.model().SerializeToString(), options)
    return [np.asarray(found) for found in ort_values.run(session, applied.feeds)]


def by_reference(applied: Applied) -> list[Array]:
    """What the reference evaluator of ONNX gives; it warns of overflows and the like."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(r) for r in ReferenceEvaluator(applied.model()).run(None, applied.feeds)]


def outside(applied: Applied, found: Sequence[Array]) -> str:
    """The first result that is not admitted, told; empty if all are."""
    assert isinstance(applied.meaning, tuple), applied.meaning
    for result, array in zip(applied.meaning, found, strict=False):
        try:
            wrong = np.argwhere(np.atleast_1d(result.outside(array)))
        except ValueError as error:
            return str(error)
        if len(wrong):
            got, nearest = (np.atleast_1d(a)[tuple(wrong[0])] for a in (array, result.nearest))
            place = wrong[0].tolist()
            return f"{len(wrong)} of {array.size}: at {place} {got} for {nearest}, {result.bound}"
    return ""


def rounded(value: Fraction, binary_format: BinaryFormat) -> Fraction | None:
    """The number of a format that a nonnegative number is encoded as; None for infinity."""
    found = decode(encode(finite(value, negative=False), binary_format), binary_format)
    return found.magnitude if found.kind is Kind.FINITE else None


class Verdict(enum.StrEnum):
    """What a computed element is."""

    EXACT = "exact"
    ADMITTED = "admitted"
    OUTSIDE = "outside"
    UNDEFINED = "undefined"


def verdicts(result: Result, found: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """The verdict on each computed element.

    Raises:
        ValueError: The results have another type or shape.
    """
    made = np.full(found.shape, Verdict.ADMITTED, object)
    made[result.outside(found)] = Verdict.OUTSIDE
    made[result.exact(found)] = Verdict.EXACT
    made[result.undefined] = Verdict.UNDEFINED
    return made


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

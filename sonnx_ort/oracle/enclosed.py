"""The meaning of nodes by balls: where `meaning` has no operator, or operands are enclosed only.

For operators without a document of the working group the documents are those of ONNX: exact
results, and the roundings of a kernel that adds in any order. Requires python-flint, the extra
`oracle`, for all operators but those that only move elements.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS
from sonnx_ort.oracle.ball_node import Array, are_balls, is_float
from sonnx_ort.oracle.balls import FOLLOWED, MOVED, NotFollowedError, followed
from sonnx_ort.oracle.elements import Operands, encoded_elements
from sonnx_ort.oracle.enclosure import Enclosure
from sonnx_ort.oracle.functions import exact_end
from sonnx_ort.oracle.meaning import COMPUTED
from sonnx_ort.oracle.node import ELEMENT_TYPES
from sonnx_ort.oracle.numbers import Kind, Number, infinity
from sonnx_ort.oracle.results import Result, copied, exactly, number
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

if TYPE_CHECKING:
    from flint import arb

ENCLOSED = FOLLOWED - COMPUTED
"""The operators that have a meaning here alone."""

_BOUND = "the operator's roundings, sums in any order (ours; no document of SONNX)"


def enclosed_meaning(  # noqa: PLR0913 - what a node has, and what a result has
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Operands,
    result_type: ElementType | None,
    *,
    edition: Edition = Edition.TYPED,
    bound: str = _BOUND,
) -> tuple[Result, ...]:
    """What the results of a node are, for operands that are known exactly or by balls.

    Args:
        operator: Its name, one of `FOLLOWED`.
        version: The version of the operator, or of the opset.
        attributes: The attributes that the node has.
        operands: All operands, None for omitted ones: arrays of element types or of balls.
        result_type: The type of float results.
        edition: The edition of the profile.
        bound: The text of the admitted error.

    Raises:
        ValueError: The results are not known.
    """
    node = version, attributes
    try:
        given = [operand for operand in operands if operand is not None]
        if operator in MOVED and any(map(is_float, given)) and not any(map(are_balls, given)):
            return _moved(operator, *node, operands)
        binary = None if result_type is None else FLOAT_FORMATS.get(result_type)
        rounded = followed(operator, *node, operands, binary, edition=edition)
        inexact = any(map(are_balls, rounded))
        reals = followed(operator, *node, operands, edition=edition) if inexact else rounded
    except NotFollowedError as error:
        raise ValueError(str(error)) from error
    return tuple(_result(*pair, result_type, bound) for pair in zip(reals, rounded, strict=True))


def _moved(
    operator: str, version: int, attributes: Mapping[str, Any], operands: Operands
) -> tuple[Result, ...]:
    """The results of an operator that moves elements, whose bits are taken for integers."""
    dtype = next(o.dtype for o in operands if o is not None and is_float(o))
    integers = [None if o is None else _as_integers(o) for o in operands]
    found = followed(operator, version, attributes, integers)
    if any(map(are_balls, found)):
        raise NotFollowedError("its result is known by balls only")
    return tuple(copied(_contiguous(each).view(dtype)) for each in found)


def _contiguous(array: Array) -> Array:
    # numpy makes a vector of a scalar.
    return np.ascontiguousarray(array).reshape(array.shape)


def _as_integers(operand: Array) -> Array:
    if not is_float(operand):
        return operand
    return _contiguous(operand).view(f"u{operand.dtype.itemsize}")


def _result(exact: Array, rounded: Array, element_type: ElementType | None, bound: str) -> Result:
    if not are_balls(rounded):
        return exactly(rounded)
    if element_type is None:
        raise ValueError("its results have no type of floats")

    def encoded(numbers: Sequence[Number]) -> Array:
        return encoded_elements(numbers, element_type).reshape(rounded.shape)

    ends = [_ends(ball) for ball in rounded.ravel().tolist()]
    middles = [_middle(ball) for ball in exact.ravel().tolist()]
    anything = np.array([low.kind is not Kind.FINITE for low, _ in ends], np.bool_)
    enclosure = Enclosure(
        encoded([low for low, _ in ends]),
        encoded([high for _, high in ends]),
        anything.reshape(rounded.shape),
    )
    undefined = np.zeros(rounded.shape, np.bool_)
    return Result(encoded(middles), enclosure, undefined, bound)


def _ends(ball: "arb") -> tuple[Number, Number]:
    if not ball.is_finite():
        return infinity(negative=True), infinity(negative=False)
    return number(exact_end(ball.lower())), number(exact_end(ball.upper()))


def _middle(ball: "arb") -> Number:
    return number(exact_end(ball.mid()) if ball.is_finite() else Fraction(0))


def type_of_results(attributes: Mapping[str, Any], operands: Operands) -> ElementType | None:
    """The element type of the first operand of floats, or of `value`; None if there is none."""
    for operand in (*operands, attributes.get("value")):
        dtype = getattr(operand, "dtype", None)
        element_type = None if dtype is None else ELEMENT_TYPES.get(dtype)
        if element_type in FLOAT_FORMATS:
            return element_type
    return None

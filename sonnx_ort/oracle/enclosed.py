"""The meaning of nodes by balls: where `meaning` has no operator, or operands are enclosed only.

For operators without a document of the working group the documents are those of ONNX: exact
results, and the roundings of a kernel that adds in any order. Functions that are not rational
require python-flint, the extra `oracle`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
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
        if operator == "ConstantOfShape":
            given.append(np.asarray(attributes.get("value", np.zeros(1, np.float32))))
            node = version, {"value": given[-1]}
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
    floats = filter(_is_float_array, (*operands, attributes.get("value")))
    dtype = np.asarray(next(floats)).dtype
    integers = [_as_integers(operand) for operand in operands]
    said = {name: _as_integers(value) for name, value in attributes.items()}
    found = followed(operator, version, said, integers)
    if any(map(are_balls, found)):
        raise NotFollowedError("its result is known by balls only")
    return tuple(copied(_contiguous(each).view(dtype)) for each in found)


def _contiguous(array: Array) -> Array:
    # numpy makes a vector of a scalar.
    return np.ascontiguousarray(array).reshape(array.shape)


def _is_float_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and is_float(value)


def _as_integers(value: Any) -> Any:
    """The bits of an array of floats; anything else as it is."""
    return _contiguous(value).view(f"u{value.dtype.itemsize}") if _is_float_array(value) else value


def _result(exact: Array, rounded: Array, element_type: ElementType | None, bound: str) -> Result:
    if not are_balls(rounded):
        return exactly(rounded)
    if element_type is None:
        raise ValueError("its results have no known type")
    if element_type not in FLOAT_FORMATS:
        return _between_integers(rounded, element_type, bound)

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


def _between_integers(rounded: Array, element_type: ElementType, bound: str) -> Result:
    """Results of which each is one of the integers in a ball."""
    bounds = np.iinfo(element_type.dtype.name)
    lowest, highest, middles = (np.empty(rounded.shape, element_type.dtype) for _ in range(3))
    for index, ball in np.ndenumerate(rounded):
        low, high = _ends(ball)
        if low.kind is not Kind.FINITE or not bounds.min <= low.value <= high.value <= bounds.max:
            raise ValueError("its results have no known bounds")
        lowest[index], highest[index] = ceil(low.value), floor(high.value)
        middles[index] = (ceil(low.value) + floor(high.value)) // 2
    nothing = np.zeros(rounded.shape, np.bool_)
    return Result(middles, Enclosure(lowest, highest, nothing), nothing, bound)


def _middle(ball: "arb") -> Number:
    return number(exact_end(ball.mid()) if ball.is_finite() else Fraction(0))


def type_of_results(
    operator: str, attributes: Mapping[str, Any], operands: Operands
) -> ElementType | None:
    """The element type of results that may be balls; None if it is not known.

    Args:
        operator: The operator.
        attributes: The attributes that the node has.
        operands: The operands, as arrays of element types.
    """
    match operator:
        case "Cast":
            return next((t for t in ElementType if t.value == attributes.get("to")), None)
        case "QuantizeLinear":
            zero = operands[2] if len(operands) > 2 else None
            return ElementType.UINT8 if zero is None else ELEMENT_TYPES.get(zero.dtype)
    for operand in (*operands, attributes.get("value")):
        dtype = getattr(operand, "dtype", None)
        element_type = None if dtype is None else ELEMENT_TYPES.get(dtype)
        if element_type in FLOAT_FORMATS:
            return element_type
    return None

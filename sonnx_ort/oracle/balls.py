"""What nodes mean by balls, which enclose reals: those of Arb, or `intervals`.

Operators on tensors of balls, which enclose reals: those of Arb, or `intervals` without it.
`meaning` speaks of the results of one node, for operands that a run has computed. Balls go from
node to node instead: they enclose what a whole graph means over the reals, or what implementations
in a format may make of it.

One table leads from the name of an operator to what follows it.

The meaning of nodes by balls: where `meaning` has no operator, or operands are enclosed only. For
operators without a document of the working group the documents are those of ONNX: exact results,
and the roundings of a kernel that adds in any order. Functions that are not rational require
python-flint, the extra `oracle`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.ball_elements import ELEMENTWISE
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
    are_balls,
    balls,
    is_float,
    precisely,
    require_finite,
    size_of_result,
)
from sonnx_ort.oracle.elements import Operands, encoded_elements
from sonnx_ort.oracle.functions import exact_end
from sonnx_ort.oracle.layout import MOVES
from sonnx_ort.oracle.meaning import COMPUTED, meaning
from sonnx_ort.oracle.node import ELEMENT_TYPES
from sonnx_ort.oracle.numbers import FLOAT_FORMATS, BinaryFormat, Kind, Number, infinity
from sonnx_ort.oracle.products import PRODUCTS
from sonnx_ort.oracle.quantization import CONVERSIONS
from sonnx_ort.oracle.results import (
    Elements,
    Enclosure,
    NotDefinedError,
    Result,
    Undefined,
    copied,
    exactly,
    number,
)
from sonnx_ort.oracle.sums import SUMS
from sonnx_ort.oracle.windows import WINDOWS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

if TYPE_CHECKING:
    from flint import arb

__all__ = ["FOLLOWED", "MOVED", "NotFollowedError", "balls", "followed", "operations", "precisely"]

_OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {**CONVERSIONS, **ELEMENTWISE, **MOVES, **PRODUCTS, **SUMS, **WINDOWS}
)

FOLLOWED = frozenset(_OPERATIONS) | COMPUTED
"""The operators that are followed, some of them for integers and bools only."""

MOVED = frozenset(name for name, operation in _OPERATIONS.items() if operation.moves)
"""The operators that only move elements."""

_REFUSALS = (
    *(NotDefinedError, ArithmeticError, AttributeError, LookupError, StopIteration, TypeError),
    ValueError,
)
"""What operands and attributes cause that no checker has seen."""

_BROADCAST_LATE = 7
"""The version since which element-wise operators broadcast as they do now."""


def followed(  # noqa: PLR0913 - what a node has, and a format
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Operands,
    binary: BinaryFormat | None = None,
    *,
    edition: Edition = Edition.TYPED,
) -> tuple[Array, ...]:
    """What a node makes of balls.

    Args:
        operator: The operator, one of `FOLLOWED`.
        version: The version of the operator, or of the opset.
        attributes: The attributes that the node has, as for `meaning`.
        operands: All operands, None for omitted ones: arrays of balls, and those of integers and
            bools as they are. Arrays of floats stand for the balls that are these numbers.
        binary: A format: then a ball contains what implementations in this format may give, too.
            None for the reals.
        edition: The edition of the profile.

    Returns:
        The results, floats as arrays of balls. Integers that are not certain are balls too. Of some
        operators the second and further results are missing.

    Raises:
        NotFollowedError: Balls do not decide the results, or they are not defined.
    """
    node = BallNode(version, attributes, tuple(operands), binary=binary)
    try:
        with precisely():
            for operand in node.given():
                require_finite(operand)
            made = _followed(operator, node, edition)
            return tuple(balls(each) if is_float(each) else each for each in made)
    except _REFUSALS as error:
        raise _not_followed(error) from error


def operations(
    operator: str, version: int, attributes: Mapping[str, Any], operands: Operands
) -> int:
    """How many scalar operations a node takes; of sums of products these are multiplications.

    Raises:
        NotFollowedError: Its operands do not fit each other.
    """
    node = BallNode(version, attributes, tuple(operands))
    operation = _OPERATIONS.get(operator)
    try:
        with precisely():
            return size_of_result(node) if operation is None else operation.count(node)
    except _REFUSALS as error:
        raise _not_followed(error) from error


def _not_followed(error: Exception) -> NotFollowedError:
    if isinstance(error, NotDefinedError | ValueError):
        return NotFollowedError(str(error))
    return NotFollowedError("its operands or attributes are not those of the operator")


def _followed(operator: str, node: BallNode, edition: Edition) -> tuple[Array, ...]:
    operation = _OPERATIONS.get(operator)
    inexact = any(is_float(operand) or are_balls(operand) for operand in node.given())
    if not inexact and operator in COMPUTED and not (operation and operation.exact):
        return _exactly(operator, node, edition)
    if operation is None or not (inexact or operation.exact):
        raise NotFollowedError("the operator is not followed")
    if operator in ELEMENTWISE and node.version < _BROADCAST_LATE and len(node.given()) > 1:
        raise NotFollowedError(f"it is not followed before version {_BROADCAST_LATE}")
    if not operation.moves or any(map(are_balls, node.given())):
        operands = (balls(o) if o is not None and is_float(o) else o for o in node.operands)
        node = replace(node, operands=tuple(operands))
    return tuple(map(_array, operation.compute(node)))


def _array(made: Array | Elements | Result) -> Array:
    match made:
        case Elements():
            return made.elements
        case Result():
            return made.nearest
    return made


def _exactly(operator: str, node: BallNode, edition: Edition) -> tuple[Array, ...]:
    """The results on integers and bools, which the oracle computes exactly."""
    found = meaning(operator, node.version, node.attributes, node.operands, edition)
    if isinstance(found, Undefined):
        raise NotFollowedError(found.reason)
    for result in found:
        if result.undefined.any():
            raise NotFollowedError(result.reason)
    return tuple(result.nearest for result in found)


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

"""Operators on tensors of balls, which enclose reals: those of Arb, or `intervals` without it.

`meaning` speaks of the results of one node, for operands that a run has computed. Balls go from
node to node instead: they enclose what a whole graph means over the reals, or what implementations
in a format may make of it.

One table leads from the name of an operator to what follows it.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

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
from sonnx_ort.oracle.elements import Operands
from sonnx_ort.oracle.layout import MOVES
from sonnx_ort.oracle.meaning import COMPUTED, meaning
from sonnx_ort.oracle.numbers import BinaryFormat
from sonnx_ort.oracle.products import PRODUCTS
from sonnx_ort.oracle.quantization import CONVERSIONS
from sonnx_ort.oracle.results import Elements, NotDefinedError, Result, Undefined
from sonnx_ort.oracle.sums import SUMS
from sonnx_ort.oracle.windows import WINDOWS
from sonnx_ort.profile.options import Edition

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

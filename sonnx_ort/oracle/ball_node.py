"""A node whose floats are balls: those of Arb, or `intervals` without python-flint.

A ball is a number and a radius: all reals that an element may be. Results contain the
results for all reals in the operands' balls. With a format, a ball also contains what roundings to
it may give.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.elements import Exact
from sonnx_ort.oracle.intervals import ball_of, ball_type, precision
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import BinaryFormat, Kind, Number, power_of_two
from sonnx_ort.oracle.results import Elements, Result, half_a_subnormal, relative_error, tensor

if TYPE_CHECKING:
    from flint import arb

Array = npt.NDArray[Any]

_BITS = 256


class NotFollowedError(ValueError):
    """The results of a node are not known as balls; the message is a clause that says why."""


def precisely() -> AbstractContextManager[None]:
    """The context in which balls are computed: all that rounds there is far below any format."""
    return precision(_BITS)


def is_float(array: Array) -> bool:
    """Whether an array has floats, which are no balls yet; those of ml_dtypes are of kind V."""
    return array.dtype.kind in "fV"


def are_balls(array: Array) -> bool:
    """Whether an array has balls."""
    return array.dtype.kind == "O"


def balls(array: Array) -> Exact:
    """The balls that are these numbers: floats, integers or bools.

    Raises:
        NotFollowedError: A float is NaN or infinite.
    """
    if are_balls(array):
        return array
    if is_float(array):
        require_finite(array)
        array = array.astype(np.float64)
    return tensor(map(ball_type(), array.ravel().tolist()), array.shape)


def require_finite(array: Array) -> None:
    """Raise an error if a float is NaN or infinite.

    Raises:
        NotFollowedError: One is.
    """
    if is_float(array):
        # Reading a signaling NaN raises the invalid-operation flag.
        with np.errstate(invalid="ignore"):
            wide = np.isfinite(array.astype(np.float64))
        if not wide.all():
            index = np.argwhere(np.atleast_1d(~wide))[0].tolist()[: array.ndim]
            raise NotFollowedError(f"the element at {index} is NaN or infinite")


@dataclass(frozen=True)
class BallNode(Node):
    """A node whose float operands are arrays of balls.

    Attributes:
        binary: The format to which results are rounded; None over the reals.
    """

    binary: BinaryFormat | None = field(default=None)

    def exact(self, place: int = 0) -> Exact:
        """The elements of an operand: balls, integers or bools."""
        return self.operand(place).astype(object)

    def format(self, place: int = 0) -> BinaryFormat | None:
        """The format to which results are rounded."""
        del place
        return self.binary

    def element_type(self, place: int = 0) -> None:
        """No type, as over the reals."""
        del place

    def given(self) -> list[Array]:
        """The operands that are not omitted."""
        return [operand for operand in self.operands if operand is not None]

    def known(self, place: int) -> Array:
        """An operand of integers or bools.

        Raises:
            NotFollowedError: It has balls.
        """
        operand = self.operand(place)
        if are_balls(operand):
            raise NotFollowedError(f"operand {place} is not known exactly")
        return operand

    def factor(self, name: str, default: float) -> Any:
        """The number of an attribute, which ONNX keeps as a float.

        Raises:
            NotFollowedError: It is not finite.
        """
        factor: Number = super().factor(name, default)
        if factor.kind is not Kind.FINITE:
            raise NotFollowedError(f"{name} is NaN or infinite")
        return ball_of(factor.value)

    def rounded(
        self,
        x: "arb",
        roundings: int = 1,
        magnitude: "arb | None" = None,
        *,
        reach: "arb | int" = 0,
        amplified: "arb | int" = 1,
    ) -> "arb":
        """What these roundings may make of a result; the result itself over the reals.

        It is everything if a magnitude may exceed the format.

        Args:
            x: The result over the reals.
            roundings: The roundings on the longest path to it.
            magnitude: The sum of the magnitudes of its summands; its own if left out.
            reach: A bound of further magnitudes on the way.
            amplified: The factor by which what follows may enlarge an underflow.
        """
        if self.binary is None or (roundings == 1 and x == 0):
            return x
        return x + self.error(
            abs(x) if magnitude is None else magnitude, roundings, reach, amplified
        )

    def error(
        self, magnitude: "arb", roundings: int, reach: "arb | int" = 0, amplified: "arb | int" = 1
    ) -> "arb":
        """The ball around zero of what roundings to the format add."""
        ball = ball_type()
        if self.binary is None:
            return ball(0)
        relative, underflow, limit = _errors(self.binary, roundings)
        error = relative * magnitude + underflow * amplified
        if not (magnitude + error < limit and reach < limit):
            return anything()
        return ball(0, error.upper())

    def unbounded(self, operator: str) -> None:
        """Raise an error with a format, because no bound of an operator's error is known.

        Raises:
            NotFollowedError: There is a format.
        """
        if self.binary is not None:
            raise NotFollowedError(f"no bound of the error of {operator} is known")


def anything() -> "arb":
    """The ball of all reals."""
    return ball_type()(0, math.inf)


@cache
def _errors(binary: BinaryFormat, roundings: int) -> "tuple[arb, arb, arb]":
    """The relative error of roundings, that of underflows, and the limit of all magnitudes."""
    bounds = (
        relative_error(roundings, binary),
        2 * roundings * half_a_subnormal(binary),
        power_of_two(binary.largest_exponent),
    )
    relative, underflow, limit = (ball_of(bound).upper() for bound in bounds)
    return relative, underflow, limit


Compute = Callable[[Any], Sequence[Array | Elements | Result]]
Count = Callable[[Any], int]


def sizes_of_operands(node: BallNode) -> int:
    """The number of elements of all operands."""
    return sum(operand.size for operand in node.given())


@dataclass(frozen=True)
class Operation:
    """What follows an operator.

    Attributes:
        compute: Gives the results.
        count: Counts the scalar operations, by shapes and attributes alone.
        moves: Whether it only moves elements: floats need not be balls.
        exact: Whether it computes integers and bools too, which the oracle does of others.
    """

    compute: Compute
    count: Count = sizes_of_operands
    moves: bool = False
    exact: bool = False


def alike(*arrays: Array) -> Sequence[Array]:
    """Arrays of the common shape to which these are broadcast.

    Raises:
        NotFollowedError: There is none.
    """
    try:
        return np.broadcast_arrays(*arrays)
    except ValueError as error:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise NotFollowedError(f"the shapes {shapes} cannot be broadcast") from error


def mapped(compute: Callable[..., Any], *arrays: Array) -> Exact:
    """What a function makes of the elements of broadcast arrays."""
    broadcast = alike(*arrays)
    return tensor(map(compute, *(each.ravel().tolist() for each in broadcast)), broadcast[0].shape)


def size_of_result(node: BallNode) -> int:
    """The number of elements of the broadcast operands."""
    return alike(*node.given())[0].size if node.given() else 0

"""A node: version, attributes and operands, whose floats are exact or balls, and its operation.

One function computes each operator for both. It asks the node for the elements of an operand, and
what roundings make of a result: `Node` bounds their error, `BallNode` widens the ball by it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.meaning.balls import NotFollowedError, anything, ball_of, ball_type
from sonnx_ort.meaning.functions import highest
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    Array,
    BinaryFormat,
    Exact,
    Kind,
    Number,
    decode,
    exact_elements,
    number,
    power_of_two,
    tensor,
)
from sonnx_ort.meaning.results import Enclosed, NotDefinedError, half_a_subnormal, relative_error
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

if TYPE_CHECKING:
    from flint import arb


ELEMENT_TYPES: Mapping[np.dtype[Any], ElementType] = {t.dtype: t for t in ElementType}
"""The element types by their numpy dtypes."""


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes:
        version: The version of its operator.
        attributes: The attributes that it has; lists are sequences of numbers, tensors arrays.
        operands: All operands, None for omitted ones. Those over the reals are arrays of
            `Fraction`; others have the dtype of an element type.
        edition: The edition of the profile, which some operators depend on.
    """

    version: int
    attributes: Mapping[str, Any]
    operands: tuple[Array | None, ...]
    edition: Edition = Edition.TYPED

    def operand(self, place: int) -> Array:
        """An operand that cannot be omitted.

        Raises:
            ValueError: It is omitted.
        """
        found = self.optional(place)
        if found is None:
            raise ValueError(f"operand {place} is missing")
        return found

    def optional(self, place: int) -> Array | None:
        """An operand, or None if it is omitted."""
        return self.operands[place] if place < len(self.operands) else None

    def known(self, place: int) -> Array:
        """An operand whose elements decide what the node computes, such as a zero point."""
        return self.operand(place)

    def axis(self, default: int) -> int:
        """The axis of the first operand that the attribute `axis` names, counted from the first.

        Raises:
            NotDefinedError: There is none.
        """
        rank, axis = self.operand(0).ndim, self.integer("axis", default)
        if not -rank <= axis < rank:
            raise NotDefinedError(f"axis {axis} is not in [{-rank}, {rank - 1}]")
        return axis % rank

    def listed(self, place: int, name: str, since: int) -> list[int] | None:
        """The integers of an operand, which are an attribute before a version; None if omitted."""
        if self.version < since:
            return self.integers(name, []) if name in self.attributes else None
        if self.optional(place) is None:
            return None
        return [int(each) for each in self.known(place).ravel()]

    def integers(self, name: str, default: list[int]) -> list[int]:
        """The integers of an attribute."""
        return [int(each) for each in self.attributes.get(name, default)]

    def integer(self, name: str, default: int) -> int:
        """The integer of an attribute."""
        return int(self.attributes.get(name, default))

    def factor(self, name: str, default: float) -> Any:
        """The number of an attribute, which ONNX keeps as a float; a `Fraction` stays as it is."""
        value = self.attributes.get(name, default)
        if isinstance(value, Fraction):
            return number(value)
        bits = int(np.array(value, np.float32).view(np.uint32))
        return decode(bits, FLOAT_FORMATS[ElementType.FLOAT])

    def element_type(self, place: int = 0) -> ElementType | None:
        """The type of an operand; None over the reals.

        Raises:
            ValueError: The dtype is none of the profile's.
        """
        dtype = self.operand(place).dtype
        if dtype.kind == "O":
            return None
        if dtype not in ELEMENT_TYPES:
            raise ValueError(f"operand {place} has dtype {dtype}, which no element type has")
        return ELEMENT_TYPES[dtype]

    def common_type(self, *places: int) -> ElementType | None:
        """The type that some operands have in common; None over the reals.

        Raises:
            ValueError: They have several, or one that is none of the profile's.
        """
        kinds = {self.element_type(k): None for k in places if self.optional(k) is not None}
        if len(kinds) > 1:
            raise ValueError(f"operands of {' and '.join(map(str, kinds))} have no meaning")
        return next(iter(kinds), None)

    def is_of_integers(self, place: int = 0) -> bool:
        """Whether an operand has an integer type."""
        element_type = self.element_type(place)
        return element_type is not None and element_type.family is Family.INTEGER

    def format(self, place: int = 0) -> BinaryFormat | None:
        """The format of an operand's floats; None over the reals.

        Raises:
            ValueError: It has no floats.
        """
        element_type = self.element_type(place)
        if element_type is None:
            return None
        if element_type not in FLOAT_FORMATS:
            raise ValueError(f"operand {place} of {element_type} has no meaning")
        return FLOAT_FORMATS[element_type]

    def exact(self, place: int = 0) -> Exact:
        """The elements of an operand: `Number` for floats and reals, else int or bool."""
        operand, element_type = self.operand(place), self.element_type(place)
        if element_type is None:
            return tensor((number(Fraction(each)) for each in operand.ravel()), operand.shape)
        return exact_elements(operand, element_type)

    def given(self) -> list[Array]:
        """The operands that are not omitted."""
        return [operand for operand in self.operands if operand is not None]

    def rounded(  # noqa: PLR0913 - what bounds an error
        self,
        x: Any,
        roundings: int = 0,
        magnitude: Any = None,
        *,
        reach: Iterable[Any] = (),
        underflow: Any = None,
        error: Fraction | None = None,
        binary: BinaryFormat | None = None,
    ) -> Any:
        """What roundings may make of a result, before the last one; itself over the reals.

        Everything is admitted if a magnitude on the way may exceed the format.

        Args:
            x: The result over the reals.
            roundings: The roundings on the longest path to it, without the last one.
            magnitude: The sum of the magnitudes of its summands, as `size` gives them; that of the
                result itself if omitted, which may exceed the format.
            reach: Bounds of further magnitudes on the way.
            underflow: How many halves of the smallest subnormal number underflows may add before
                the last rounding; twice as many as there are roundings if omitted.
            error: What is admitted in the place of the error of the roundings.
            binary: The format; that of the first operand if omitted.
        """
        if self.operand(0).dtype.kind == "O" or not (roundings or error or reach):
            return Enclosed(x)
        binary = binary or self.format()
        if binary is None:
            return Enclosed(x)
        relative, half, _, enlarged = _bounds(binary, roundings)
        size = highest(x) if magnitude is None else magnitude
        if error is None:
            halves = 2 * roundings if underflow is None else underflow
            error = relative * size + halves * half if size else Fraction(0)
        magnitudes = [each if enlarged == 1 else each * enlarged for each in reach]
        if magnitude is not None:
            magnitudes.append(size + error)
        # Roundings do not move what is not finite.
        moved = Fraction(0) if isinstance(x, Number) and not x.is_finite else error
        return Enclosed(x, moved, max(magnitudes, default=Fraction(0)))

    def with_balls(self, binary: BinaryFormat | None) -> "BallNode":
        """The node with a ball for each float, which is not finite where the float is not."""
        operands = (
            o if o is None or o.dtype.kind in "biu" else _as_balls(o) for o in self.operands
        )
        return BallNode(self.version, self.attributes, tuple(operands), self.edition, binary)


def _as_balls(array: Array) -> Exact:
    if are_balls(array):
        return tensor(map(ball_of, array.ravel().tolist()), array.shape)
    with np.errstate(invalid="ignore"):
        wide = array.astype(np.float64)
    return tensor(map(ball_type(), wide.ravel().tolist()), array.shape)


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
        return _as_balls(array)
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

    def rounded(  # noqa: PLR0913 - those of `Node.rounded`
        self,
        x: "arb",
        roundings: int = 0,
        magnitude: "arb | None" = None,
        *,
        reach: Iterable[Any] = (),
        underflow: "arb | int | None" = None,
        error: Fraction | None = None,
        binary: BinaryFormat | None = None,
    ) -> "arb":
        """What roundings may make of a result, the last one included; itself over the reals.

        The arguments are those of `Node.rounded`, with balls for numbers; the format is the node's.
        """
        if self.binary is None:
            return x
        if error:
            x += ball_type()(0, ball_of(error).upper())
        binary = binary or self.binary
        size = abs(x) if magnitude is None else magnitude
        if size == 0 and (magnitude is not None or not roundings):
            return x
        relative, half, limit, enlarged = _balls_of_bounds(binary, roundings + 1)
        halves = 2 * roundings if underflow is None else underflow
        off = relative * size + half * (halves + 2)
        if not (size + off < limit and all(each * enlarged < limit for each in reach)):
            return anything()
        return x + ball_type()(0, off.upper())

    def unbounded(self, operator: str) -> None:
        """Raise an error with a format, because no bound of an operator's error is known.

        Raises:
            NotFollowedError: There is a format.
        """
        if self.binary is not None:
            raise NotFollowedError(f"no bound of the error of {operator} is known")


@cache
def _bounds(binary: BinaryFormat, roundings: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The relative error of roundings, half a subnormal number, and a limit of magnitudes.

    The limit is that of a sum with its error. Of a magnitude to which the relative error is still
    added half of it fits below the largest number of the format; the last number enlarges others.
    """
    relative, limit = relative_error(roundings, binary), power_of_two(binary.largest_exponent)
    return relative, half_a_subnormal(binary), limit, max(Fraction(1), 2 * relative)


@cache
def _balls_of_bounds(binary: BinaryFormat, roundings: int) -> "Sequence[arb]":
    return [ball_of(bound).upper() for bound in _bounds(binary, roundings)]


def broadcast(*arrays: Array) -> Sequence[Array]:
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
    alone = len({array.shape for array in arrays}) == 1
    spread = arrays if alone else broadcast(*arrays)
    return tensor(map(compute, *(each.ravel().tolist() for each in spread)), spread[0].shape)


def size_of_result(node: Node) -> int:
    """The number of elements of the broadcast operands."""
    return broadcast(*node.given())[0].size if node.given() else 0


def size_of_first(node: Node) -> int:
    """The number of elements of the first operand."""
    return node.operand(0).size

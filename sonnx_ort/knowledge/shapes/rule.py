"""Rules for the shapes of an operator's outputs, and the symbolic sizes they use."""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import trunc
from typing import Any

import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.certificates.checker.arithmetic import is_within
from sonnx_ort.knowledge.declarations import constant_tensor

_MOST_TERMS = 1024
_MOST_CHARACTERS = 1 << 14
_LARGEST_COEFFICIENT = (1 << 63) - 1
"""A size of more terms, more characters in symbols or a larger coefficient is left open."""

Term = tuple[tuple[str, ...], int]
"""A product of symbols and its coefficient."""


@dataclass(frozen=True, slots=True)
class Symbolic:
    """A polynomial of symbols in canonical form; the empty product is the constant term.

    A symbol is the name of an open size, or a function of sizes as text. Equal polynomials are
    equal in every run, even if int64 wraps. Two of them cannot be subtracted: symbols of two inputs
    may have the same name but different values, and the difference would be a number.
    """

    terms: tuple[Term, ...]

    @classmethod
    def named(cls, symbol: str) -> "Symbolic":
        """An open size with a name, or a function of sizes as text."""
        return cls((((symbol,), 1),))

    @property
    def is_short(self) -> bool:
        """Whether it is within the limits of what is kept, as each of a chain can double."""
        characters = sum(len(symbol) for symbols, _ in self.terms for symbol in symbols)
        largest = max(abs(times) for _, times in self.terms)
        return (
            len(self.terms) <= _MOST_TERMS
            and characters <= _MOST_CHARACTERS
            and largest <= _LARGEST_COEFFICIENT
        )

    def __add__(self, other: "Size") -> "Size":
        """Add a polynomial or a number."""
        total = Counter(dict(self.terms))
        total.update(dict(_terms(other)))
        return _size(total)

    __radd__ = __add__

    def __sub__(self, other: int) -> "Size":
        """Subtract a number."""
        return self + -other

    def __mul__(self, other: "Size") -> "Size":
        """Multiply by a polynomial or a number.

        Raises:
            Unknown: The product can have too many terms.
        """
        if len(self.terms) * len(_terms(other)) > _MOST_TERMS:
            raise Unknown
        product: Counter[tuple[str, ...]] = Counter()
        for symbols, times in self.terms:
            for others, count in _terms(other):
                product[tuple(sorted((*symbols, *others)))] += times * count
        return _size(product)

    __rmul__ = __mul__

    def __str__(self) -> str:
        """Format the sum, such as `2*m*n + n + 1`."""
        parts = [
            "*".join([*([str(times)] if times != 1 or not symbols else []), *symbols])
            for symbols, times in sorted(self.terms, key=lambda term: (not term[0], term))
        ]
        return " + ".join(parts).replace("+ -", "- ")


Size = int | Symbolic
"""The size of an axis, or an element of a tensor of sizes."""

Sizes = tuple[Size, ...]
"""A shape of numbers and symbols."""

PartialSizes = tuple[Size | None, ...]
"""A shape or elements of which some are unknown."""


def quotient(size: Size, divisor: int) -> Size:
    """Divide a size by a positive number, rounding towards zero as kernels do."""
    if divisor == 1:
        return size
    if isinstance(size, int):
        return trunc(Fraction(size, divisor))
    dividend = str(size) if len(size.terms) == 1 else f"({size})"
    return Symbolic.named(f"trunc({dividend}/{divisor})")


def _terms(size: Size) -> tuple[Term, ...]:
    return size.terms if isinstance(size, Symbolic) else (((), size),)


def _size(terms: Counter[tuple[str, ...]]) -> Size:
    kept = tuple(sorted((symbols, times) for symbols, times in terms.items() if times))
    if not any(symbols for symbols, _ in kept):
        return kept[0][1] if kept else 0
    return Symbolic(kept)


_MAX_ELEMENTS = 64
"""Tensors of sizes, axes or counts with more elements are not read."""


class Unknown(Exception):  # noqa: N818 - names a condition
    """An input of a rule is not certain, so the shapes of the node are unknown."""


class Anything:
    """Allows all values of an attribute, integers in the range in which rules hold."""

    def __contains__(self, value: object) -> bool:
        """Whether all integers are in this range."""
        return is_within(_listed(value))


class Everything:
    """Allows all values of an attribute, for rules that hold for every integer."""

    def __contains__(self, value: object) -> bool:
        """Return True."""
        return True


class AtLeast:
    """Allows integers from a minimum to the largest for which rules hold, or lists of such."""

    def __init__(self, smallest: int) -> None:
        """Store the minimum."""
        self._smallest = smallest

    def __contains__(self, value: object) -> bool:
        """Whether all integers are in this range."""
        numbers = _listed(value)
        return is_within(numbers) and all(
            isinstance(number, int) and number >= self._smallest for number in numbers
        )


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]


ANY = Anything()
EVERY = Everything()
FLAG: Container[object] = (0, 1)
POSITIVE = AtLeast(1)
NOT_NEGATIVE = AtLeast(0)


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """The certain shapes of an operator's outputs.

    Attributes:
        since: The first and the last verified version of the operator.
        shapes: Returns the sizes of each output; None for an open size and for an unknown output.
            Raises `Unknown` if nothing is certain.
        attributes: The verified values of each attribute. For other values or attributes nothing is
            certain: inference treats a flag of 2 as set, and kernels as unset.
    """

    since: tuple[int, int]
    shapes: Callable[["KnownInputs"], Sequence[PartialSizes | None]]
    attributes: Mapping[str, Container[object]] = field(default_factory=dict)

    def applies(self, node: ir.Node, version: int) -> bool:
        """Whether the node and the operator's version are among the verified ones."""
        first, last = self.since
        return first <= version <= last and all(
            not attribute.is_ref()
            and name in self.attributes
            and attribute.value in self.attributes[name]
            for name, attribute in node.attributes.items()
        )


@dataclass(frozen=True, slots=True)
class KnownInputs:
    """A node and the certain facts about its inputs.

    Attributes:
        version: The version of its operator.
        contents: The certain elements of tensors of sizes.
        shared: The names of dimensions that several axes of the model's inputs share.
    """

    node: ir.Node
    version: int
    shapes: Mapping[ir.Value, Sizes]
    contents: Mapping[ir.Value, PartialSizes]
    shared: frozenset[str]

    def value(self, index: int) -> ir.Value | None:
        """The input at this index; None if it is omitted."""
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def shape(self, index: int) -> Sizes:
        """The shape of the input at this index.

        Raises:
            Unknown: Its rank is not certain.
        """
        shape = self.shape_if_known(index)
        if shape is None:
            raise Unknown
        return shape

    def shape_if_known(self, index: int) -> Sizes | None:
        """The shape of an input; None if its rank is not certain or it is omitted."""
        value = self.value(index)
        return None if value is None else self.shapes.get(value)

    def elements(self, index: int) -> PartialSizes:
        """The elements of an input of sizes; None for unknown ones if only their number is certain.

        Raises:
            Unknown: The number of elements is not certain.
        """
        value = self.value(index)
        if value is not None and value in self.contents:
            return self.contents[value]
        match self.shape(index):
            case (int() as count,) if count <= _MAX_ELEMENTS:
                return (None,) * count
        raise Unknown

    def integers(self, index: int) -> list[int]:
        """The elements of a constant input, in the range in which rules hold.

        Raises:
            Unknown: It is not constant, too large, or has an element beyond this range.
        """
        elements = self.every_integer(index)
        if not is_within(elements):
            raise Unknown
        return elements

    def every_integer(self, index: int) -> list[int]:
        """The elements of a constant input, for rules that hold for every integer.

        Raises:
            Unknown: It is not constant, or too large.
        """
        value = self.value(index)
        elements = None if value is None else small_constant(value)
        if elements is None or elements.dtype.kind not in "iu":
            raise Unknown
        return [int(element) for element in elements.ravel()]

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or the default if it is omitted."""
        attribute = self.node.attributes.get(name)
        return default if attribute is None else attribute.value

    def axis(self, default: int, rank: int) -> int:
        """The attribute axis, or a default, as a non-negative index for this rank.

        Raises:
            Unknown: There is no such axis.
        """
        return counted_from_the_front(self.attribute("axis", default), rank)


def counted_from_the_front(axis: int, rank: int) -> int:
    """An axis, which may be negative, as a non-negative index.

    Raises:
        Unknown: There is no such axis.
    """
    if not -rank <= axis < rank:
        raise Unknown
    return axis % rank


def small_constant(value: ir.Value) -> npt.NDArray[Any] | None:
    """The elements of a constant; None if it is not constant or too large."""
    tensor = constant_tensor(value)
    return None if tensor is None or tensor.size > _MAX_ELEMENTS else tensor.numpy()

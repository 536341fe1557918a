"""Rules for the shapes of an operator's outputs, and the sizes that they compute with."""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import trunc
from typing import Any

import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.knowledge.declarations import constant_tensor

Term = tuple[tuple[str, ...], int]
"""A product of symbols, and how often it is taken."""


@dataclass(frozen=True, slots=True)
class Symbolic:
    """A sum of products of symbols, in one form for all that are equal as polynomials.

    A symbol is the name of an open size, or a function of sizes as text. Equality is that of the
    polynomials, so equal ones are equal in every run, even where int64 wraps. There is no
    difference of two of them: the symbols of two inputs may bear one name and not be equal, and a
    difference would make a number of them.

    Attributes:
        terms: The products, sorted; the empty product stands for the number that is added.
    """

    terms: tuple[Term, ...]

    @classmethod
    def named(cls, symbol: str) -> "Symbolic":
        """An open size.

        Args:
            symbol: Its name, or a function of sizes as text.
        """
        return cls((((symbol,), 1),))

    def __add__(self, other: "Size") -> "Size":
        """Add the terms."""
        total = Counter(dict(self.terms))
        total.update(dict(_terms(other)))
        return _size(total)

    __radd__ = __add__

    def __sub__(self, other: int) -> "Size":
        """Take a number away."""
        return self + -other

    def __mul__(self, other: "Size") -> "Size":
        """Multiply each term with each."""
        product: Counter[tuple[str, ...]] = Counter()
        for symbols, times in self.terms:
            for others, count in _terms(other):
                product[tuple(sorted((*symbols, *others)))] += times * count
        return _size(product)

    __rmul__ = __mul__

    def __str__(self) -> str:
        """Give the sum as people write it: `2*m*n + n + 1`."""
        parts = [
            "*".join([*([str(times)] if times != 1 or not symbols else []), *symbols])
            for symbols, times in sorted(self.terms, key=lambda term: (not term[0], term))
        ]
        return " + ".join(parts).replace("+ -", "- ")


Size = int | Symbolic
"""The size of an axis, or an element of a tensor that holds sizes."""

Sizes = tuple[Size, ...]
"""A shape of which each size is a number or has a name."""

PartialSizes = tuple[Size | None, ...]
"""A shape of which some sizes are open, or elements of which some are unknown."""


def quotient(size: Size, divisor: int) -> Size:
    """Divide a size by a positive number and round towards zero, as kernels do.

    Args:
        size: The size.
        divisor: The number.
    """
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


_LARGE = 64
"""No tensor of sizes, axes or counts has more elements."""


class Unknown(Exception):  # noqa: N818 - reads as what happened
    """What a rule asks for is not certain, so that it says nothing of the node."""


class Anything:
    """All values of an attribute."""

    def __contains__(self, value: object) -> bool:
        """Allow the value."""
        return True


class AtLeast:
    """Integers from a smallest one on, or lists of such."""

    def __init__(self, smallest: int) -> None:
        """Take the smallest allowed integer."""
        self._smallest = smallest

    def __contains__(self, value: object) -> bool:
        """Whether all integers are large enough."""
        numbers = value if isinstance(value, list | tuple) else [value]
        return all(isinstance(number, int) and number >= self._smallest for number in numbers)


ANY = Anything()
FLAG: Container[object] = (0, 1)
POSITIVE = AtLeast(1)
NOT_NEGATIVE = AtLeast(0)


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """What is certain of the shapes of an operator's outputs.

    Attributes:
        since: The versions of the operator that it was verified for, from the first to the last.
        shapes: Gives for each output its sizes; None for a size that is open, and for an output of
            which nothing is certain. Raises `Unknown` if that goes for all of them.
        attributes: The values that were verified of each attribute. A node that has another value,
            or another attribute, is one of which nothing is certain: inference engines take a flag
            of 2 for set where kernels take it for unset.
    """

    since: tuple[int, int]
    shapes: Callable[["KnownInputs"], Sequence[PartialSizes | None]]
    attributes: Mapping[str, Container[object]] = field(default_factory=dict)

    def applies(self, node: ir.Node, version: int) -> bool:
        """Whether the node is one of those that were verified.

        Args:
            node: A node of the rule's operator.
            version: The version of the operator that the model imports.
        """
        first, last = self.since
        return first <= version <= last and all(
            not attribute.is_ref()
            and name in self.attributes
            and attribute.value in self.attributes[name]
            for name, attribute in node.attributes.items()
        )


@dataclass(frozen=True, slots=True)
class KnownInputs:
    """A node, and what is certain of its inputs.

    Attributes:
        node: The node.
        version: The version of its operator.
        shapes: The shapes of values, where they are certain.
        contents: The elements of tensors that hold sizes, where they are certain.
        shared: The names that more than one axis of the model's inputs is declared with.
    """

    node: ir.Node
    version: int
    shapes: Mapping[ir.Value, Sizes]
    contents: Mapping[ir.Value, PartialSizes]
    shared: frozenset[str]

    def value(self, index: int) -> ir.Value | None:
        """An input; None if it is left out.

        Args:
            index: Its position.
        """
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def shape(self, index: int) -> Sizes:
        """The shape of an input.

        Args:
            index: Its position.

        Raises:
            Unknown: Not even its rank is certain.
        """
        shape = self.shape_if_known(index)
        if shape is None:
            raise Unknown
        return shape

    def shape_if_known(self, index: int) -> Sizes | None:
        """The shape of an input; None if not even its rank is certain, or it is left out.

        Args:
            index: Its position.
        """
        value = self.value(index)
        return None if value is None else self.shapes.get(value)

    def elements(self, index: int) -> PartialSizes:
        """The elements of an input that holds sizes; open ones where only their number is certain.

        Args:
            index: Its position.

        Raises:
            Unknown: Not even the number of its elements is certain.
        """
        value = self.value(index)
        if value is not None and value in self.contents:
            return self.contents[value]
        match self.shape(index):
            case (int() as count,) if count <= _LARGE:
                return (None,) * count
        raise Unknown

    def integers(self, index: int) -> list[int]:
        """The elements of a constant input.

        Args:
            index: Its position.

        Raises:
            Unknown: They are not the same in every run, or there are many.
        """
        value = self.value(index)
        elements = None if value is None else small_constant(value)
        if elements is None or elements.dtype.kind not in "iu":
            raise Unknown
        return [int(element) for element in elements.ravel()]

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute.

        Args:
            name: Its name.
            default: What it is where the node leaves it out.
        """
        attribute = self.node.attributes.get(name)
        return default if attribute is None else attribute.value

    def axis(self, name: str, default: int, rank: int) -> int:
        """The axis in an attribute, counted from the front.

        Args:
            name: The attribute.
            default: The axis if it is left out.
            rank: The rank that it counts in.

        Raises:
            Unknown: There is no such axis.
        """
        return counted_from_the_front(self.attribute(name, default), rank)


def counted_from_the_front(axis: int, rank: int) -> int:
    """An axis that may be counted from the end.

    Args:
        axis: The axis.
        rank: The rank that it counts in.

    Raises:
        Unknown: There is no such axis.
    """
    if not -rank <= axis < rank:
        raise Unknown
    return axis % rank


def small_constant(value: ir.Value) -> npt.NDArray[Any] | None:
    """The elements of a value, if they are few and the same in every run.

    Args:
        value: The value.
    """
    tensor = constant_tensor(value)
    return None if tensor is None or tensor.size > _LARGE else tensor.numpy()

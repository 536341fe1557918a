"""What a rule may read of a node, and what rules an operator can have."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy.typing as npt

from .ranges import Interval
from .sizes import Bounds, PartialSizes, Rejected, Sizes, from_the_front, is_within, require

IEEE_FLOATS = frozenset({"float16", "float", "double"})
"""The names of the floating-point types of IEEE 754."""

FLOATS = IEEE_FLOATS | {"bfloat16"}
INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
NUMBERS = FLOATS | INTEGERS
"""The names of the numeric types."""

MAX_ELEMENTS = 64
"""Tensors of sizes, axes or counts with more elements are not read."""


Value = Any
"""What stands for a value of a graph: equal for two that are one value, and hashable."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph, or the body of a node.

    Attributes:
        inputs: The values that it takes.
        stored: The values that it stores, without defaults of inputs.
        nodes: Its nodes, each after those whose results it reads.
        outputs: The values that it gives.
    """

    inputs: Sequence[Value]
    stored: Sequence[Value]
    nodes: "Sequence[Node]"
    outputs: Sequence[Value]


class Node(ABC):
    """A node, and the facts about its operands.

    Attributes:
        domain: The domain of the operator; empty for a standard one.
        op_type: The operator.
        version: The version of the operator, not of the opset.
        inputs: What stands for each operand, equal for two that are one value; None for those that
            are omitted.
        outputs: What stands for each result; None for those that are omitted.
        fact: The type, shape, elements, bounds or interval of a value; None if it is not known.
        unverified: Why its version or an attribute is not verified, empty if all are; None as long
            as nobody asked.
    """

    __slots__ = (
        "_bodies",
        "domain",
        "fact",
        "inputs",
        "op_type",
        "outputs",
        "unverified",
        "version",
    )

    def __init__(  # noqa: PLR0913 - what a node is
        self,
        domain: str,
        op_type: str,
        version: int,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value | None],
        *,
        fact: Callable[[str, Value], Any],
    ) -> None:
        """Store what a node is."""
        self._bodies: Sequence[Graph] | None = None
        self.unverified: str | None = None
        self.domain = domain
        self.op_type = op_type
        self.version = version
        self.inputs = inputs
        self.outputs = outputs
        self.fact = fact

    @property
    def bodies(self) -> Sequence[Graph]:
        """The graphs that its attributes hold."""
        if self._bodies is None:
            self._bodies = self._read_bodies()
        return self._bodies

    @abstractmethod
    def _read_bodies(self) -> Sequence[Graph]:
        """The same, read of the model."""

    @property
    def operands(self) -> int:
        """How many operands it has, with those that are omitted."""
        return len(self.inputs)

    @property
    def results(self) -> int:
        """How many results it has, with those that are omitted."""
        return len(self.outputs)

    @property
    @abstractmethod
    def is_verified(self) -> bool:
        """Whether rules are verified for its operator, its version and its attributes."""

    @property
    @abstractmethod
    def shared(self) -> frozenset[str]:
        """Symbols that several axes of inputs share, which ONNX Runtime does not check."""

    @abstractmethod
    def attributes(self) -> Iterable[tuple[str, Any]]:
        """The names and values of its attributes; `REFERENCE` for one that refers to another."""

    @abstractmethod
    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, strings as text, or the default if it is omitted."""

    def operand(self, index: int) -> Any:
        """What stands for an operand; None if it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def result(self, index: int) -> Any:
        """What stands for a result; None if it is omitted."""
        return self.outputs[index]

    @property
    def read(self) -> list[Value]:
        """The values of the operands that are not omitted."""
        return [value for value in self.inputs if value is not None]

    @property
    def written(self) -> list[Value]:
        """The values of the results that are not omitted."""
        return [value for value in self.outputs if value is not None]

    def _operand_fact(self, kind: str, index: int) -> Any:
        value = self.operand(index)
        return None if value is None else self.fact(kind, value)

    def given(self, index: int) -> bool:
        """Whether an operand is there and not omitted."""
        return self.operand(index) is not None

    def known_shape(self, index: int) -> Sizes | None:
        """The shape of an operand; None if its rank is not known or it is omitted."""
        shape: Sizes | None = self._operand_fact("shape", index)
        return shape

    def known_elements(self, index: int) -> PartialSizes | None:
        """The elements of an operand that is a vector or scalar of sizes; None if not known."""
        elements: PartialSizes | None = self._operand_fact("elements", index)
        return elements

    @abstractmethod
    def constant(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of an operand that is a small constant; None if it is not."""

    def type(self, index: int = 0) -> str | None:
        """The type of an operand's elements; None if it is not known or the operand omitted."""
        element_type: str | None = self._operand_fact("type", index)
        return element_type

    def result_type(self, index: int) -> str | None:
        """The type of a result's elements; None if it is not known."""
        element_type: str | None = self.fact("type", self.result(index))
        return element_type

    def known_bounds(self, index: int) -> Bounds | None:
        """The interval of an operand's integers, if it is narrower than their type."""
        bounds: Bounds | None = self._operand_fact("bounds", index)
        return bounds

    def known_interval(self, index: int) -> Interval | None:
        """The interval of an operand's floats; None if nothing is known of them."""
        interval: Interval | None = self._operand_fact("interval", index)
        return interval

    @abstractmethod
    def weights(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of an operand that is a constant of any size; None if it is not."""

    def is_same(self, one: int, other: int) -> bool:
        """Whether two operands are the same value."""
        own = self.operand(one)
        return own is not None and bool(own == self.operand(other))

    @abstractmethod
    def source(self, index: int) -> "Node | None":
        """The node of a standard operator whose first result is an operand; None if not known."""

    @abstractmethod
    def tensor(self, name: str) -> npt.NDArray[Any] | None:
        """The elements of an attribute that is a tensor; None if it is none or omitted."""

    @abstractmethod
    def held_type(self, name: str) -> str | None:
        """The type that an attribute is, or that of the tensor that it is, as ONNX writes it."""

    @abstractmethod
    def is_free(self, index: int) -> bool:
        """Whether an operand is an input of the model or a small constant."""

    @abstractmethod
    def held_shape(self) -> Sizes | None:
        """The shape of the tensor that a Constant holds; None if it is not known."""

    def shape(self, index: int = 0) -> Sizes:
        """The shape of an operand.

        Raises:
            Rejected: Its rank is not known.
        """
        shape = self.known_shape(index)
        if shape is None:
            raise Rejected(f"the shape of operand {index} is not known")
        return shape

    def operand_shapes(self) -> list[Sizes]:
        """The shapes of all operands.

        Raises:
            Rejected: A rank is not known.
        """
        return [self.shape(index) for index in range(self.operands)]

    def elements(self, index: int) -> PartialSizes:
        """The elements of an operand of sizes; None for those that are not known.

        Raises:
            Rejected: Not even their number is known.
        """
        known = self.known_elements(index)
        if known is not None:
            return known
        match self.known_shape(index):
            case (int() as count,) if count <= MAX_ELEMENTS:
                return (None,) * count
        raise Rejected(f"the elements of operand {index} are not known")

    def small_elements(self, index: int) -> PartialSizes:
        """The elements of an operand of sizes, in the range in which rules hold.

        Raises:
            Rejected: Not even their number is known, or one is beyond this range.
        """
        elements = self.elements(index)
        require(is_within(elements), "a number is beyond int32")
        return elements

    def integers(self, index: int) -> list[int]:
        """The known elements of an operand of integers, in the range in which rules hold.

        Raises:
            Rejected: They are not known, or one is beyond this range.
        """
        elements = self.every_integer(index)
        require(is_within(elements), "a number is beyond int32")
        return elements

    def every_integer(self, index: int) -> list[int]:
        """The known elements of an operand of integers, for rules that hold for all of these.

        Raises:
            Rejected: They are not known.
        """
        known = self.every_element(index)
        numbers = [element for element in known if isinstance(element, int)]
        require(len(numbers) == len(known), f"an element of operand {index} is not known")
        return numbers

    def every_element(self, index: int) -> PartialSizes:
        """The elements of an operand of sizes, for rules that hold for all integers.

        Raises:
            Rejected: Not even their number is known.
        """
        elements = self.constant(index)
        if elements is None:
            return self.elements(index)
        require(elements.dtype.kind in "iu", f"operand {index} has no integers")
        return tuple(int(element) for element in elements.ravel())

    def axis(self, default: int, rank: int) -> int:
        """The attribute axis, or a default, as an index from the front.

        Raises:
            Rejected: There is no such axis.
        """
        return from_the_front(self.attribute("axis", default), rank)


REFERENCE = object()
"""The value of an attribute that refers to a parameter of a function."""


class Anything:
    """Allows all values of an attribute, integers in the range in which rules hold."""

    def __contains__(self, value: object) -> bool:
        """Whether all integers are in this range."""
        return is_within(_as_list(value))


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
        numbers = _as_list(value)
        return is_within(numbers) and all(
            isinstance(number, int) and number >= self._smallest for number in numbers
        )


def _as_list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]


ANY = Anything()
EVERY = Everything()
FLAG: Container[object] = (0, 1)
POSITIVE = AtLeast(1)
NOT_NEGATIVE = AtLeast(0)

Shapes = Sequence[PartialSizes | None]
"""The shape of each result; None for an open size, and for a result of which nothing is known."""


ElementsRule = Callable[[Node], PartialSizes]
"""Gives the elements of the first result, a vector or scalar of sizes; None for open ones."""

BoundsRule = Callable[[Node], Sequence[Bounds | None]]
"""Gives an interval of integers for each result, or None for one of which nothing is known."""

IntervalRule = Callable[[Node], Sequence[Interval | None]]
"""Gives an interval for each float result, or None for one of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Whose elements the results of a node have; they have no others, but 0 for -0.

    Attributes:
        operands: The operands.
        zero: Whether 0 may be among the elements, without a sign.
        results: How many of the results have these elements; None for all.
    """

    operands: Sequence[int]
    zero: bool = False
    results: int | None = None


Moves = Callable[[Node], Moved]
"""Tells whose elements results have. Raises `Rejected` where they may have others."""


def of_open_rank(node: Node) -> Shapes:
    """Reject every node: the operator has no rule of shapes, for the rank of results is open."""
    raise Rejected(f"a {node.op_type} has no rule")


@dataclass(frozen=True, slots=True)
class Rules:
    """What is known of an operator's results, in every run that continues.

    Each rule raises `Rejected` for a node of which it knows nothing.

    Attributes:
        since: The first and the last verified version of the operator.
        shapes: Gives the shapes of a node's results.
        attributes: The verified values of each attribute. For other values or attributes nothing is
            known: inference treats a flag of 2 as set, and kernels as unset.
        moves: Tells whose elements the results have, if the operator makes no others.
        elements: Gives the elements of the first result, if it is a vector or scalar of sizes.
        bounds: Gives intervals of integers. By default they follow from `moves`.
        interval: Gives intervals of floats. By default they follow from `moves`.
    """

    since: tuple[int, int]
    shapes: Callable[[Node], Shapes] = of_open_rank
    attributes: Mapping[str, Container[object]] = field(default_factory=dict)
    _: KW_ONLY
    moves: Moves | None = None
    elements: ElementsRule | None = None
    bounds: BoundsRule | None = None
    interval: IntervalRule | None = None

    def require_verified(self, node: Node) -> None:
        """Reject a node whose version or attributes are not among the verified ones.

        Raises:
            Rejected: They are not.
        """
        if node.unverified is None:
            node.unverified = self._what_is_unverified(node)
        require(not node.unverified, f"{node.unverified} is not verified")

    def _what_is_unverified(self, node: Node) -> str:
        first, last = self.since
        if not first <= node.version <= last:
            return f"version {node.version}"
        for name, value in node.attributes():
            known = value is not REFERENCE and name in self.attributes
            if not known or value not in self.attributes[name]:
                return name or "an attribute without a name"
        return ""


def axes_to_reduce(node: Node) -> Sequence[int]:
    """The axes that a reduction reduces, as they are given.

    Raises:
        Rejected: They are not known.
    """
    axes: Sequence[int] | None = node.integers(1) if node.given(1) else node.attribute("axes")
    if axes:
        return axes
    require(not node.attribute("noop_with_empty_axes"), "its axes are not given")
    return range(len(node.shape(0)))


def reduced_axes(node: Node) -> tuple[list[int], int]:
    """The axes that a reduction reduces, counted from the front, and the rank.

    Raises:
        Rejected: They are not known.
    """
    rank = len(node.shape(0))
    return sorted({from_the_front(axis, rank) for axis in axes_to_reduce(node)}), rank

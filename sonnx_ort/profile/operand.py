"""What a rule may know of an operand before anything runs."""

import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_NAME = re.compile(r"[^\W\d]\w*")

Dimension = int | str | None
"""A size, a symbol such as "batch", or None where nothing is known."""

Shape = tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of integers, both ends included."""

    lower: int
    upper: int

    def __contains__(self, number: int) -> bool:
        """Whether a number lies in the interval."""
        return self.lower <= number <= self.upper

    def __str__(self) -> str:
        """Give the interval as `0 to 7`."""
        return f"{self.lower} to {self.upper}"


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a node, as far as it is known from premises that a file cannot claim falsely.

    Attributes:
        name: Its name in the operator's document, such as "A".
        value: The name of the value in the graph.
        origin: Where the knowledge comes from: 'input', 'initializer', "Conv 'c1'".
        element_type: The ONNX name of the element type, numeric or not; None if unknown.
        shape: One entry per dimension; None if not even the rank is known.
        sparse: Whether the value is a sparse tensor.
        constant: Its elements, where they are the same in every run.
        bounds: An interval that its elements stay in, where that is known of integers.
        shared_symbols: Symbols that more than one dimension is declared with of the model's
            inputs that the node depends on. ONNX Runtime does not hold these to one size, so
            equal ones prove nothing.
        scalar_inputs: Whether one of these inputs is declared as a scalar. ONNX Runtime takes
            tensors of any rank for it, so that no shape is certain.
    """

    name: str
    value: str
    origin: str
    element_type: str | None = None
    shape: Shape | None = None
    sparse: bool = False
    constant: npt.NDArray[Any] | None = None
    bounds: Bounds | None = None
    shared_symbols: frozenset[str] = frozenset()
    scalar_inputs: bool = False

    def certain(self, dimension: Dimension) -> bool:
        """Whether an equal dimension of another operand is equal in every run.

        Args:
            dimension: A dimension of this operand's shape.
        """
        if not isinstance(dimension, str):
            return dimension is not None
        return self.shared_symbols.isdisjoint(symbols_in((dimension,)))

    def __str__(self) -> str:
        """Give the operand as a message names it: `A 'x' float (n, 3) [input]`."""
        element_type = self.element_type or "unknown type"
        shape = format_shape(self.shape)
        return f"{self.name} '{self.value}' {element_type} {shape} [{self.origin}]"


def symbols_in(shape: Shape | None) -> list[str]:
    """The names in a shape, each as often as it occurs: `n` and `m` in `(n, 2*m + 1)`.

    Args:
        shape: The shape; None, for an unknown rank, has none.
    """
    return [name for d in shape or () if isinstance(d, str) for name in _NAME.findall(d)]


def format_shape(shape: Shape | None) -> str:
    """Give a shape as Python writes tuples, with symbols bare: `(n, 3)`, `(4,)`, `(?,)`.

    Args:
        shape: The shape; None stands for an unknown rank.
    """
    if shape is None:
        return "(rank unknown)"
    entries = ["?" if dimension is None else str(dimension) for dimension in shape]
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def has_known_sizes(shape: Shape | None) -> bool:
    """Whether every size of a shape is known to be a number.

    Args:
        shape: The shape; None if the rank is unknown.
    """
    return shape is not None and all(isinstance(size, int) for size in shape)


def contradict(one: Shape | None, other: Shape | None) -> bool:
    """Whether no value can have both shapes: their ranks or two sizes differ, where known.

    Args:
        one: A shape; None if the rank is unknown.
        other: Another one.
    """
    if one is None or other is None:
        return False
    if len(one) != len(other):
        return True
    pairs = zip(one, other, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def broadcast_shape(*shapes: Shape | None) -> Shape | None:
    """The common shape that ONNX would broadcast to; None if there is none or a rank is unknown.

    A dimension of which one side is unknown comes out as the other side where that is larger
    than 1, and as unknown otherwise.

    Args:
        shapes: Shapes of any ranks, at least one.
    """
    return functools.reduce(_broadcast, shapes)


def _broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    left: Shape = (1,) * (rank - len(a)) + a
    right: Shape = (1,) * (rank - len(b)) + b
    common: list[Dimension] = []
    for one, other in zip(left, right, strict=True):
        match one, other:
            case _ if one == other and one is not None:
                common.append(one)
            case 1, _:
                common.append(other)
            case _, 1:
                common.append(one)
            case int(), int():
                return None
            case int(), _:
                common.append(one)
            case _, int():
                common.append(other)
            case _:
                common.append(None)
    return tuple(common)


def first_index(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The index of the first true element, in row-major order.

    Args:
        mask: An array of any rank with at least one true element.
    """
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))

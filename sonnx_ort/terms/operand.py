"""What a rule may use about an operand before any run."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.facts.ranges import Range
from sonnx_ort.facts.sizes import NAME, Bounds, PartialSizes, Symbolic
from sonnx_ort.terms.text import printable

Dimension = int | str | None
"""A size, a symbol such as "batch", or None if unknown."""

Shape = tuple[Dimension, ...]


class OpenSize(str):
    """The symbol of a size, with the polynomial that it stands for.

    Attributes:
        size: The polynomial.
    """

    __slots__ = ("size",)

    size: Symbolic

    def __new__(cls, size: Symbolic) -> "OpenSize":
        """Write a polynomial."""
        made = super().__new__(cls, size)
        made.size = size
        return made

    def __getnewargs__(self) -> tuple[Symbolic]:  # type: ignore[override]
        """What makes an equal symbol."""
        return (self.size,)


def dimensions(sizes: PartialSizes) -> Shape:
    """A shape with its open sizes as text."""
    return tuple(OpenSize(size) if isinstance(size, Symbolic) else size for size in sizes)


SIZES = Bounds(0, (1 << 63) - 1)
"""The sizes that an axis can have."""


def bounds_of_axis(dimension: Dimension) -> Bounds:
    """The sizes that an axis can have, if this is known of it."""
    known = bounds_of_element(dimension) or SIZES
    return Bounds(max(known.lower, 0), known.upper)


def bounds_of_element(dimension: Dimension) -> Bounds | None:
    """The numbers that an element of a vector of sizes can be; None if nothing is known."""
    if isinstance(dimension, int):
        return Bounds(dimension, dimension)
    return dimension.size.bounds if isinstance(dimension, OpenSize) else None


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a node, with facts from graph inputs, initializers and verified operators.

    Attributes:
        name: Its name in the operator's document, such as "A".
        value: The name of the value in the graph.
        origin: The origin of the value: 'input', 'initializer', "Conv 'c1'".
        element_type: The ONNX name of the element type, numeric or not; None if unknown.
        shape: One entry per dimension; None if the rank is unknown.
        sparse: Whether the value is a sparse tensor.
        constant: The elements of a constant.
        sizes: The elements of a vector of sizes, with symbols as in shapes.
        bounds: An interval that contains its integer elements, if known.
        range: An interval that contains its float elements, if known.
        shared_symbols: Symbols of more than one dimension of the graph inputs that the node depends
            on. ONNX Runtime does not check that these sizes are equal, so equal symbols prove
            nothing.
        scalar_inputs: Whether one of these inputs is declared as a scalar. ONNX Runtime accepts
            tensors of any rank for it, so no shape is certain.
        alike: Of an operand of unknown rank, a text: operands of one text have one shape in every
            run. None if nothing is known.
    """

    name: str
    value: str
    origin: str
    element_type: str | None = None
    shape: Shape | None = None
    sparse: bool = False
    constant: npt.NDArray[Any] | None = None
    sizes: Shape | None = None
    bounds: Bounds | None = None
    range: Range | None = None
    shared_symbols: frozenset[str] = frozenset()
    scalar_inputs: bool = False
    alike: str | None = None

    @property
    def interval(self) -> Bounds | None:
        """The smallest interval of a constant's integers; of other operands the known bounds."""
        constant = self.constant
        if constant is None or constant.size == 0 or constant.dtype.kind not in "iu":
            return self.bounds
        return Bounds(int(constant.min()), int(constant.max()))

    def certain(self, dimension: Dimension) -> bool:
        """Whether an equal dimension of another operand is equal in every run."""
        if not isinstance(dimension, str):
            return dimension is not None
        return self.shared_symbols.isdisjoint(symbols_in((dimension,)))

    def __str__(self) -> str:
        """Format the operand for messages: `A 'x' float (n, 3) [input]`."""
        element_type = self.element_type or "unknown type"
        shape = format_shape(self.shape)
        return printable(f"{self.name} '{self.value}' {element_type} {shape} [{self.origin}]")


def symbols_in(shape: Shape | None) -> list[str]:
    """The symbols in a shape, with repetitions: `n` and `m` in `(n, 2*m + 1)`.

    An unknown rank, None, has no symbols.
    """
    return [name for d in shape or () if isinstance(d, str) for name in NAME.findall(d)]


def format_shape(shape: Shape | None) -> str:
    """Format a shape like a Python tuple, with bare symbols: `(n, 3)`, `(4,)`, `(?,)`.

    None is an unknown rank.
    """
    if shape is None:
        return "(rank unknown)"
    entries = ["?" if dimension is None else str(dimension) for dimension in shape]
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def format_size(dimension: Dimension) -> str:
    """Format a size in a sentence: `4`, `n`, `unknown`."""
    return "unknown" if dimension is None else str(dimension)


def has_known_sizes(shape: Shape | None) -> bool:
    """Whether the rank and all sizes of a shape are known numbers."""
    return shape is not None and all(isinstance(size, int) for size in shape)


def contradict(one: Shape | None, other: Shape | None) -> bool:
    """Whether no value can have both shapes, because known ranks or sizes differ."""
    if one is None or other is None:
        return False
    if len(one) != len(other):
        return True
    pairs = zip(one, other, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def broadcast_shape(*shapes: Shape | None) -> Shape | None:
    """The common shape by ONNX broadcasting; None if there is none or a rank is unknown.

    Of an unknown and a known size, the result is the known one if it is larger than 1, and unknown
    otherwise.
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
    """The index of the first true element in row-major order; at least one must be true."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def format_index(index: tuple[int, ...]) -> str:
    """Format an index as `[1, 2]`; a scalar has no entries."""
    return f"[{', '.join(map(str, index))}]"

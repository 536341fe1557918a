"""The elements of vectors and scalars of integers that may be sizes, axes or counts."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import trunc
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from .bounds import EXACT_IN_DOUBLE, LIMITS
from .layout import axes_of, slices_of
from .node import MAX_ELEMENTS, ElementsRule, Node
from .shaping import HELD_BY_FLOATS, asked_for
from .sizes import (
    END_OF_ALL,
    Bounds,
    PartialSizes,
    Rejected,
    Size,
    Sizes,
    Symbolic,
    bounds_of_size,
    from_the_front,
    is_within,
    larger,
    quotient,
    require,
    selected,
    smaller,
)

T = TypeVar("T")

Array = npt.NDArray[Any]

HOLDING_SIZES = ("int32", "int64")
"""The types of tensors that can hold sizes."""

HELD: Mapping[str, Bounds] = {
    **{element_type: LIMITS[element_type] for element_type in HOLDING_SIZES},
    **dict.fromkeys(("float", "double"), HELD_BY_FLOATS),
}
"""The numbers that each type holds. Only a Cast gives floats, so that a Range can count in them."""


def elements_by(rule: ElementsRule, node: Node, element_type: str, shape: Sizes) -> PartialSizes:
    """The elements of a node's first result; None for those that are not known.

    Args:
        rule: The rule of its operator.
        node: The node, of a standard operator.
        element_type: The type of the result.
        shape: The shape of the result.

    Raises:
        Rejected: Nothing is known of them.
    """
    held = element_type in (HELD if node.op_type == "Cast" else HOLDING_SIZES)
    require(held and len(shape) <= 1, "it holds no sizes")
    found = rule(node)
    require(math.prod(shape) == len(found), "their number is not known")
    return tuple(_kept(each, HELD[element_type]) for each in found)


def _kept(element: Size | None, admitted: Bounds) -> Size | None:
    """An element, or None if it is beyond its type or too long."""
    if isinstance(element, Symbolic):
        return element if element.is_short else None
    return element if element is not None and element in admitted else None


def _is_within(element: Size | None, admitted: Bounds) -> bool:
    """Whether an open size is known to be within a type."""
    if not isinstance(element, Symbolic):
        return True
    known = element.bounds
    return known is not None and known.lower in admitted and known.upper in admitted


def converted(node: Node) -> PartialSizes:
    """Sizes in int64, or truncated to int32, which an axis can exceed, or if floats hold them."""
    elements = node.elements(0)
    match node.attribute("to"):
        case TensorProto.INT64:
            return elements
        case TensorProto.INT32:
            return tuple(
                each if _is_within(each, LIMITS["int32"]) else Symbolic.named(f"int32({each})")
                for each in elements
            )
    return tuple(each if _is_within(each, HELD_BY_FLOATS) else None for each in elements)


def picked(node: Node) -> PartialSizes:
    """Gather: the elements at the indices."""
    elements = node.elements(0)
    return tuple(elements[from_the_front(index, len(elements))] for index in node.integers(1))


def part(node: Node) -> PartialSizes:
    """Slice: what it selects."""
    return tuple(_sliced(node, _array(node.elements(0))))


def _sliced(node: Node, found: Array) -> Array:
    """What a Slice selects of a tensor of sizes."""
    for start, end, place, step in zip(*slices_of(node, found.ndim), strict=True):
        if not isinstance(start, int) or not isinstance(end, int):
            raise Rejected("a position is open")
        require(step > 0 or end not in END_OF_ALL, "kernels differ from the document")
        axis = from_the_front(place, found.ndim)
        found = found.take(list(selected(found.shape[axis], start, end, step)), axis)
    return found


def reshaped(node: Node) -> PartialSizes:
    """The elements of a vector, or of a tensor that was made of one by moving elements."""
    try:
        return node.elements(0)
    except Rejected:
        return tuple(_moved(node, 0).ravel())


_MOST_MOVES = 8
"""How many nodes are followed back to a vector. PyTorch writes three; others would be followed anew
for each vector that is made of them."""


def _moved(node: Node, index: int, left: int = _MOST_MOVES) -> Array:
    """An operand that Reshape, Slice and Transpose made of a vector, as PyTorch writes pads."""
    require(left, "it is moved by too many nodes")
    source, shape = node.source(index), node.known_shape(index) or ()
    known = [size for size in shape if isinstance(size, int)]
    few = len(known) == len(shape) > 1 and math.prod(known) <= MAX_ELEMENTS
    if source is None or not few:
        raise Rejected(f"the elements of operand {index} are not known")
    require(source.is_verified, f"a {source.op_type} is not verified")
    match source.op_type:
        case "Reshape":
            found = _array(source.elements(0))
            require(found.size == math.prod(known), "their number is not known")
            found = found.reshape(known)
        case "Slice":
            found = _sliced(source, _moved(source, 0, left - 1))
        case "Transpose":
            found = _moved(source, 0, left - 1).transpose(source.attribute("perm"))
        case operator:
            raise Rejected(f"the elements of a {operator} of this rank have no rule")
    require(found.shape == tuple(known), "their number is not known")
    return found


def _array(elements: PartialSizes) -> Array:
    """A vector of sizes, of which open ones are objects."""
    found = np.empty(len(elements), object)
    found[:] = elements
    return found


def product(node: Node) -> PartialSizes:
    """ReduceProd: the product of all."""
    require((axes_of(node) or [0]) == [0], "its axes are not known")
    product: Size = 1
    for each in node.elements(0):
        if each is None or bounds_of_size(each) is None:
            raise Rejected("a factor is open")
        product = product * each
        known = bounds_of_size(product)
        exact = known is not None and max(-known.lower, known.upper) <= EXACT_IN_DOUBLE
        require(exact, "the product may be rounded to double")
    return (product,)


def _calculated(calculate: Callable[[Size, Size], Size | None]) -> ElementsRule:
    """A rule for pairs of sizes, of which sums and products wrap in int64 alone."""

    def rule(node: Node) -> PartialSizes:
        require(node.operands == 2, "there are no two operands")
        found: PartialSizes = _of_pairs(calculate, node.elements(0), node.elements(1))
        if node.result_type(0) != "int64":
            within = all(_is_within(each, LIMITS["int32"]) for each in found)
            require(within, "a size may be beyond int32")
        return found

    return rule


def _of_pairs(
    calculate: Callable[[Size, Size], T | None], one: PartialSizes, other: PartialSizes
) -> tuple[T | None, ...]:
    """What is calculated of the elements of two vectors; one of a single element is repeated."""
    pairs = _side_by_side(one, other)
    return tuple(None if a is None or b is None else calculate(a, b) for a, b in pairs)


def _side_by_side(*vectors: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
    """The elements of vectors that are broadcast."""
    lengths = {len(each) for each in vectors}
    require(len(lengths - {1}) <= 1, "their lengths do not fit")
    count = 0 if 0 in lengths else max(lengths)
    return [tuple(each[k % len(each)] for each in vectors) for k in range(count)]


def chosen(node: Node) -> PartialSizes:
    """Where, if its condition compares sizes: so a size of -1 is replaced, as PyTorch writes it."""
    condition = node.source(0)
    if condition is None or condition.op_type != "Equal":
        raise Rejected("its condition compares no sizes")
    require(condition.is_verified, "its condition is not verified")
    answers = _of_pairs(_are_equal, condition.elements(0), condition.elements(1))
    chosen = _side_by_side(answers, node.elements(1), node.elements(2))
    return tuple(
        None if answer is None else one if answer else other for answer, one, other in chosen
    )


def _are_equal(one: Size, other: Size) -> bool | None:
    """Whether two sizes are equal in every run; None if that is not known."""
    a, b = bounds_of_size(one), bounds_of_size(other)
    if a is None or b is None or not _are_comparable(one, other):
        return None
    if a.upper < b.lower or b.upper < a.lower:
        return False
    return True if a.lower == a.upper == b.lower == b.upper else None


def repeated(node: Node) -> PartialSizes:
    """ConstantOfShape: one integer, so many times."""
    value, sizes = node.tensor("value"), node.elements(0)
    known = [size for size in sizes if isinstance(size, int)]
    require(len(known) == len(sizes) <= 1, "its length is not known")
    if value is None or value.size != 1:
        raise Rejected("it repeats no number")
    count = math.prod(known)
    require(0 <= count <= MAX_ELEMENTS, "it is too long")
    return (int(value.item()),) * count


def expanded(node: Node) -> PartialSizes:
    """Expand to a vector, along which a single element is repeated."""
    elements, sizes = node.elements(0), node.elements(1)
    require(len(sizes) == 1, "it gives no vector")
    (length,) = sizes
    if not isinstance(length, int) or not 0 < length <= MAX_ELEMENTS:
        raise Rejected("its length is not known, or too large")
    return tuple(each for each, _ in _side_by_side(elements, range(length)))


def _quotient(one: Size, other: Size) -> Size | None:
    if other == 1:
        return one
    if not isinstance(other, int) or not other:
        return None
    if isinstance(one, int):
        return trunc(Fraction(one, other))
    return quotient(one, other) if other > 0 and one.bounds is not None else None


def _remainder(one: Size, other: Size) -> Size | None:
    """What a division leaves; of numbers that are not negative both kinds of Mod give the same."""
    known = bounds_of_size(one)
    if known is None or known.lower < 0 or not isinstance(other, int) or other < 1:
        return None
    return one + quotient(one, other) * -other


def _larger(one: Size, other: Size) -> Size | None:
    return larger(one, other) if _are_comparable(one, other) else None


def _smaller(one: Size, other: Size) -> Size | None:
    return smaller(one, other) if _are_comparable(one, other) else None


def _are_comparable(*sizes: Size) -> bool:
    """Whether kernels until 1.31.1 compare numbers of int64 rightly: they are within int32."""
    ends = [bounds_of_size(size) for size in sizes]
    return all(each is not None and is_within((each.lower, each.upper)) for each in ends)


def same(node: Node) -> PartialSizes:
    """The elements of the first operand, in their order."""
    return node.elements(0)


def joined(node: Node) -> PartialSizes:
    """Concat: those of all operands."""
    return tuple(each for index in range(node.operands) for each in node.elements(index))


def shape_of(node: Node) -> PartialSizes:
    """Shape: the sizes that are asked for."""
    return node.shape()[asked_for(node)]


def count(node: Node) -> PartialSizes:
    """Size: the number of elements."""
    return (math.prod(node.shape()),)


def _difference(one: Size, other: Size) -> Size | None:
    """Only a name of a contract is one size wherever it stands, and is bounded."""
    return one + other * -1 if bounds_of_size(other) is not None else None


added = _calculated(operator.add)
divided = _calculated(_quotient)
largest = _calculated(_larger)
multiplied = _calculated(operator.mul)
remainder = _calculated(_remainder)
smallest = _calculated(_smaller)
subtracted = _calculated(_difference)
"""Add, Div, Max, Mul, Mod, Min and Sub."""

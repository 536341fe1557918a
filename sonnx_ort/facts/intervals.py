"""Intervals of floats: which numbers the elements of a tensor can be in any run that continues.

An interval is kept per tensor, or per index of some axes: its ends are arrays that broadcast to the
tensor, and an axis of length 1 speaks for all of its indices. They are computed in double and made
wider by more than any kernel of ONNX Runtime rounds, in whatever order it sums. What is beyond the
largest number of a type may be infinite, and what is below the smallest normal one may be 0, for a
session may flush it.

Some intervals follow from a value beside what its own elements give, which those of single operands
do not tell:

    x - ReduceMax(x)                                      not above 0
    ReduceSum(Exp(x - ReduceMax(x)))                      at least 1, but for rounding
    x / ReduceSum(x), of numbers that are not negative    at most 1
    x / Sqrt(ReduceMean(x * x) + e), x / ReduceL2(x)      at most the root of n, and 1

Softmax and normalizations that are written out are bounded so, in float and double: of 16-bit
floats one node may read what another one rounds.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import FORMATS, MOST_ENDS, SLACK, Format
from .bounds import LIMITS, MOST_CONSTANTS
from .node import FLOATS, IntervalRule, Node, reduced_axes
from .ranges import ANYTHING, Ends, Interval
from .sizes import Bounds, Rejected, bounds_of_size, require


def intervals_by(rule: IntervalRule, node: Node) -> Sequence[Interval | None]:
    """The intervals of a node's float results; None for one of which nothing is known.

    Raises:
        Rejected: Nothing is known of any.
    """
    kinds = [node.result_type(place) for place in range(node.results)]
    require(any(kind in FLOATS for kind in kinds), "no result is a float")
    return [
        each if kind in FLOATS and each is not None and each.whole.says_something else None
        for each, kind in zip(rule(node), kinds, strict=False)
    ]


def operand(node: Node, index: int) -> Interval:
    """The interval of an operand of floats, of integers, or of bools that are known to be 0 or 1.

    A kernel may take NaN for any number: it drops it, or clips it to an end of what it computes.

    Raises:
        Rejected: It is omitted, or nothing is known of its type.
    """
    kind = node.type(index)
    if kind in FLOATS:
        known = node.known_interval(index)
        return ANYTHING if known is None or known.nan else known
    bounds = node.known_bounds(index) or LIMITS.get(kind or "")
    if bounds is None:
        raise Rejected(f"nothing is known of operand {index}")
    return Interval.of(_float_at_most(bounds.lower), _float_at_least(bounds.upper))


def _float_at_most(number: int) -> float:
    return (
        math.nextafter(float(number), -math.inf) if int(float(number)) > number else float(number)
    )


def _float_at_least(number: int) -> float:
    return math.nextafter(float(number), math.inf) if int(float(number)) < number else float(number)


def of_elements(elements: npt.NDArray[Any] | None) -> Interval | None:
    """The interval of a constant of floats, per element if it is small; None if it is none."""
    floats = {"float16", "bfloat16", "float32", "float64"}
    if elements is None or elements.size == 0 or elements.dtype.name not in floats:
        return None
    if elements.size > MOST_CONSTANTS:
        lower, upper = elements.min(), elements.max()
        if np.isnan(lower):
            return ANYTHING
        return _of_dtype(elements).flushed(
            np.asarray(lower, np.float64), np.asarray(upper, np.float64)
        )
    numbers = elements.astype(np.float64)
    missing = np.isnan(numbers)
    if missing.any():
        return ANYTHING
    found = _of_dtype(elements).flushed(numbers, numbers)
    return found if elements.size <= MOST_ENDS else found.uniform


def _of_dtype(elements: npt.NDArray[Any]) -> Format:
    name = {"float32": "float", "float64": "double"}.get(elements.dtype.name, elements.dtype.name)
    return FORMATS[name]


def within(lower: Ends | float, upper: Ends | float, element_type: str) -> Interval:
    """The numbers of a type in an interval that a guard ensures.

    A guard compares 16-bit floats before they are rounded, or after it.
    """
    kind = FORMATS[element_type]
    if kind.unit > FORMATS["float"].unit:
        share = 2 * kind.unit
        # Infinity stays what it is.
        lower = np.where(np.isinf(lower), lower, lower - share * np.abs(np.nan_to_num(lower)))
        upper = np.where(np.isinf(upper), upper, upper + share * np.abs(np.nan_to_num(upper)))
    return kind.flushed(np.asarray(lower, np.float64), np.asarray(upper, np.float64))


def format_of(node: Node, result: int = 0) -> Format:
    """The type of a result.

    Raises:
        Rejected: It is not known, or no float.
    """
    kind = FORMATS.get(node.result_type(result) or "")
    if kind is None:
        raise Rejected("the result is no float")
    return kind


def hull(intervals: Sequence[Interval], *, rank: int | None = None) -> Interval:
    """The smallest interval that contains all given ones, at least one.

    Args:
        intervals: The intervals.
        rank: The rank of the tensors, if their elements are at the same place as in the result.
    """
    if rank is None or any(each.lower.ndim not in {0, rank} for each in intervals):
        intervals = [each.uniform for each in intervals]
    lower, upper = intervals[0].lower, intervals[0].upper
    for each in intervals[1:]:
        lower, upper = np.minimum(lower, each.lower), np.maximum(upper, each.upper)
    lower, upper = np.broadcast_arrays(lower, upper)
    return Interval(lower, upper, any(each.nan for each in intervals))


def float_attribute(node: Node, name: str, default: float) -> Interval:
    """A float of a node, which is one of float: kernels may round it to the type of the result.

    Raises:
        Rejected: It is NaN or infinite.
    """
    given = node.attribute(name, default)
    with np.errstate(over="ignore"):
        number = float(np.float32(given))
    require(math.isfinite(number), f"{name} is not finite")
    kind = format_of(node)
    digits = math.frexp(number)[0] / kind.unit
    if digits.is_integer() and kind.normal <= abs(number) <= kind.largest:
        return kind.held(np.asarray(min(number, given)), np.asarray(max(number, given)))
    return kind.number(number)


def element_count(node: Node, index: int, axes: Iterable[int]) -> Bounds:
    """The number of elements along some axes of an operand, at least 1.

    Raises:
        Rejected: A size is not bounded, or may be 0.
    """
    shape = node.shape(index)
    known = [bounds_of_size(shape[axis]) for axis in axes]
    sizes = [each for each in known if each is not None and each.lower > 0]
    require(len(sizes) == len(known), "a size is open")
    return Bounds(math.prod(s.lower for s in sizes), math.prod(s.upper for s in sizes))


_DEEPEST = 3
"""How many sums and maxima are looked through before a root, or after it."""

_PER_TERM = 8
"""How many units per term a sum, and what is computed of it, may be away from the exact one."""

_SINGLE = 32
"""How many terms more the functions around a sum count for."""


def reads_what_others_read(node: Node) -> bool:
    """Whether all readers of an operand read one number: 16-bit floats are rounded for some."""
    return node.type() in {"float", "double"}


def is_below_its_largest(node: Node) -> bool:
    """Whether a Sub takes from each element the largest of some, of which it is one.

    None of them may be NaN: beside it kernels may drop the largest number.
    """
    if not reads_what_others_read(node):
        return False
    largest = _verified(node.source(1))
    if largest is None or largest.op_type != "ReduceMax" or not _is_of(largest, node, 0):
        return False
    return not operand(node, 0).nan


def least_sum(node: Node) -> float:
    """What a ReduceSum is at least: 1, if one of the terms is the exponential of 0."""
    exponential = _verified(node.source(0))
    shifted = None if exponential is None else _verified(exponential.source(0))
    if exponential is None or shifted is None:
        return -math.inf
    named = (exponential.op_type, shifted.op_type) == ("Exp", "Sub")
    x, largest = operand(shifted, 0), shifted.source(1)
    if not named or not is_below_its_largest(shifted) or x.nan or x.infinite or largest is None:
        return -math.inf
    try:
        axes, compared = reduced_axes(node)[0], reduced_axes(largest)[0]
        count = element_count(node, 0, axes).upper
    except Rejected:
        return -math.inf
    share = (_PER_TERM * (count + _SINGLE) + SLACK) * format_of(node).unit
    return 1 - share if set(axes) >= set(compared) and share < 1 else -math.inf


def largest_quotient(node: Node, index: int, divisor: Node, place: int) -> float:
    """The largest magnitude of an operand divided by an operand of the same or another node.

    Args:
        node: The node.
        index: The operand that is divided.
        divisor: The node that has the divisor.
        place: The operand that is the divisor.
    """
    try:
        require(reads_what_others_read(node), "another reader may read another number")
        b = operand(divisor, place)
        require(not b.nan and not b.infinite and bool((b.lower > 0).all()), "it may be 0")
        for total in _not_above(_verified(divisor.source(place)), _DEEPEST):
            found = _of_total(node, index, total, float(b.lower.min()))
            if found is not None:
                return found
    except Rejected:
        pass
    return math.inf


def _of_total(node: Node, index: int, total: Node, least: float) -> float | None:
    """The same, if the divisor is at least a sum of the elements, or the root of one of squares."""
    if total.op_type == "ReduceSum" and _is_of(total, node, index):
        x = operand(node, index)
        return None if x.nan or (x.lower < 0).any() else _bound(node, total, least, root=False)
    if total.op_type == "ReduceL2" and _is_of(total, node, index):
        return _bound(node, total, least, root=True)
    if total.op_type != "Sqrt":
        return None
    for squares in _not_above(_verified(total.source(0)), _DEEPEST):
        if squares.op_type == "ReduceSumSquare" and _is_of(squares, node, index):
            return _bound(node, squares, least, root=True)
        square = _verified(squares.source(0))
        summed = squares.op_type in {"ReduceMean", "ReduceSum"}
        if summed and square is not None and _is_square(square, node, index):
            kept = squares.attribute("keepdims", 1) == 1
            return _bound(node, squares, least, root=True) if kept else None
    return None


def _bound(node: Node, total: Node, least: float, *, root: bool) -> float:
    """How large a quotient is at most: rounding makes a divisor smaller, and underflow a square."""
    kind = format_of(node)
    count = element_count(total, 0, reduced_axes(total)[0]).upper
    share = _PER_TERM * (count + _SINGLE) * kind.unit
    require(share < 1 / 4, "it has too many terms")
    lost = 2 * count * (count + _PER_TERM) * kind.normal
    exact = math.sqrt(count) if total.op_type == "ReduceMean" else 1.0
    return exact * (1 + share) + (math.sqrt(lost) if root else lost) / least


def _not_above(node: Node | None, depth: int) -> Iterator[Node]:
    """Nodes whose results are nowhere above that of a node: it, and what it adds to or compares."""
    if node is None:
        return
    yield node
    for index in (0, 1) if depth and node.op_type in {"Add", "Max"} else ():
        other = operand(node, 1 - index) if node.given(1 - index) else None
        positive = other is not None and not other.nan and bool((other.lower >= 0).all())
        if positive or node.op_type == "Max":
            yield from _not_above(_verified(node.source(index)), depth - 1)


def _is_of(reduction: Node, node: Node, index: int) -> bool:
    """Whether a reduction is of an operand, and keeps axes, so that elements are beside theirs."""
    own = node.operand(index)
    kept = reduction.attribute("keepdims", 1) == 1
    return kept and own is not None and bool(own == reduction.operand(0))


def _is_square(square: Node, node: Node, index: int) -> bool:
    own = node.operand(index)
    if own is None or square.operand(0) != own:
        return False
    if square.op_type == "Mul":
        return bool(square.operand(1) == own)
    exponent = square.constant(1) if square.op_type == "Pow" else None
    return exponent is not None and exponent.size == 1 and bool((exponent == 2).all())


def _verified(node: Node | None) -> Node | None:
    """A node whose rules are verified for its version and its attributes."""
    return node if node is not None and node.is_verified else None

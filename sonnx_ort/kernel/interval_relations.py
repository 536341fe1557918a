"""What intervals of single operands do not tell: a value beside what its own elements give.

    x - ReduceMax(x)                                      not above 0
    ReduceSum(Exp(x - ReduceMax(x)))                      at least 1, but for rounding
    x / ReduceSum(x), of numbers that are not negative    at most 1
    x / Sqrt(ReduceMean(x * x) + e), x / ReduceL2(x)      at most the root of n, and 1

Softmax and normalizations that are written out are bounded so.
"""

import math
from collections.abc import Iterator

from .catalog import verified_rule
from .intervals import SLACK, element_count, format_of, operand
from .node import Node, reduced_axes
from .sizes import Rejected, require

_DEEPEST = 3
"""How many sums and maxima are looked through in front of a root, or behind it."""

_PER_TERM = 8
"""How many units per term a sum, and what is computed of it, may be away from the exact one."""

_SINGLE = 32
"""How many terms more the functions around a sum count for."""


def is_below_its_largest(node: Node) -> bool:
    """Whether a Sub takes from each element the largest of some, of which it is one.

    None of them may be NaN: beside it kernels may drop the largest number.
    """
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
    return None if node is None or verified_rule(node) is None else node

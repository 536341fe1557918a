"""Range: the numbers from a start up to a limit, by steps.

Source: the draft of the working group, sections on reals, floats and integers.
"""

from math import ceil
from typing import Any

from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.functions import size
from sonnx_ort.meaning.node import BallNode, Node, balls
from sonnx_ort.meaning.numbers import Number, encoded_elements, finite_value, number, tensor
from sonnx_ort.meaning.results import (
    EXACT,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
)

_ROUNDED = "index, product and sum are each rounded (ours: the draft ignores accuracy)"


_MOST = 1 << 24


def range_of(node: Node) -> tuple[Elements | Result, ...]:
    """Range: start, start + delta, start + 2 delta and so on, up to before limit.

    The number of elements is that over the reals, in each type.

    Raises:
        NotDefinedError: A step of 0, a number that is not finite, or an operand that is no scalar.
        ValueError: More than 2^24 elements, or balls that do not decide how many.
    """
    if any(node.operand(place).size != 1 for place in range(3)):
        raise NotDefinedError("start, limit and delta are not all scalars")
    start, limit, delta = (node.exact(place).item() for place in range(3))
    count = count_of_range(node) if isinstance(node, BallNode) else _count(start, limit, delta)
    element_type = node.element_type()
    if element_type is not None and node.is_of_integers():
        values = tensor((start + i * delta for i in range(count)), [count])
        return (exactly(encoded_elements(values, element_type)),)

    def of_index(i: int) -> Any:
        if i == 0:
            return Enclosed(start) if isinstance(start, Number) else start
        step = number(i) * delta if isinstance(start, Number) else i * delta
        return node.rounded(start + step, 3, size(start) + i * size(delta), underflow=2)

    bound = EXACT if node.format() is None else _ROUNDED
    return (Elements(tensor(map(of_index, range(count)), [count]), element_type, bound),)


def _count(*operands: Any) -> int:
    """How many elements a Range of numbers or integers has."""
    if any(isinstance(each, Number) and not each.is_finite for each in operands):
        raise NotDefinedError("start, limit and delta are not all finite")
    start, limit, delta = map(finite_value, operands)
    if delta == 0:
        raise NotDefinedError("delta is 0")
    count = max(0, ceil((limit - start) / delta))
    if count > _MOST:
        raise ValueError(f"{count} elements are too many to compute")
    return count


def count_of_range(node: Node) -> int:
    """How many elements a Range of balls has."""
    start, limit, delta = (balls(node.operand(place)).item() for place in range(3))
    if not delta != 0:
        raise NotFollowedError("delta may be 0")
    count = ((limit - start) / delta).ceil().unique_fmpz()
    if count is None:
        raise NotFollowedError("the number of elements is not certain")
    return max(0, int(count))

"""Sizes of axes: numbers, and polynomials of sizes that only a run decides.

All of this holds for sizes and numbers of nodes up to `LARGEST`, exactly as the kernels of ONNX
Runtime compute. Beyond it they convert them to int32, divide in double or let products wrap, each
in its own way, and nothing is said.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import trunc
from typing import Any


class Rejected(Exception):  # noqa: N818 - names a condition
    """What does not follow; the message says why."""


def require(condition: object, reason: str) -> None:
    """Reject what does not hold.

    Raises:
        Rejected: The condition is false.
    """
    if not condition:
        raise Rejected(reason)


LARGEST = 2**31 - 1
"""The largest size, and the largest magnitude of a number of a node, of which anything is said."""

LARGEST_WRITTEN = 2**63 - 1
"""The largest size that ONNX can write."""

END_OF_ALL = (LARGEST, LARGEST_WRITTEN)
"""The ends that mean all of an axis. Kernels take them for all of it in negative steps, too."""


def is_within(numbers: Iterable[object]) -> bool:
    """Whether no integer is beyond what anything is said of; other objects count as within."""
    return all(abs(number) <= LARGEST for number in numbers if isinstance(number, int))


def selected(size: int, start: int, end: int, step: int) -> range:
    """The indices that a Slice selects on an axis, by any numbers and a step other than 0.

    A negative start or end counts from the last element; beyond the axis it is moved to its ends.
    In negative steps a start in front of the axis is moved to the first element, where Python
    selects nothing. Kernels do otherwise in negative steps to `END_OF_ALL`.

        size 5, start -2, end 9, step 1      0   1   2  [3] [4]
        size 5, start 9, end -9, step -2    [0]  1  [2]  3  [4]     4 first
        size 5, start -9, end -9, step -1   [0]  1   2   3   4
    """
    lowest, highest = (-1, size - 1) if step < 0 else (0, size)
    first = min(max(start + size if start < 0 else start, 0), highest)
    last = min(max(end + size if end < 0 else end, lowest), highest)
    return range(first, last, step)


def reach(kernel: int, dilation: int) -> int:
    """How many elements a window of a kernel spans: of 3 with dilation 2, [0] 1 [2] 3 [4], five."""
    return dilation * (kernel - 1) + 1


def equal_parts(size: int, count: int) -> list[int]:
    """Parts of one size, of which the last may be smaller; negative, if the others are too many.

    Of 5 in 3 parts: 2, 2, 1. Of 2 in 4 parts: 1, 1, 1, -1.
    """
    part = -(-size // count)
    return [*[part] * (count - 1), size - part * (count - 1)]


_MOST_TERMS = 1024
_MOST_CHARACTERS = 1 << 14
_LARGEST_COEFFICIENT = (1 << 63) - 1
"""A size of more terms, more characters in symbols or a larger coefficient is left open."""

NAME = re.compile(r"[^\W\d]\w*")
"""A name of a size; others, such as "?", mean unknown."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A closed interval of integers."""

    lower: int
    upper: int

    def __contains__(self, number: int) -> bool:
        """Whether the interval contains a number."""
        return self.lower <= number <= self.upper

    def __str__(self) -> str:
        """Format the interval as `0 to 7`, or `7` if it has one number."""
        return str(self.lower) if self.lower == self.upper else f"{self.lower} to {self.upper}"


_INT64 = Bounds(-(1 << 63), (1 << 63) - 1)


class Symbol(str):
    """What stands for an open size: its name, or a function of sizes as text.

    The size is `least + step * k`. Polynomials are written in k, which is no negative number, so
    that it is seen of them whether they are negative, and what divides them.

    Attributes:
        least: The smallest number that the size can be.
        step: What its distance from that is a multiple of.
        most: The largest k; None if nothing is known, and k may be negative.
        divided: Of a quotient what is divided, which is never negative, and by which number.
    """

    least: int
    step: int
    most: int | None
    divided: "tuple[Symbolic, int] | None"
    __slots__ = ("divided", "least", "most", "step")

    def __new__(
        cls,
        text: str,
        bounds: Bounds | None = None,
        step: int = 1,
        divided: "tuple[Symbolic, int] | None" = None,
    ) -> "Symbol":
        """Make a symbol for a size within bounds."""
        made = super().__new__(cls, text)
        made.divided = divided
        made.step = step
        made.least = 0 if bounds is None else bounds.lower
        made.most = None if bounds is None else (bounds.upper - bounds.lower) // step
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What makes an equal symbol."""
        bounds = None
        if self.most is not None:
            bounds = Bounds(self.least, self.least + self.most * self.step)
        return str(self), bounds, self.step, self.divided


Term = tuple[tuple[Symbol, ...], int]
"""A product of symbols and its coefficient."""


@dataclass(frozen=True, slots=True, repr=False)
class Symbolic:
    """A polynomial of symbols in canonical form; the empty product is the constant term.

    Equal polynomials are equal in every run, even if int64 wraps. One cannot be subtracted: symbols
    of two inputs may have one name but different values, and the difference would be a number.
    """

    terms: tuple[Term, ...]

    @classmethod
    def named(
        cls,
        text: str,
        bounds: Bounds | None = None,
        step: int = 1,
        divided: "tuple[Symbolic, int] | None" = None,
    ) -> "Size":
        """An open size, by its name or as a function of sizes.

        Args:
            text: The name or function.
            bounds: What it is known to be within.
            step: What its distance from the lower bound is a multiple of.
            divided: Of a quotient what is divided, which is never negative, and by which number.
        """
        symbol = Symbol(text, bounds, step, divided)
        constant = symbol.most == 0
        return symbol.least if constant else _size(Counter({(symbol,): step, (): symbol.least}))

    @property
    def is_short(self) -> bool:
        """Whether it is within the limits of what is kept, as each of a chain can double."""
        characters = sum(len(symbol) for symbols, _ in self.terms for symbol in symbols)
        largest = max(abs(times) for _, times in self.terms)
        written = sum(1 << sum(s.least != 0 for s in symbols) for symbols, _ in self.terms)
        return (
            written <= _MOST_TERMS
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
            Rejected: The product can have too many terms.
        """
        require(len(self.terms) * len(_terms(other)) <= _MOST_TERMS, "a product is too long")
        product: Counter[tuple[Symbol, ...]] = Counter()
        for symbols, times in self.terms:
            for others, count in _terms(other):
                product[tuple(sorted((*symbols, *others)))] += times * count
        return _size(product)

    __rmul__ = __mul__

    def is_multiple_of(self, divisor: int) -> bool:
        """Whether it is a multiple of a number in every run."""
        return all(times % divisor == 0 for _, times in self.terms)

    @property
    def bounds(self) -> Bounds | None:
        """The numbers that it can be; None if it may wrap in int64, or nothing is known."""
        found = _term_by_term(self)
        if found is None or found.lower not in _INT64 or found.upper not in _INT64:
            return None
        return Bounds(max(found.lower, _least(self)), min(found.upper, -_least(self * -1)))

    @property
    def names(self) -> frozenset[str]:
        """The names of the open sizes that it depends on."""
        symbols = (symbol for product, _ in self.terms for symbol in product)
        return frozenset(name for symbol in symbols for name in NAME.findall(symbol))

    def __str__(self) -> str:
        """Format the sum, such as `2*m*n + n/2 + 1`."""
        terms = sorted(_written(self.terms), key=lambda term: (not term[0], term))
        return " + ".join(_as_text(symbols, times) for symbols, times in terms).replace("+ -", "- ")

    __repr__ = __str__


def _term_by_term(size: "Size") -> Bounds | None:
    """The bounds of a polynomial by those of each term; None if nothing is known of a symbol."""
    lower = upper = 0
    for symbols, times in _terms(size):
        counts = [symbol.most for symbol in symbols if symbol.most is not None]
        if len(counts) < len(symbols):
            return None
        largest = times * math.prod(counts)
        lower += largest if not symbols else min(largest, 0)
        upper += largest if not symbols else max(largest, 0)
    return Bounds(lower, upper)


def _least(size: "Size") -> int:
    """The smallest number of a polynomial without open symbols, as far as its quotients say it.

    Term by term nothing is known of `n - 2*trunc(n/2)`, whose terms vary together.
    """
    found, divisor = [], 1
    for _ in range(_MOST_QUOTIENTS):
        known = _term_by_term(size)
        found += [] if known is None else [-(-known.lower // divisor)]
        try:
            size, factor = _without_quotient(size)
        except Rejected:
            break
        divisor *= factor
    return max(found)


_MOST_QUOTIENTS = 8
"""So many quotients of a polynomial are estimated."""


def _without_quotient(size: "Size") -> "tuple[Size, int]":
    """A polynomial without one of the quotients of another, and how many times that it is at most.

    `trunc(a/d)` is at most `a/d` and at least `(a - d + 1)/d`, if a is not negative. No symbol of
    a bounded size is negative.

    Raises:
        Rejected: There is no quotient, or there are too many terms.
    """
    quotients = {s: s.divided for symbols, _ in _terms(size) for s in symbols if s.divided}
    require(quotients, "there is no quotient")
    # The longest stands in no other.
    taken = max(quotients, key=lambda symbol: (len(symbol), symbol))
    dividend, divisor = quotients[taken]
    lowered: Size = 0
    for symbols, times in _terms(size):
        factors = list(symbols)
        factor: Size = divisor
        if taken in factors:
            factors.remove(taken)
            lost = divisor - 1 if times > 0 else 0
            factor = dividend - (lost + taken.least * divisor)
        lowered = lowered + _size(Counter({tuple(factors): times})) * factor
    return lowered, divisor


def _written(terms: Sequence[Term]) -> Iterable[tuple[tuple[Symbol, ...], int | Fraction]]:
    """The terms of the same polynomial, of the sizes themselves."""
    if all(s.least == 0 and s.step == 1 for symbols, _ in terms for s in symbols):
        return terms
    total: Counter[tuple[Symbol, ...]] = Counter()
    for symbols, times in terms:
        product: dict[tuple[Symbol, ...], Fraction] = {(): Fraction(times)}
        for symbol in symbols:
            longer = {(*own, symbol): each / symbol.step for own, each in product.items()}
            for own, each in product.items():
                longer[own] = longer.get(own, Fraction()) - each * symbol.least / symbol.step
            product = longer
        for own, each in product.items():
            total[own] += each  # type: ignore[assignment]
    return [(symbols, times) for symbols, times in total.items() if times]


def _as_text(symbols: Sequence[Symbol], times: int | Fraction) -> str:
    product = "*".join([str(times.numerator), *symbols])
    short = product.replace("1*", "", 1) if abs(times.numerator) == 1 else product
    return short if times.denominator == 1 else f"{short}/{times.denominator}"


Size = int | Symbolic
"""The size of an axis, or an element of a tensor of sizes."""

Sizes = tuple[Size, ...]
"""A shape of numbers and symbols."""

PartialSizes = tuple[Size | None, ...]
"""A shape or elements of which some are unknown."""


def bounds_of_size(size: Size) -> Bounds | None:
    """The numbers that a size can be; None if nothing is known."""
    return Bounds(size, size) if isinstance(size, int) else size.bounds


def is_positive(size: Size | None) -> bool:
    """Whether a size is known to be larger than 0."""
    known = None if size is None else bounds_of_size(size)
    return known is not None and known.lower > 0


def smaller(one: Size, other: Size) -> Size | None:
    """The smaller of two sizes; None if none is known to be that in every run."""
    if is_at_most(one, other):
        return one
    return other if is_at_most(other, one) else None


def larger(one: Size, other: Size) -> Size | None:
    """The larger of two sizes; None if none is known to be that in every run."""
    if is_at_most(one, other):
        return other
    return one if is_at_most(other, one) else None


def is_at_most(one: Size, other: Size) -> bool:
    """Whether a size is known to be at most another; nothing is, of sizes without bounds."""
    if bounds_of_size(one) is None or bounds_of_size(other) is None:
        return False
    distance = bounds_of_size(other + one * -1)
    return distance is not None and distance.lower >= 0


def quotient(size: Size, divisor: int) -> Size:
    """Divide a size by a positive number, rounding towards zero as kernels do."""
    if divisor == 1:
        return size
    if isinstance(size, int):
        return trunc(Fraction(size, divisor))
    known, ends, divided = size.bounds, None, None
    if known is not None:
        divided = (size, divisor) if known.lower >= 0 else None
        ends = Bounds(*(trunc(Fraction(end, divisor)) for end in (known.lower, known.upper)))
        parts = {symbols: times for symbols, times in size.terms if symbols}
        if known.lower >= 0 and all(times % divisor == 0 for times in parts.values()):
            return _size(Counter({symbols: times // divisor for symbols, times in size.terms}))
    dividend = f"({size})" if " " in str(size) else str(size)
    return Symbolic.named(f"trunc({dividend}/{divisor})", ends, divided=divided)


def _terms(size: Size) -> tuple[Term, ...]:
    return size.terms if isinstance(size, Symbolic) else (((), size),)


def _size(terms: Counter[tuple[Symbol, ...]]) -> Size:
    kept = tuple(sorted((symbols, times) for symbols, times in terms.items() if times))
    if not any(symbols for symbols, _ in kept):
        return kept[0][1] if kept else 0
    return Symbolic(kept)


def from_the_front(axis: int, rank: int) -> int:
    """An axis, which may be negative, as an index from the front.

    Raises:
        Rejected: There is no such axis.
    """
    require(-rank <= axis < rank, f"there is no axis {axis} among {rank}")
    return axis % rank


def common_shape(shapes: Sequence[Sizes]) -> PartialSizes:
    """The shape that ONNX broadcasts these shapes to, if possible; open where sizes may differ."""
    return tuple(map(_common_size, along_axes(shapes)))


def along_axes(shapes: Sequence[Sizes]) -> list[tuple[Size, ...]]:
    """The sizes of several shapes on each axis of the shape that they are broadcast to."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return list(zip(*padded, strict=True))


def _common_size(sizes: Iterable[Size]) -> Size | None:
    others = list(dict.fromkeys(size for size in sizes if size != 1))
    known = [size for size in others if isinstance(size, int)]
    if known:
        return known[0]
    if not others:
        return 1
    return others[0] if len(others) == 1 else None


def both(one: PartialSizes | None, other: PartialSizes | None) -> PartialSizes | None:
    """The sizes in which two shapes agree; None if their ranks differ or one is unknown."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def is_negative(sizes: Iterable[Size | None]) -> bool:
    """Whether a size is a negative number, so that no run continues with this shape."""
    return any(isinstance(size, int) and size < 0 for size in sizes)


def kept_sizes(sizes: Sequence[Size | None]) -> PartialSizes:
    """What is kept of a shape: its rank alone, if a number is beyond what the rules hold for."""
    if not is_within(sizes):
        return (None,) * len(sizes)
    return tuple(None if isinstance(s, Symbolic) and not s.is_short else s for s in sizes)

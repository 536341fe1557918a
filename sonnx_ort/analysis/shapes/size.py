"""Sizes of axes: numbers, and what is computed from the sizes that only a run tells."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import trunc

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

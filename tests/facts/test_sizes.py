"""Sizes that only a run tells, and what is computed with them."""

from collections.abc import Callable
from itertools import product
from math import trunc

import numpy as np
import pytest

from sonnx_ort.facts.layout import sliced_size
from sonnx_ort.facts.sizes import (
    Bounds,
    Size,
    Symbolic,
    bounds_of_size,
    is_at_most,
    larger,
    quotient,
    smaller,
)

N, M = Symbolic.named("n"), Symbolic.named("m")
EVEN = Symbolic.named("e", Bounds(4, 12), 4)
SMALL = Symbolic.named("s", Bounds(1, 5))
WIDE = Symbolic.named("w", Bounds(5, 19))
LONG = Symbolic.named("n", Bounds(512, 1 << 14))


TEXTS: dict[str, Callable[[], Size]] = {
    "n": lambda: N,
    "n + 1": lambda: N + 1,
    "n - 1": lambda: N - 1,
    "n + 3": lambda: 1 + N + 2,
    "2*n": lambda: N + N,
    "m*n": lambda: M * N,
    "m*n + 2*n": lambda: N * M + 2 * N,
    "m + m*n + n + n*n": lambda: (N + 1) * (N + M),
    "m*m + 2*m*n + n*n": lambda: (N + M) * (N + M),
    "trunc(n/2)": lambda: quotient(N, 2),
    "trunc((n - 3)/2) + 1": lambda: quotient(N - 3, 2) + 1,
    "e": lambda: EVEN,
    "e/2": lambda: quotient(EVEN, 2),
    "e/2 + 1": lambda: quotient(EVEN + 3, 2),
    "3*e/4 - 1": lambda: quotient(EVEN, 4) * 3 - 1,
    "e*s/4": lambda: quotient(EVEN, 4) * SMALL,
    "e*s - 4*s": lambda: (EVEN - 4) * SMALL,
    "trunc(e/3)": lambda: quotient(EVEN, 3),
    "trunc((s + 1)/2)": lambda: quotient(SMALL + 1, 2),
}


@pytest.mark.parametrize(("text", "size"), TEXTS.items(), ids=TEXTS)
def test_size_reads_as_people_write_it(text: str, size: Callable[[], Size]) -> None:
    assert str(size()) == text


EQUAL: dict[str, Callable[[], tuple[Size, Size]]] = {
    "sum": lambda: (N + M, M + N),
    "product": lambda: (N * M, M * N),
    "difference": lambda: (N + 1 - 1, N),
    "distribution": lambda: ((N + M) * 2, N * 2 + M * 2),
    "quotient": lambda: (quotient(N, 1), N),
}


@pytest.mark.parametrize("sizes", EQUAL.values(), ids=EQUAL)
def test_equal_polynomials_are_one_size(sizes: Callable[[], tuple[Size, Size]]) -> None:
    one, other = sizes()
    assert one == other
    assert str(one) == str(other)


NUMBERS: dict[str, tuple[Callable[[], Size], int]] = {
    "0*n": (lambda: N * 0, 0),
    "0*n + 3": (lambda: N * 0 + 3, 3),
    "n + 3 - n": (lambda: N + 3 + N * -1, 3),
    "n + -1*n": (lambda: N + N * -1, 0),
    "7/2": (lambda: quotient(7, 2), 3),
    "0/2": (lambda: quotient(0, 2), 0),
    "-1/3": (lambda: quotient(-1, 3), 0),
    "-7/2": (lambda: quotient(-7, 2), -3),
    "-7/1": (lambda: quotient(-7, 1), -7),
    "a name of one size": (lambda: Symbolic.named("n", Bounds(7, 7)), 7),
    "7 of an end of at least 8": (lambda: sliced_size(EVEN + 4, 0, 7, 1), 7),
}


@pytest.mark.parametrize(("size", "number"), NUMBERS.values(), ids=NUMBERS)
def test_what_no_run_decides_is_a_number(size: Callable[[], Size], number: int) -> None:
    found = size()
    assert found == number
    assert isinstance(found, int)


def test_there_is_no_difference_of_open_sizes() -> None:
    with pytest.raises(TypeError):
        N - M  # type: ignore[operator]


BOUNDED: dict[str, tuple[Callable[[], Size], Bounds]] = {
    "e": (lambda: EVEN, Bounds(4, 12)),
    "s": (lambda: SMALL, Bounds(1, 5)),
    "e - 3*s": (lambda: EVEN + SMALL * -3, Bounds(-11, 9)),
    "e*s + 7": (lambda: EVEN * SMALL + 7, Bounds(11, 67)),
    "2*e + s": (lambda: EVEN * 2 + SMALL, Bounds(9, 29)),
    "(s - 9)*e": (lambda: (SMALL - 9) * EVEN, Bounds(-96, 16)),
    "w - 3*trunc(w/3)": (lambda: WIDE + quotient(WIDE, 3) * -3, Bounds(0, 2)),
    "trunc((w + 2)/3) - trunc(w/3)": (
        lambda: quotient(WIDE + 2, 3) + quotient(WIDE, 3) * -1,
        Bounds(0, 1),
    ),
    "w - 2*trunc(trunc(w/2)/3)": (
        lambda: WIDE + quotient(quotient(WIDE, 2), 3) * -6,
        Bounds(0, 5),
    ),
    "s*w - 2*s*trunc(w/2)": (lambda: SMALL * (WIDE + quotient(WIDE, 2) * -2), Bounds(0, 5)),
    "trunc(w/2)*trunc(w/2)": (lambda: quotient(WIDE, 2) * quotient(WIDE, 2), Bounds(4, 81)),
}
"""Sizes, and their bounds; a polynomial may have wider ones than its numbers."""


def _values(size: Size) -> list[int]:
    """The numbers of a size for all sizes within the bounds."""
    sizes = product((4, 8, 12), range(1, 6), range(5, 20))
    names = [{"e": e, "s": s, "w": w, "trunc": trunc} for e, s, w in sizes]
    text = compile(str(size), "size", "eval")
    return [eval(text, {"__builtins__": {}}, each) for each in names]  # noqa: S307


@pytest.mark.parametrize(("size", "bounds"), BOUNDED.values(), ids=BOUNDED)
def test_size_lies_within_its_bounds(size: Callable[[], Size], bounds: Bounds) -> None:
    found = size()
    assert isinstance(found, Symbolic)
    assert found.bounds == bounds
    assert all(value in bounds for value in _values(found))


@pytest.mark.parametrize("divisor", range(1, 9))
@pytest.mark.parametrize("size", [size for size, _ in BOUNDED.values()], ids=BOUNDED)
def test_quotient_is_rounded_towards_zero(size: Callable[[], Size], divisor: int) -> None:
    numbers = [trunc(value / divisor) for value in _values(size())]
    found = quotient(size(), divisor)
    assert _values(found) == numbers
    if isinstance(found, Symbolic):
        assert found.bounds is not None
        assert all(number in found.bounds for number in numbers)


def _quotients() -> list[Size]:
    """Polynomials of a size and quotients of it, of which one is divided twice."""
    factors, divisors = (-3, -1, 2), (2, 3, 5)
    return [
        WIDE * a + quotient(WIDE * 2 + more, divisor) * b + quotient(quotient(WIDE, 2), 3) * c + 1
        for a, b, c in product(factors, repeat=3)
        for more, divisor in product((-9, 0, 7), divisors)
    ]


def test_no_size_of_quotients_is_out_of_its_bounds() -> None:
    for size in _quotients():
        known = bounds_of_size(size)
        assert known is not None
        assert all(value in known for value in _values(size)), size


AT_MOST: dict[str, tuple[Size, Size, bool]] = {
    "numbers": (3, 3, True),
    "numbers in another order": (4, 3, False),
    "a number and a size": (4, EVEN, True),
    "a number within a size": (5, EVEN, False),
    "a size and itself": (WIDE, WIDE, True),
    "what may be larger": (SMALL, EVEN, False),
    "what is not known": (N, N, False),
    "a number and what is not known": (0, N, False),
    "the end of frames": (quotient(LONG, 256) + 3, quotient(LONG + 255, 256) + 4, True),
    "whole steps": (quotient(LONG - 400, 160) * 160 + 400, LONG, True),
    "a length in another rate": (
        quotient(LONG * 640 + 440, 441), quotient(LONG, 441) * 640 + 640, True),
    "a length that is one more": (
        quotient(LONG * 640 + 440, 441), quotient(LONG, 441) * 640 + 638, False),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other", "expected"), AT_MOST.values(), ids=AT_MOST)
def test_size_is_at_most_another(one: Size, other: Size, expected: bool) -> None:
    assert is_at_most(one, other) is expected


def test_smaller_and_larger_are_known_where_one_is_at_most_the_other() -> None:
    assert (smaller(WIDE, 4), larger(WIDE, 4)) == (4, WIDE)
    assert (smaller(4, WIDE), larger(4, WIDE)) == (4, WIDE)
    assert (smaller(WIDE, 6), larger(WIDE, 6)) == (None, None)


def test_size_that_may_wrap_has_no_bounds() -> None:
    long = Symbolic.named("n", Bounds(0, 2**31 - 1))
    assert isinstance(long, Symbolic)
    assert (long * long).bounds == Bounds(0, (2**31 - 1) ** 2)  # type: ignore[union-attr]
    assert (long * long * long).bounds is None  # type: ignore[union-attr]
    assert isinstance(N, Symbolic)
    assert N.bounds is None


def _sliced(size: int, start: int, end: int, step: int) -> int:
    """The length of a slice, which numpy cuts as ONNX does where it counts up."""
    return np.arange(size)[start:end:step].size


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("size", [EVEN, SMALL], ids=str)
def test_slice_of_a_bounded_axis_has_the_length_that_kernels_give(size: Size, step: int) -> None:
    places = [*range(-14, 15), 2**31 - 1, -(2**31)]
    names = {"min": min, "sliced": _sliced, "trunc": trunc}
    for start, end in product(places, places):
        found = str(sliced_size(size, start, end, step))
        for number in (4, 8, 12) if size is EVEN else range(1, 6):
            values = {**names, str(size): number}
            length = eval(found, {"__builtins__": {}}, values)  # noqa: S307 - of sizes
            assert length == _sliced(number, start, end, step), (start, end, found)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_slice_between_bounded_places_has_the_length_that_kernels_give(step: int) -> None:
    places = [p for size in (SMALL, quotient(WIDE, 3)) for p in (size, size * -1, size + 3, WIDE)]
    decided = 0
    for size, start, end in product((WIDE, SMALL, 9), [*places, 0, -2], places):
        found = sliced_size(size, start, end, step)
        if found is not None:
            decided += 1
            cuts = zip(*map(_values, (size, start, end)), strict=True)
            assert _values(found) == [_sliced(*cut, step) for cut in cuts]
    assert decided > len(places)


def test_slice_between_places_without_bounds_is_open() -> None:
    assert sliced_size(WIDE, 0, N, 1) is None
    assert sliced_size(N, 0, SMALL, 1) is None
    assert sliced_size(WIDE, SMALL, WIDE, -1) is None

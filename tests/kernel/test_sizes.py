"""Sizes that only a run tells, and what is computed with them."""

from collections.abc import Callable
from itertools import product
from math import trunc

import pytest

from sonnx_ort.kernel.layout import sliced_size
from sonnx_ort.kernel.sizes import Bounds, Size, Symbolic, quotient, selected

N, M = Symbolic.named("n"), Symbolic.named("m")
EVEN = Symbolic.named("e", Bounds(4, 12), 4)
SMALL = Symbolic.named("s", Bounds(1, 5))


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
}
"""Sizes, and their bounds; a polynomial may have wider ones than its numbers."""


def _values(size: Size) -> list[int]:
    """The numbers of a size for all sizes within the bounds."""
    names = [{"e": e, "s": s, "trunc": trunc} for e, s in product((4, 8, 12), range(1, 6))]
    return [eval(str(size), {"__builtins__": {}}, each) for each in names]  # noqa: S307


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


def test_size_that_may_wrap_has_no_bounds() -> None:
    long = Symbolic.named("n", Bounds(0, 2**31 - 1))
    assert isinstance(long, Symbolic)
    assert (long * long).bounds == Bounds(0, (2**31 - 1) ** 2)  # type: ignore[union-attr]
    assert (long * long * long).bounds is None  # type: ignore[union-attr]
    assert isinstance(N, Symbolic)
    assert N.bounds is None


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("size", [EVEN, SMALL], ids=str)
def test_slice_of_a_bounded_axis_has_the_length_that_kernels_give(size: Size, step: int) -> None:
    places = [*range(-14, 15), 2**31 - 1, -(2**31)]
    names = {"min": min, "sliced": lambda *cut: len(selected(*cut)), "trunc": trunc}
    for start, end in product(places, places):
        found = str(sliced_size(size, start, end, step))
        for number in (4, 8, 12) if size is EVEN else range(1, 6):
            values = {**names, str(size): number}
            length = eval(found, {"__builtins__": {}}, values)  # noqa: S307 - of sizes
            assert length == len(selected(number, start, end, step)), (start, end, found)

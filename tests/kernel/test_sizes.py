"""Sizes that only a run tells, and what is computed with them."""

from collections.abc import Callable

import pytest

from sonnx_ort.kernel.sizes import Size, Symbolic, quotient

N, M = Symbolic.named("n"), Symbolic.named("m")


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
}


@pytest.mark.parametrize(("size", "number"), NUMBERS.values(), ids=NUMBERS)
def test_what_no_run_decides_is_a_number(size: Callable[[], Size], number: int) -> None:
    found = size()
    assert found == number
    assert isinstance(found, int)


def test_there_is_no_difference_of_open_sizes() -> None:
    with pytest.raises(TypeError):
        N - M  # type: ignore[operator]

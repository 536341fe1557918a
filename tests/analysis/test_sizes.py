"""Sizes that only a run tells, and what is computed with them."""

import pytest

from sonnx_ort.analysis.shapes.size import Size, Symbolic, quotient

N, M = Symbolic.named("n"), Symbolic.named("m")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (N, "n"),
        (N + 1, "n + 1"),
        (N - 1, "n - 1"),
        (1 + N + 2, "n + 3"),
        (N + N, "2*n"),
        (M * N, "m*n"),
        (N * M + 2 * N, "m*n + 2*n"),
        ((N + 1) * (N + M), "m + m*n + n + n*n"),
        (quotient(N, 2), "trunc(n/2)"),
        (quotient(N - 3, 2) + 1, "trunc((n - 3)/2) + 1"),
    ],
    ids=str,
)
def test_size_reads_as_people_write_it(size: Size, text: str) -> None:
    assert str(size) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (N + M, M + N),
        (N * M, M * N),
        (N + 1 - 1, N),
        ((N + M) * 2, N * 2 + M * 2),
        (quotient(N, 1), N),
    ],
    ids=str,
)
def test_equal_polynomials_are_one_size(one: Size, other: Size) -> None:
    assert one == other
    assert str(one) == str(other)


@pytest.mark.parametrize(
    ("size", "number"), [(N * 0, 0), (N * 0 + 3, 3), (quotient(7, 2), 3), (quotient(-1, 3), 0)]
)
def test_what_no_run_decides_is_a_number(size: Size, number: int) -> None:
    assert size == number
    assert isinstance(size, int)


def test_there_is_no_difference_of_open_sizes() -> None:
    with pytest.raises(TypeError):
        N - M  # type: ignore[operator]

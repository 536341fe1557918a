"""What sizes are of numbers: places of a Slice, reaches of windows, and the range of all of it."""

import pytest

from sonnx_ort.kernel.sizes import equal_parts, is_within, reach, selected

FAR = 2**63 - 1


@pytest.mark.parametrize(
    ("size", "start", "end", "step", "expected"),
    [
        (4, 1, 3, 1, [1, 2]),
        (4, -9, 2, 1, [0, 1]),
        (4, 9, -9, -2, [3, 1]),
        (4, -3, 9, 2, [1, 3]),
        (4, 0, FAR, FAR, [0]),
        (2, -5, -9, -1, [0]),
        (2, -2, -9, -1, [0]),
        (2, -5, 0, -1, []),
        (0, -5, -9, -1, []),
        (0, 0, FAR, 1, []),
    ],
)
def test_slice_moves_places_beyond_an_axis_to_its_ends(
    size: int, start: int, end: int, step: int, expected: list[int]
) -> None:
    assert [*selected(size, start, end, step)] == expected


@pytest.mark.parametrize(("kernel", "dilation", "expected"), [(1, 9, 1), (3, 1, 3), (3, 2, 5)])
def test_reach_of_a_window(kernel: int, dilation: int, expected: int) -> None:
    assert reach(kernel, dilation) == expected


@pytest.mark.parametrize(
    ("size", "count", "expected"), [(6, 3, [2, 2, 2]), (5, 2, [3, 2]), (1, 3, [1, 1, -1])]
)
def test_equal_parts_of_a_size(size: int, count: int, expected: list[int]) -> None:
    assert equal_parts(size, count) == expected


def test_nothing_is_stated_of_numbers_beyond_int32() -> None:
    assert is_within([0, "n", None, 2**31 - 1, 1 - 2**31, b"NOTSET"])
    assert not is_within([2**31])
    assert not is_within([-(2**31)])

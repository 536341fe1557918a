"""ONNX Runtime's own Max, Min, Clip, Sign and reductions of int64 beyond int32 or double."""

import numpy as np
import onnxruntime as ort
import pytest

from support.changes import before_and_since
from support.graphs import parse

pytestmark = pytest.mark.upstream

LARGE = 3_000_000_000
RIGHTLY = "int64 is compared rightly"


def computed(node: str, elements: list[int]) -> list[int]:
    made = parse(
        "(int64[n] a) => (int64[] y) <int64[1] zero = {0}, int64 low = {-7}, int64 high = {7}>"
        f" {{ {node} }}"
    )
    session = ort.InferenceSession(made.SerializeToString())
    result: list[int] = session.run(None, {"a": np.array(elements, np.int64)})[0].tolist()
    return result


@pytest.mark.parametrize(
    ("node", "mistaken", "right"),
    [
        ("y = Max(a, zero)", [0] * 4, [LARGE] * 4),
        ("y = Min(a, zero)", [LARGE] * 4, [0] * 4),
        ("y = Clip(a, low, high)", [LARGE] * 4, [7] * 4),
        ("y = Sign(a)", [-1] * 4, [1] * 4),
    ],
)
def test_number_above_int32_counts_as_smaller(
    node: str, mistaken: list[int], right: list[int]
) -> None:
    """Once all supported versions are right, bounds and random graphs need not leave int64 out."""
    assert computed(node, [LARGE] * 4) == before_and_since(RIGHTLY, mistaken, right)


@pytest.mark.parametrize(
    ("node", "elements", "mistaken", "right"),
    [
        ("y = ReduceMax<keepdims = 0>(a)", [0, 0, 0, LARGE], 0, LARGE),
        ("y = ReduceMin<keepdims = 0>(a)", [0, 0, 0, 0, 0, 0, LARGE, LARGE], LARGE, 0),
    ],
)
def test_reduction_gives_the_wrong_element(
    node: str, elements: list[int], mistaken: int, right: int
) -> None:
    """Once all supported versions are right, random graphs need not leave int64 out."""
    assert computed(node, elements) == before_and_since(RIGHTLY, mistaken, right)


def test_product_is_computed_in_double() -> None:
    """Once it is not, `sonnx_ort.kernel.elements` can state larger products."""
    large = 2**53 + 1
    expected = before_and_since("ReduceProd of int64 is computed in double", large, large - 1)
    assert computed("y = ReduceProd<keepdims = 0>(a)", [large]) == expected


def test_comparisons_are_right() -> None:
    made = parse("(int64[n] a, int64[n] b) => (bool[] y) { y = Less(a, b) }")
    session = ort.InferenceSession(made.SerializeToString())
    feeds = {"a": np.zeros(4, np.int64), "b": np.full(4, LARGE, np.int64)}
    assert session.run(None, feeds)[0].tolist() == [True] * 4

"""What the oracle says of ScatterND."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning import Undefined
from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.documented import followed, meaning_of
from sonnx_ort.meaning.excerpts import excerpts
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import Array
from sonnx_ort.meaning.results import Result
from sonnx_ort.vectors.applied import Applied
from support.meanings import by_onnxruntime, outside

F = np.float32
LONG = np.int64
BLOCK = [[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]]


def said(data: Any, indices: Any, updates: Any, dtype: Any = F, **attributes: Any) -> Result:
    operands = np.array(data, dtype), np.array(indices, LONG), np.array(updates, dtype)
    found = meaning_of("ScatterND", Node(18, attributes, operands))
    if isinstance(found, Undefined):
        raise ValueError(found.reason)  # noqa: TRY004 - why there is no result
    return found[0]


@pytest.mark.parametrize("dtype", [F, np.int64, np.uint8, np.bool_])
def test_first_example_of_onnx(dtype: Any) -> None:
    result = said([1, 2, 3, 4, 5, 6, 7, 8], [[4], [3], [1], [7]], [9, 10, 11, 12], dtype)
    assert result.nearest.tolist() == np.array([1, 11, 3, 10, 9, 6, 7, 12], dtype).tolist()


def test_second_example_of_onnx() -> None:
    other = BLOCK[::-1]
    updates = [[[k] * 4 for k in range(5, 9)], [[k] * 4 for k in range(1, 5)]]
    result = said([BLOCK, BLOCK, other, other], [[0], [2]], updates)
    assert result.nearest.tolist() == [updates[0], BLOCK, updates[1], other]


PLACES: list[tuple[Sequence[int], Any, Any, Any]] = [
    ((2, 3), [[1, -1], [-2, 0]], [8, 9], [[9, 1, 2], [3, 4, 8]]),
    ((2, 3), [[[0, 1]], [[1, 1]]], [[8], [9]], [[0, 8, 2], [3, 9, 5]]),
    ((2, 3), [-1], [7, 8, 9], [[0, 1, 2], [7, 8, 9]]),
    ((2, 3), np.zeros((0, 1)), np.zeros((0, 3)), [[0, 1, 2], [3, 4, 5]]),
    ((2,), np.zeros((1, 0)), [[7, 8]], [7, 8]),
]


@pytest.mark.parametrize(("shape", "indices", "updates", "expected"), PLACES)
def test_places_are_named_by_tuples(
    shape: Sequence[int], indices: Any, updates: Any, expected: Any
) -> None:
    data = np.arange(np.prod(shape)).reshape(shape)
    assert said(data, indices, updates).nearest.tolist() == expected


def test_elements_keep_their_bits() -> None:
    result = said([0, np.nan, 1], [[0]], [-0.0])
    assert result.outside(F([-0.0, np.nan, 1])).tolist() == [False] * 3
    assert result.outside(F([0, np.nan, 1])).tolist() == [True, False, False]
    assert result.zeros == "decided: the elements keep their bits"


def test_any_of_several_updates_may_remain() -> None:
    result = said([1, 2, 3], [[0], [2], [0], [0]], [7, 8, 9, 7])
    assert not result.is_single
    assert result.bound == "any of several elements, for the document leaves the choice open"
    found = [result.outside(F([each, 2, 8])).tolist() for each in (7, 9, 1, 8)]
    assert found == [[False] * 3, [False] * 3, [True, False, False], [True, False, False]]
    assert result.exact(F([7, 2, 8])).tolist() == [True] * 3
    assert result.exact(F([9, 2, 8])).tolist() == [False, True, True]


def test_updates_of_the_same_bits_leave_nothing_open() -> None:
    assert said([1, 2, 3], [[0], [0]], [7, 7]).is_single


def test_several_updates_are_not_followed() -> None:
    operands = F([1, 2]), LONG([[0], [0]]), F([3, 4])
    reason = "two indices name one element, and the order is open"
    with pytest.raises(NotFollowedError, match=f"^{reason}$"):
        followed("ScatterND", Node(18, {}, operands))


REDUCED = [
    ("add", F, [1, 2.5], [1.5, 2.25], 4.75),
    ("mul", F, [1, 2.5], [2, 0.5], 1),
    ("max", F, [1, 2.5], [2, 0.5], 2),
    ("min", F, [1, 2.5], [2, 0.5], 0.5),
    ("add", np.int8, [100, 2], [100, 100], 44),
    ("mul", np.uint8, [100, 2], [3, 3], 132),
    ("max", np.int64, [2**62, 2], [2**62 + 1, 1], 2**62 + 1),
    ("min", np.int64, [2**62, 2], [2**62 - 1, 2**62], 2**62 - 1),
]


@pytest.mark.parametrize(("reduction", "dtype", "data", "updates", "expected"), REDUCED)
def test_updates_of_a_place_are_reduced_together(
    reduction: str, dtype: Any, data: list[Any], updates: list[Any], expected: Any
) -> None:
    result = said(data, [[0], [0]], updates, dtype, reduction=reduction)
    assert result.nearest.tolist() == [expected, data[1]]


@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_every_order_of_updates_is_admitted_and_nothing_far(reduction: str) -> None:
    numbers = F([1e8, -1e8, 0.1]) if reduction == "add" else F([1e-30, 3e-10, 7e20])
    result = said([1.7], [[0]] * 3, numbers, reduction=reduction)
    for order in itertools.permutations(numbers):
        made = F(1.7)
        for each in order:
            made = made + each if reduction == "add" else made * each
        assert not result.outside(F([made])).any()
    assert result.outside(F([result.nearest[0] * 1.001 + 200])).all()


def test_product_that_overflows_on_the_way_is_anything() -> None:
    result = said([1e30], [[0]] * 2, [1e30, 1e-30], reduction="mul")
    assert not result.outside(F([np.inf])).any()


@pytest.mark.parametrize(("shapes", "indices", "reason"), [
    (((), (1,)), [[0]], "indices (1, 1) do not fit data ()"),
    (((2,), (1,)), [[0, 0]], "indices (1, 2) do not fit data (2,)"),
    (((2, 3), (1, 2)), [[0]], "updates (1, 2) should have the shape (1, 3)"),
    (((2, 3), (1, 3)), [[2]], "an index is not in [2]"),
    (((2, 3), (1,)), [[0, -4]], "an index is not in [2, 3]"),
])  # fmt: skip
def test_node_without_a_meaning_says_why(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], indices: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        said(np.ones(shapes[0]), indices, np.ones(shapes[1]))


@pytest.mark.parametrize(("dtype", "reduction"), [(np.bool_, "max"), (F, "mean")])
def test_reduction_that_no_document_defines_is_not_known(dtype: Any, reduction: str) -> None:
    reason = "no document says what the reduction makes of these elements"
    with pytest.raises(ValueError, match=f"^{reason}$"):
        said([1, 0], [[0]], [1], dtype, reduction=reduction)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_excerpts_of_all_elements_are_the_node(reduction: str) -> None:
    generator = np.random.default_rng(0)
    data, updates = (generator.normal(size=s).astype(F) for s in ((3, 2), (4, 2)))
    indices = LONG([[0], [2], [0], [0]]) if reduction != "none" else LONG([[0], [2], [1], [-3]])
    node = Node(18, {"reduction": reduction}, (data, indices, updates))
    if reduction == "none":
        node = Node(18, {"reduction": reduction}, (data, indices[:3], updates[:3]))
    (whole,) = meaning_of("ScatterND", node)
    cut = excerpts("ScatterND", node, [whole.nearest], lambda result, _: np.arange(result.size))
    seen: list[int] = []
    for excerpt in cut:
        (part,) = meaning_of("ScatterND", Node(18, excerpt.attributes, tuple(excerpt.operands)))
        (places,) = excerpt.places
        assert places is not None
        assert part.nearest.ravel().tolist() == whole.nearest.ravel()[places].tolist()
        seen += places.tolist()
    assert seen == [*range(6)]


@pytest.mark.parametrize(("reduction", "opset"), [
    ("none", 13), ("add", 16), ("mul", 16), ("max", 18), ("min", 18),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [F, np.int64])
def test_onnxruntime_computes_what_is_admitted(reduction: str, opset: int, dtype: Any) -> None:
    generator = np.random.default_rng(0)
    data, updates = (generator.integers(-9, 9, s).astype(dtype) for s in ((4, 3), (3, 3)))
    indices = LONG([[1], [3], [0]] if reduction == "none" else [[1], [-1], [1]])
    attributes = {} if reduction == "none" else {"reduction": reduction}
    node = Applied("ScatterND", [data, indices, updates], attributes, opset=opset)
    found: list[Array] = by_onnxruntime(node)
    assert not outside(node, found)

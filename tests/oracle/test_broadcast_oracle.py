"""The oracle of Broadcast: results by hand, numpy as a second opinion, and broken rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from restrictions import Violation, broadcast

from sonnx_ort.profile.element_type import ElementType
from support.broadcasting import assert_identical, shapes_of_tensors
from support.values import from_bits


@pytest.mark.satisfies(
    "Broadcast.one_shape",
    "Broadcast.repeated",
    "Broadcast.condition_1",
    "Broadcast.prepended",
    "Broadcast.prepended.ones",
    "Broadcast.step_1",
    "Broadcast.step_1.prepended",
    "Broadcast.step_1.elements",
    "Broadcast.step_2.first",
    "Broadcast.step_2.function",
    "Broadcast.step_2.elements",
)
@pytest.mark.parametrize(
    ("x0", "x1", "z0", "z1"),
    [
        (1, 2, 1, 2),
        ([1, 2, 3], 4, [1, 2, 3], [4, 4, 4]),
        ([[1, 2], [3, 4]], [5, 6], [[1, 2], [3, 4]], [[5, 6], [5, 6]]),
        ([[1], [2]], [[3, 4]], [[1, 1], [2, 2]], [[3, 4], [3, 4]]),
        ([1, 2], [[3], [4]], [[1, 2], [1, 2]], [[3, 3], [4, 4]]),
        ([7], [[[8]]], [[[7]]], [[[8]]]),
    ],
)
def test_elements_are_repeated(x0, x1, z0, z1):
    first, second = broadcast(np.int32(x0), np.int32(x1))
    assert (first.tolist(), second.tolist()) == (z0, z1)


@pytest.mark.satisfies("Broadcast.C1")
def test_each_result_has_the_type_of_its_own_tensor():
    results = broadcast(np.float32([1, 2]), np.array(True), np.int8([[3]]))
    assert [result.dtype.name for result in results] == ["float32", "bool", "int8"]


def test_tensor_alone_stays_as_it_is():
    (result,) = broadcast(np.int32([[1, 2, 3]]))
    assert result.tolist() == [[1, 2, 3]]


def test_nan_keeps_its_payload():
    payload = from_bits([0x7F81], ElementType.BFLOAT16)
    result, _ = broadcast(payload, np.zeros(2))
    assert_identical(result, from_bits([0x7F81, 0x7F81], ElementType.BFLOAT16))


@pytest.mark.satisfies("Broadcast.condition_2", "Broadcast.errors")
@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (2,)),
        ((0,), (1,)),
        ((0,), ()),
        ((0, 3), (3,)),
        ((2, 0), (2, 1)),
        ((2,), (1,), (3,)),
        ((1,), (2, 3), (2,)),
    ],
    ids=str,
)
def test_size_that_is_neither_the_largest_nor_1_is_a_violation(shapes):
    assert broadcast(*map(np.zeros, shapes)) == Violation("Broadcast.E1")


@given(st.integers(1, 4).flatmap(shapes_of_tensors))
def test_it_agrees_with_numpy_except_on_a_size_of_0_against_1(shapes):
    tensors = [np.arange(np.prod(shape, dtype=int)).reshape(shape) for shape in shapes]
    rank = max(map(len, shapes))
    axes = list(zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True))
    try:
        expected = np.broadcast_arrays(*tensors)
    except ValueError:
        expected = None
    if expected is None or any({0, 1} <= set(sizes) for sizes in axes):
        assert broadcast(*tensors) == Violation("Broadcast.E1")
        return
    for result, by_numpy in zip(broadcast(*tensors), expected, strict=True):
        assert_identical(result, np.array(by_numpy))

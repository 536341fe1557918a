"""Tensors of operators of any number of operands are cut out of vectors."""

import numpy as np
import pytest

from sonnx_ort.custom_ops.kernel import separated, shapes_in


@pytest.mark.parametrize(
    ("sizes", "ranks", "shapes"),
    [
        ([], [], []),
        ([], [0, 0], [(), ()]),
        ([2, 3, 4], [2, 1], [(2, 3), (4,)]),
        ([2, 3, 4], [1, 0, 2], [(2,), (), (3, 4)]),
    ],
)
def test_each_shape_has_as_many_sizes_as_its_rank(sizes, ranks, shapes):
    assert shapes_in(np.array(sizes, np.int64), np.array(ranks, np.int64)) == shapes


def test_each_tensor_has_the_elements_behind_those_of_the_one_before():
    tensors = separated(np.arange(10), np.array([1, 2, 3, 0, 3]), np.array([2, 1, 0, 2]))
    assert [tensor.tolist() for tensor in tensors] == [[[0, 1]], [2, 3, 4], 5, []]
    assert tensors[3].shape == (0, 3)

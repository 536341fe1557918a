"""Shapes and operands as messages show them, and what ONNX would broadcast to."""

import numpy as np
import pytest

from sonnx_ort.terms.operand import (
    Bounds,
    Operand,
    broadcast_shape,
    contradict,
    first_index,
    format_shape,
    has_known_sizes,
    symbols_in,
)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (None, "(rank unknown)"),
        ((), "()"),
        ((4,), "(4,)"),
        ((None,), "(?,)"),
        (("batch",), "(batch,)"),
        (("n", 3), "(n, 3)"),
        ((0, None, "n"), "(0, ?, n)"),
    ],
)
def test_format_shape(shape, text):
    assert format_shape(shape) == text


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        ((), (), ()),
        ((3,), (), (3,)),
        ((3,), (3,), (3,)),
        ((3,), (1,), (3,)),
        ((3,), (4,), None),
        ((2, 3), (3,), (2, 3)),
        ((2, 1), (1, 3), (2, 3)),
        ((2, 3), (2,), None),
        ((0,), (1,), (0,)),
        ((0,), (2,), None),
        (("n",), ("n",), ("n",)),
        (("n",), (1,), ("n",)),
        (("n",), (3,), (3,)),
        (("n",), ("m",), (None,)),
        ((None,), (None,), (None,)),
        ((None,), (1,), (None,)),
        ((None,), (3,), (3,)),
        ((None,), ("n",), (None,)),
        (("n", 4), (3, 5), None),
    ],
)
def test_broadcast_shape(a, b, common):
    assert broadcast_shape(a, b) == common
    assert broadcast_shape(b, a) == common


def test_an_unknown_rank_leaves_the_common_shape_unknown():
    assert broadcast_shape((3,), None) is None
    assert broadcast_shape(None, (3,)) is None


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ((2, 3), (2, 3), False),
        ((2, 3), (2, 4), True),
        ((2, 3), (2,), True),
        ((), (1,), True),
        ((2, "n"), (2, 3), False),
        ((2, None), (2, 3), False),
        ((2, "n"), (2, "m"), False),
        ((2, "n"), (3, "m"), True),
        ((2,), None, False),
        (None, None, False),
    ],
)
def test_shapes_contradict_where_known_ranks_or_sizes_differ(one, other, differ):
    assert contradict(one, other) is differ
    assert contradict(other, one) is differ


@pytest.mark.parametrize(
    ("shape", "known"),
    [((2, 3), True), ((), True), ((2, "n"), False), ((2, None), False), (None, False)],
)
def test_sizes_are_known_where_all_are_numbers(shape, known):
    assert has_known_sizes(shape) is known


def test_symbols_of_a_shape_are_told_as_often_as_they_occur():
    assert symbols_in(("n", "2*m_1 + n", 3, None)) == ["n", "m_1", "n"]
    assert symbols_in(None) == []


def test_an_interval_includes_both_ends():
    assert [number in Bounds(-1, 2) for number in range(-2, 4)] == [False, *[True] * 4, False]


@pytest.mark.parametrize(
    ("operand", "text"),
    [
        (Operand("A", "x", "input", "float", ("n", 3)), "A 'x' float (n, 3) [input]"),
        (Operand("B", "y", "Conv 'c1'"), "B 'y' unknown type (rank unknown) [Conv 'c1']"),
        (Operand("B", "w", "initializer", "int8", ()), "B 'w' int8 () [initializer]"),
    ],
)
def test_operand_as_text(operand, text):
    assert str(operand) == text


@pytest.mark.parametrize(
    ("mask", "index"),
    [
        (True, ()),
        ([False, True, True], (1,)),
        ([[False, False], [True, False]], (1, 0)),
        ([[[False], [True]], [[True], [True]]], (0, 1, 0)),
    ],
)
def test_first_index_is_in_row_major_order(mask, index):
    assert first_index(np.array(mask)) == index

"""Shapes and operands as messages show them, and what ONNX would broadcast to."""

import numpy as np
import pytest

from sonnx_ort.profile.operand import Operand, broadcast_shape, first_index, format_shape


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


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (1,)), ((2, 3), (3,)), (("n",), (3,)), ((3,), (4,)), ((None,), (1,))]
)
def test_broadcast_shape_is_the_same_either_way_round(a, b):
    assert broadcast_shape(a, b) == broadcast_shape(b, a)


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

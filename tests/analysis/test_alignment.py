"""How legacy broadcasting lines the second operand up with the first."""

import onnx_ir as ir
import pytest

from sonnx_ort.analysis.alignment import aligned_shape, trailing_axes
from sonnx_ort.analysis.targets import Target
from sonnx_ort.profile.div import DIV
from sonnx_ort.profile.operand import Operand

A = (2, 3, 4, 5)


def trailing(a_shape, b_shape, **attributes):
    node = ir.node("Div", [ir.val("A"), ir.val("B")], attributes)
    operands = tuple(
        Operand(letter, letter, "input", "float", shape)
        for letter, shape in (("A", a_shape), ("B", b_shape))
    )
    return trailing_axes(Target(node, DIV, "the_node"), operands)


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "axis", "axes"),
    [
        (A, (2,), 0, 3),
        (A, (2, 3), 0, 2),
        (A, A, 0, 0),
        (A, (3, 4), 1, 1),
        (A, (5,), 3, 0),
        (A, (5,), -1, 0),
        (A, (3, 4), -3, 1),
        (A, (2,), -4, 3),
        (("n", "m", 4), ("m",), 1, 1),
        ((None, None), (None,), 0, 1),
    ],
    ids=str,
)
def test_axis_says_where_the_second_shape_starts(a_shape, b_shape, axis, axes):
    assert trailing(a_shape, b_shape, broadcast=1, axis=axis) == axes


@pytest.mark.parametrize("b_shape", [(), (1, 1), (5,), (4, 5), None], ids=str)
def test_without_axis_the_last_axes_line_up(b_shape):
    assert trailing(A, b_shape, broadcast=1) == 0


@pytest.mark.parametrize("b_shape", [(), (1,), (1, 1)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 3])
def test_one_element_lines_up_at_any_axis(b_shape, axis):
    assert trailing(A, b_shape, broadcast=1, axis=axis) == 0


@pytest.mark.parametrize(
    ("b_shape", "axis"),
    [((5,), 4), ((4, 5), 3), ((4, 5), -1), ((5,), -5), ((5,), -9)],
    ids=str,
)
def test_what_reaches_out_of_the_first_shape_does_not_line_up(b_shape, axis):
    assert trailing(A, b_shape, broadcast=1, axis=axis) is None


@pytest.mark.parametrize(("a_shape", "b_shape"), [(None, (3,)), ((2, 3), None)], ids=str)
def test_axis_says_nothing_where_a_rank_is_unknown(a_shape, b_shape):
    assert trailing(a_shape, b_shape, broadcast=1, axis=1) is None


@pytest.mark.parametrize("attributes", [{}, {"axis": 0}, {"broadcast": 0, "axis": 0}], ids=str)
def test_axis_means_nothing_without_broadcasting(attributes):
    assert trailing((2, 3), (2, 3), **attributes) == 0


@pytest.mark.parametrize(
    ("shape", "axes", "aligned"),
    [((3, 4), 1, (3, 4, 1)), ((), 2, (1, 1)), (("n",), 0, ("n",)), (None, 0, None)],
    ids=str,
)
def test_axes_of_size_1_stand_behind_a_lined_up_shape(shape, axes, aligned):
    assert aligned_shape(shape, axes) == aligned

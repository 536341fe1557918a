"""Shapes of operators that take axes away, or make them one element long."""

from collections.abc import Sequence
from typing import Any

import pytest

from support.shape_rules import Dimensions, Operand, integers, shapes_of

Case = tuple[str, Sequence[Operand], dict[str, Any], Dimensions]

REDUCTIONS: list[Case] = [
    ("ReduceSum", [("n", 4, 8), integers(0, 1)], {}, (1, 1, 8)),
    ("ReduceSum", [("n", 4, 8), integers(0, 1)], {"keepdims": 1}, (1, 1, 8)),
    ("ReduceSum", [("n", 4, 8), integers(0, 1)], {"keepdims": 0}, (8,)),
    ("ReduceSum", [("n", 4, 8)], {}, (1, 1, 1)),
    ("ReduceSum", [("n", 4, 8)], {"keepdims": 0}, ()),
    ("ReduceSum", [("n", 4, 8), integers()], {}, (1, 1, 1)),
    ("ReduceSum", [("n", 4, 8)], {"noop_with_empty_axes": 0}, (1, 1, 1)),
    ("ReduceSum", [("n", 1, 8)], {"noop_with_empty_axes": 1}, (None, 1, None)),
    ("ReduceSum", [("n", 1, 8), integers(2)], {"noop_with_empty_axes": 1}, ("n", 1, 1)),
    ("ReduceSum", [("n", 1, 8), ("k",)], {}, (None, 1, None)),
    ("ReduceSum", [("n", 1, 8), integers(-1)], {}, ("n", 1, None)),
    ("ReduceSum", [("n", 1, 8), integers(-2)], {}, ("n", 1, 8)),
    ("ReduceSum", [(2, 1, 8), integers(-1)], {}, (2, 1, 1)),
    ("ReduceSum", [(2, 1, 8), integers(-1)], {"keepdims": 0}, (2, 1)),
    ("ReduceSum", [(0, 1, 8), integers(0, -1)], {}, (None, 1, None)),
    ("ReduceSum", [()], {}, ()),
    ("ReduceMax", [("n", 4, 8)], {"axes": [1], "version": 13}, ("n", 1, 8)),
    ("ReduceMax", [("n", 4, 8), integers(1)], {}, ("n", 1, 8)),
    ("ArgMax", [("n", 4, 8)], {}, (1, 4, 8)),
    ("ArgMin", [("n", 4, 8)], {"axis": 2, "keepdims": 0}, ("n", 4)),
    ("ArgMin", [(2, 4, 8)], {"axis": -2}, (2, 1, 8)),
]


@pytest.mark.parametrize(("operator", "operands", "rest", "expected"), REDUCTIONS, ids=str)
def test_reduced_axes_are_gone_or_one_element_long(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of(operator, *operands, **rest) == [expected]


@pytest.mark.parametrize(
    ("operator", "operands", "rest"),
    [
        ("ReduceSum", [...], {}),
        ("ReduceSum", [("n", 4, 8), ("k",)], {"keepdims": 0}),
        ("ReduceSum", [("n", 4, 8)], {"keepdims": 0, "noop_with_empty_axes": 1}),
        ("ReduceSum", [("n", 4, 8), integers(-1)], {"keepdims": 0}),
        ("ReduceSum", [(0, 4, 8), integers(-1)], {"keepdims": 0}),
        ("ReduceSum", [("n", 4, 8), integers(3)], {}),
        ("ArgMax", [("n", 4, 8)], {"axis": -4}),
    ],
    ids=str,
)
def test_nothing_is_certain_where_no_axis_is(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any]
) -> None:
    assert shapes_of(operator, *operands, **rest) is None

"""Shapes of operators that give the elements of a tensor in another order, or some of them."""

from collections.abc import Sequence
from typing import Any

import pytest

from sonnx_ort.facts.layout import sliced_size
from sonnx_ort.facts.sizes import Symbolic
from support.shape_rules import Dimensions, Holding, Operand, integers, shapes_of

Case = tuple[str, Sequence[Operand], dict[str, Any], Dimensions]

IMAGE = ("n", 4, 8)
END = 2**63 - 1

ORDER: list[Case] = [
    ("Transpose", [IMAGE], {}, (8, 4, "n")),
    ("Transpose", [IMAGE], {"perm": [1, 2, 0]}, (4, 8, "n")),
    ("Transpose", [()], {}, ()),
    ("Concat", [IMAGE, IMAGE], {"axis": 0}, ("2*n", 4, 8)),
    ("Concat", [IMAGE, ("n", 5, 8), ("n", 6, 8)], {"axis": 1}, ("n", 15, 8)),
    ("Concat", [IMAGE, ("m", 4, 9)], {"axis": -1}, (None, 4, 17)),
    ("Concat", [IMAGE, IMAGE, ("n", 4, 9)], {"axis": 1}, ("n", 12, None)),
    ("Concat", [IMAGE], {"axis": 2}, IMAGE),
    ("Flatten", [("n", 2, 3, 4)], {}, ("n", 24)),
    ("Flatten", [("n", 2, 3, 4)], {"axis": 0}, (1, "24*n")),
    ("Flatten", [("n", 2, 3, 4)], {"axis": 2}, ("2*n", 12)),
    ("Flatten", [("n", 2, 3, 4)], {"axis": 4}, ("24*n", 1)),
    ("Flatten", [("n", 2, 3, 4)], {"axis": -1}, ("6*n", 4)),
    ("Flatten", [("n", 2, 3, 4)], {"axis": -4}, (1, "24*n")),
    ("Squeeze", [(1, 4, 1)], {}, (4,)),
    ("Squeeze", [(1, "n", 1), integers(0)], {}, ("n", 1)),
    ("Squeeze", [(1, "n", 1), integers(0, -1)], {}, ("n",)),
    ("Squeeze", [(1, "n", 1)], {"axes": [2], "version": 11}, (1, "n")),
    ("Unsqueeze", [("n", 4), integers(0)], {}, (1, "n", 4)),
    ("Unsqueeze", [("n", 4), integers(3, 1)], {}, ("n", 1, 4, 1)),
    ("Unsqueeze", [("n", 4), integers(-1)], {}, ("n", 4, 1)),
    ("Unsqueeze", [("n", 4), integers(-4, 1)], {}, (1, 1, "n", 4)),
    ("Unsqueeze", [("n", 4)], {"axes": [1], "version": 11}, ("n", 1, 4)),
]

PARTS: list[Case] = [
    ("Slice", [IMAGE, integers(0), integers(2)], {}, ("min(n, 2)", 4, 8)),
    ("Slice", [IMAGE, integers(1), integers(3), integers(-2)], {}, ("n", 2, 8)),
    ("Slice", [IMAGE, integers(1, 0), integers(3, 7), integers(1, 2)], {}, ("n", 2, 7)),
    ("Slice", [IMAGE, integers(0), integers(7), integers(2), integers(3)], {}, ("n", 4, 3)),
    ("Slice", [IMAGE, integers(0, 1), integers(END, 2)], {}, ("n", 1, 8)),
    ("Slice", [IMAGE, integers(0, 1), integers(9, 8), None, integers(1, 3)], {},
     ("min(n, 9)", 1, 8)),
    ("Slice", [IMAGE, integers(0), integers(0), integers(0), integers(2)], {},
     ("sliced(n, 0, 0, 2)", 4, 8)),
    ("Slice", [IMAGE, ("k",), integers(2)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), None], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), ("k",)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0, 1), Holding(("k", 3))], {}, (None, 2, 8)),
    ("Slice", [IMAGE, Holding((1, None)), integers(9, 3), integers(1, 2)], {}, ("n", 3, None)),
    ("Slice", [IMAGE, integers(0), integers(2), ("k",)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), integers(2), integers(1), ("k",)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), integers(2), integers(1), integers(0)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0, 0), integers(2)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), integers(2), integers(1, 2)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), integers(2), integers(1), integers(1, 1)], {},
     (None, None, None)),
    ("Slice", [IMAGE, integers(0, 0), integers(2, 3), integers(1, -2)], {}, (None, None, None)),
    ("Slice", [IMAGE, integers(0), integers(2), integers(3)], {}, (None, None, None)),
    ("Slice", [IMAGE], {"starts": [1, 2], "ends": [3, 4], "axes": [1, 2], "version": 1},
     ("n", 2, 2)),
    ("Slice", [IMAGE], {"starts": [0, 1], "ends": [END, 4], "version": 1}, ("n", 3, 8)),
    ("Slice", [IMAGE, integers(0), integers(2)], {"version": 10}, ("min(n, 2)", 4, 8)),
    ("Gather", [IMAGE, ("k", 2)], {}, ("k", 2, 4, 8)),
    ("Gather", [IMAGE, ()], {"axis": 1}, ("n", 8)),
    ("Gather", [IMAGE, ("k",)], {"axis": -1}, ("n", 4, "k")),
    ("GatherElements", [IMAGE, ("k", 1, 2)], {}, ("k", 1, 2)),
    ("GatherND", [IMAGE, ("k", 5, 2)], {}, ("k", 5, 8)),
    ("GatherND", [IMAGE, ("k", 3)], {}, ("k",)),
    ("GatherND", [IMAGE, (2,)], {}, (8,)),
    ("GatherND", [IMAGE, ("n", 4, 1)], {"batch_dims": 2}, ("n", 4)),
    ("GatherND", [IMAGE, ("n", 1)], {"batch_dims": 1}, ("n", 8)),
]  # fmt: skip

SPACE: list[Case] = [
    ("DepthToSpace", [("n", 18, "h", 5)], {"blocksize": 3}, ("n", 2, "3*h", 15)),
    ("SpaceToDepth", [("n", "d", 9, 6)], {"blocksize": 3}, ("n", "9*d", 3, 2)),
    ("Pad", [("n", 4), integers(1, 2, 3, 4)], {}, ("n + 4", 10)),
    ("Pad", [("n", 4), integers(1, -2, 3, -1)], {}, ("n + 4", 1)),
    ("Pad", [("n", 4), integers(1, 2), None, integers(1)], {}, ("n", 7)),
    ("Pad", [("n", 4), Holding((0, "m", 1, None))], {}, ("n + 1", None)),
    ("Pad", [("n", 4), Holding((0, "m", 1, 2))], {}, ("n + 1", "m + 6")),
    ("Pad", [("n", 4), integers(1, 2), None, integers(-2)], {}, ("n + 3", 4)),
    ("Pad", [("n", 4), integers(1, 2, 3, 4), None, integers(1, 0)], {}, ("n + 6", 8)),
    ("Pad", [("n", 4), ("k",)], {}, (None, None)),
    ("Pad", [("n", 4), integers(1, 2), None, ("k",)], {}, (None, None)),
    ("Pad", [("n", 4), integers(1, 2, 3)], {}, (None, None)),
    ("Pad", [("n", 4), integers(1, 2)], {}, (None, None)),
    ("Pad", [("n", 4), integers(1, 2, 3, 4), None, integers(1, -1)], {}, (None, None)),
    ("Pad", [("n", 4)], {"pads": [1, 2, 3, 4], "version": 2}, ("n + 4", 10)),
    ("Pad", [("n", 4), integers(1, 2, 3, 4)], {"version": 11}, ("n + 4", 10)),
]


@pytest.mark.parametrize(
    ("operator", "operands", "rest", "expected"), ORDER + PARTS + SPACE, ids=str
)
def test_shape_follows_from_those_of_the_inputs(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of(operator, *operands, **rest) == [expected]


@pytest.mark.parametrize(
    ("size", "start", "end", "step", "expected"),
    [
        (9, 2, 7, 1, "5"),
        (9, 2, 7, 2, "3"),
        (9, -4, END, 1, "4"),
        (9, 8, 1, -2, "4"),
        (9, -1, -(2**63), -1, "9"),
        (9, -10, -11, -1, "1"),
        (9, -(2**63), -(2**63), -(2**63), "1"),
        (0, -1, -2, -1, "0"),
        (9, 8, END, -1, "None"),
        (9, 8, 2**31 - 1, -1, "None"),
        (9, 8, 2**31 - 1, 1, "1"),
        (9, 8, 2**31 - 2, -1, "0"),
        ("n", 8, 2**31 - 1, -1, "None"),
        ("n", 0, END, 1, "n"),
        ("n", 0, END - 1, 1, f"min(n, {END - 1})"),
        ("n", 0, 0, 1, "min(n, 0)"),
        ("n", 0, -1, 1, "sliced(n, 0, -1, 1)"),
        ("n", 1, 7, 1, "sliced(n, 1, 7, 1)"),
        ("n", 0, 7, 2, "sliced(n, 0, 7, 2)"),
    ],
)
def test_size_of_a_slice(size: int | str, start: int, end: int, step: int, expected: str) -> None:
    own = Symbolic.named(size) if isinstance(size, str) else size
    assert str(sliced_size(own, start, end, step)) == expected


@pytest.mark.parametrize(
    ("operands", "rest", "expected"),
    [
        ([(7, "n")], {"outputs": 2}, [(4, "n"), (3, "n")]),
        ([("n", 9)], {"outputs": 3, "axis": 1}, [("n", 3)] * 3),
        ([("n", 7)], {"outputs": 3, "axis": -1}, [("n", 3), ("n", 3), ("n", 1)]),
        ([("n", 6)], {"outputs": 4, "axis": 1}, [("n", 2), ("n", 2), ("n", 2), ("n", 0)]),
        ([("n", 5)], {"outputs": 4, "axis": 1}, None),
        ([("n", 9)], {"outputs": 3, "axis": 1, "num_outputs": 3}, [("n", 3)] * 3),
        ([("n", 9)], {"outputs": 3, "axis": 1, "num_outputs": 2}, None),
        ([("n", 9)], {"outputs": 2}, [(None, 9)] * 2),
        ([("n", 9), integers(2, 7)], {"outputs": 2, "axis": 1}, [("n", 2), ("n", 7)]),
        ([("n", 9), integers(2, 7)], {"outputs": 3, "axis": 1}, None),
        ([("n", 9), ("k",)], {"outputs": 2, "axis": 1}, [("n", None)] * 2),
        (
            [("n", 9, 4)],
            {"outputs": 2, "axis": 1, "split": [2, 7], "version": 2},
            [("n", 2, 4), ("n", 7, 4)],
        ),
        ([("n", 8)], {"outputs": 2, "axis": 1, "version": 13}, [("n", 4)] * 2),
        ([("n", 9)], {"outputs": 2, "axis": 1, "version": 13}, None),
        ([("n", 9)], {"outputs": 2, "axis": 1, "version": 18}, [("n", 5), ("n", 4)]),
        ([("n", 9)], {"outputs": 2, "axis": 2}, None),
    ],
    ids=str,
)
def test_parts_are_as_large_as_the_node_says_or_equal_but_for_the_last(
    operands: Sequence[Operand], rest: dict[str, Any], expected: list[Dimensions] | None
) -> None:
    assert shapes_of("Split", *operands, **rest) == expected


@pytest.mark.parametrize(
    ("operands", "rest", "expected"),
    [
        ([IMAGE, integers(3)], {}, ("n", 4, 3)),
        ([IMAGE, integers(3)], {"axis": 0}, (3, 4, 8)),
        ([IMAGE, ("k",)], {"axis": 1}, ("n", None, 8)),
        ([IMAGE, Holding(("k",))], {"axis": 1}, ("n", "k", 8)),
        ([IMAGE, Holding(("k",))], {"axis": 1, "shared": ["k"]}, ("n", None, 8)),
        ([IMAGE, Holding((None,))], {"axis": 1}, ("n", None, 8)),
        ([IMAGE, integers(3)], {"version": 10}, ("n", 4, 3)),
        ([IMAGE], {"k": 2, "axis": -2, "version": 1}, ("n", 2, 8)),
    ],
    ids=str,
)
def test_as_many_are_found_as_asked_for_and_their_places(
    operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of("TopK", *operands, outputs=2, **rest) == [expected, expected]


@pytest.mark.parametrize(
    ("operator", "operands", "rest"),
    [
        ("Transpose", [...], {}),
        ("Transpose", [IMAGE], {"perm": [0, 1]}),
        ("Transpose", [IMAGE], {"perm": [0, 1, 1]}),
        ("Transpose", [IMAGE], {"perm": [0, 1, -1]}),
        ("Concat", [IMAGE, ("n", 4)], {"axis": 0}),
        ("Concat", [IMAGE, ...], {"axis": 0}),
        ("Concat", [IMAGE, IMAGE], {"axis": 3}),
        ("Flatten", [IMAGE], {"axis": 4}),
        ("Flatten", [IMAGE], {"axis": -4}),
        ("Squeeze", [("n", 1)], {}),
        ("Squeeze", [(1, 1), ("k",)], {}),
        ("Squeeze", [(1, 1), integers(2)], {}),
        ("Unsqueeze", [IMAGE], {}),
        ("Unsqueeze", [IMAGE, integers(4)], {}),
        ("Unsqueeze", [IMAGE, integers(0, 0)], {}),
        ("Unsqueeze", [IMAGE, integers(1, -4)], {}),
        ("Gather", [IMAGE, ("k",)], {"axis": 3}),
        ("GatherND", [IMAGE, ("k", 4)], {}),
        ("GatherND", [IMAGE, ("k", "l")], {}),
        ("GatherND", [IMAGE, ()], {}),
        ("GatherND", [IMAGE, ("n", 3)], {"batch_dims": 1}),
        ("GatherND", [IMAGE, (1, 1)], {"batch_dims": 2}),
        ("DepthToSpace", [(18, "h", 5)], {"blocksize": 3}),
        ("DepthToSpace", [("n", "d", 6, 6)], {"blocksize": 3}),
        ("SpaceToDepth", [(2, 9, 6)], {"blocksize": 3}),
        ("SpaceToDepth", [("n", 2, "h", 6)], {"blocksize": 3}),
        ("SpaceToDepth", [("n", 2, 6, "w")], {"blocksize": 3}),
        ("TopK", [IMAGE, integers(3)], {"axis": 3}),
    ],
    ids=str,
)
def test_nothing_is_certain_where_an_input_or_an_axis_is_not(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any]
) -> None:
    assert shapes_of(operator, *operands, **rest) is None

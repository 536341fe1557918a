"""Operators whose output has sizes that another tensor holds, and what sizes are of numbers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from sonnx_ort.facts.sizes import equal_parts, is_within, reach, selected
from support.shape_rules import Dimensions, Holding, Operand, contents_of, integers, shapes_of

Case = tuple[str, Sequence[Operand], dict[str, Any], Dimensions]

IMAGE = ("n", 4, 8)


def floats(*elements: float) -> np.ndarray:
    return np.array(elements, np.float32)


COUNTED: list[Case] = [
    ("Shape", [IMAGE], {}, (3,)),
    ("Shape", [IMAGE], {"start": 1}, (2,)),
    ("Shape", [IMAGE], {"end": -1}, (2,)),
    ("Shape", [IMAGE], {"start": -1, "end": 9}, (1,)),
    ("Shape", [...], {}, (None,)),
    ("Size", [...], {}, ()),
    ("NonZero", [IMAGE], {}, (3, None)),
    ("NonZero", [()], {}, (None, None)),
    ("Range", [integers(1), integers(8), integers(3)], {}, (3,)),
    ("Range", [np.array(8), np.array(1), np.array(-3)], {}, (3,)),
    ("Range", [integers(1), integers(8), integers(0)], {}, (None,)),
    ("Range", [integers(1), (), integers(3)], {}, (None,)),
    ("Range", [integers(1), integers(8, 9), integers(3)], {}, (None,)),
    ("Range", [floats(1), floats(8), floats(3)], {}, (3,)),
    ("Range", [np.array(8.0), np.array(1.0), np.array(-3.0)], {}, (3,)),
    ("Range", [floats(-(1 << 23)), floats(-(1 << 23)), floats(1)], {}, (0,)),
    ("Range", [floats(-(1 << 23) - 1), floats(-(1 << 23)), floats(1)], {}, (None,)),
    ("Range", [floats(0), floats(2.5), floats(1)], {}, (None,)),
    ("Range", [floats(0), floats(math.inf), floats(1)], {}, (None,)),
    ("Range", [floats(math.nan), floats(3), floats(1)], {}, (None,)),
    ("Range", [floats(0), floats(3, 4), floats(1)], {}, (None,)),
    ("Constant", [], {"value": ir.tensor([[1, 2, 3]])}, (1, 3)),
    ("Constant", [], {"value_int": 1}, ()),
    ("DFT", [IMAGE], {}, (None, None, None)),
    ("Upsample", [IMAGE], {}, (None, None, None)),
    ("STFT", [...], {}, (None, None, None, 2)),
    ("STFT", [("n", 9, 1), np.array(2), (4,)], {}, ("n", 3, 3, 2)),
    ("STFT", [("n", 9), np.array(2), None, np.array(4)], {"onesided": 0}, ("n", 3, 4, 2)),
    ("STFT", [("n", "m", 1), np.array(2), (4,)], {}, ("n", None, 3, 2)),
    ("STFT", [("n", 3, 1), np.array(2), (4,)], {}, ("n", None, 3, 2)),
    ("STFT", [("n", 9, 1), np.array(2), (4,), np.array(4)], {}, (None, None, None, 2)),
    ("STFT", [("n", 9, 1), (), (4,)], {}, (None, None, None, 2)),
    ("OneHot", [IMAGE], {}, ("n", 4, 8, None)),
    ("OneHot", [IMAGE], {"axis": 0}, (None, "n", 4, 8)),
    ("OneHot", [IMAGE], {"axis": -2}, ("n", 4, None, 8)),
]

ASKED_FOR: list[Case] = [
    ("ConstantOfShape", [Holding(("n", 3, None, 0))], {}, ("n", 3, None, 0)),
    ("ConstantOfShape", [integers(2, 3)], {}, (2, 3)),
    ("ConstantOfShape", [(2,)], {}, (None, None)),
    ("Expand", [(1, 4), integers(3, 1)], {}, (3, 4)),
    ("Expand", [("n",), integers(2, 1)], {}, (2, "n")),
    ("Expand", [("n",), integers(1, 1)], {}, (1, "n")),
    ("Expand", [(2, 1, 1), integers(3)], {}, (2, 1, 3)),
    ("Expand", [(1, 1), Holding(("n", None))], {}, ("n", None)),
    ("Expand", [("n", "n", "n"), Holding(("n", "m", None))], {}, ("n", None, None)),
    ("Expand", [("n", 4, 4), Holding((3, "n", None))], {}, (3, 4, 4)),
    ("Expand", [(0,), Holding(("n",))], {}, (0,)),
    ("Tile", [("n", 4), integers(2, 3)], {}, ("2*n", 12)),
    ("Tile", [("n", 4), Holding((None, "m"))], {}, (None, "4*m")),
    ("Tile", [("n", 4), integers(0, 1)], {}, (0, 4)),
    ("Resize", [IMAGE, None, None, Holding(("k", 5, None))], {}, ("k", 5, None)),
    ("Resize", [IMAGE, None, None, integers(5)], {"axes": [1]}, (None, None, None)),
    ("Resize", [IMAGE, None, None, integers(5, 6, 7)], {"axes": [0, 1, 2]}, (5, 6, 7)),
    ("Resize", [IMAGE, None, None, integers(5, 6, 7)], {"axes": [1, 0, 2]}, (None, None, None)),
    ("Resize", [IMAGE, None, None, integers(5, 6, 7)], {"keep_aspect_ratio_policy": "stretch"},
     (5, 6, 7)),
    ("Resize", [IMAGE, None, None, integers(5, 5, 5)], {"keep_aspect_ratio_policy": "not_larger"},
     (None, None, None)),
    ("Resize", [IMAGE, None, None, integers(5, 5, 5)],
     {"coordinate_transformation_mode": "tf_crop_and_resize"}, (None, None, None)),
    ("Resize", [IMAGE, None, None, integers(5, 6, 7)],
     {"coordinate_transformation_mode": "asymmetric"}, (5, 6, 7)),
    ("Resize", [IMAGE, None, floats(1, 2, 0.4)], {}, (None, 8, 3)),
    ("Resize", [IMAGE, None, floats(1, 2, 0.4)], {"version": 11}, (None, 8, 3)),
    ("Resize", [IMAGE, floats(1, 2, 0.4)], {"version": 10}, (None, 8, 3)),
    ("Resize", [(8, 8), None, floats(0, -1)], {}, (None, None)),
    ("Resize", [(8, 8), None, floats(2**20, 2**20 - 1)], {}, (None, 2**23 - 8)),
    ("Resize", [(8, 8), None, floats(2, 2, 2)], {}, (None, None)),
    ("Resize", [(8, 8), None, (2,)], {}, (None, None)),
    ("Resize", [(8, 8), None, None], {}, (None, None)),
    ("Resize", [(3, 0), None, floats(1.7, 1)], {}, (5, 0)),
    ("Reshape", [IMAGE, integers(2, 3)], {}, (2, 3)),
    ("Reshape", [IMAGE, integers()], {}, ()),
    ("Reshape", [..., integers(2, 3)], {}, (2, 3)),
    ("Reshape", [..., integers(2, -1, 0)], {}, (2, None, None)),
    ("Reshape", [IMAGE, (2,)], {}, (None, None)),
    ("Reshape", [IMAGE, integers(0, 32)], {}, ("n", 32)),
    ("Reshape", [IMAGE, integers(0, 0, 2, 0)], {}, ("n", 4, 2, None)),
    ("Reshape", [IMAGE, integers(0, 32)], {"allowzero": 0}, ("n", 32)),
    ("Reshape", [IMAGE, integers(0, 32)], {"allowzero": 1}, (0, 32)),
    ("Reshape", [IMAGE, Holding(("n", "m"))], {}, ("n", None)),
    ("Reshape", [IMAGE, Holding(("n", "m"))], {"allowzero": 1}, ("n", "m")),
    ("Reshape", [IMAGE, integers(0, -1)], {}, ("n", 32)),
    ("Reshape", [IMAGE, integers(-1, 0)], {}, ("8*n", 4)),
    ("Reshape", [IMAGE, integers(-1, 1)], {}, ("32*n", 1)),
    ("Reshape", [IMAGE, integers(-1)], {}, ("32*n",)),
    ("Reshape", [IMAGE, integers(-1, 8)], {}, (None, 8)),
    ("Reshape", [(6, 4), integers(-1, 8)], {}, (3, 8)),
    ("Reshape", [(6, 4), integers(8, -1)], {}, (8, 3)),
    ("Reshape", [(6, 4), integers(2, -1, 3)], {}, (2, 4, 3)),
    ("Reshape", [(6, 4), integers(-1, 7)], {}, (None, 7)),
    ("Reshape", [(6, 4), integers(-1, -1)], {}, (None, None)),
    ("Reshape", [(6, 4), integers(-1, 0)], {"allowzero": 1}, (None, 0)),
    ("Reshape", [(6, 4), integers(0, -1, 2)], {}, (6, 2, 2)),
    ("Reshape", [IMAGE, Holding((None, -1))], {}, (None, None)),
    ("Reshape", [("m", "n", 6), Holding(("n", -1))], {}, (None, None)),
    ("Reshape", [("m", "n", 6), Holding(("n", -1))], {"allowzero": 1}, ("n", None)),
    ("Reshape", [("n", 6), Holding(("n", -1, 3))], {}, ("n", 2, 3)),
    ("Reshape", [("n", "n", 6), Holding(("n", -1))], {}, ("n", "6*n")),
    ("Reshape", [("n", 6), Holding(("n", "n", -1))], {"allowzero": 1}, ("n", "n", None)),
    ("Reshape", [("n", 6), Holding(("n", -1))], {"shared": ["n"]}, ("n", None)),
    ("Reshape", [("n", 6), Holding(("n", -1))], {"shared": ["m"]}, ("n", 6)),
    ("Reshape", [("n", 6), integers(0, -1)], {"shared": ["n"]}, ("n", 6)),
    ("Reshape", [(4, 6), integers(6, -1)], {}, (6, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "operands", "rest", "expected"), COUNTED + ASKED_FOR, ids=str)
def test_shape_follows_from_what_the_inputs_are(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of(operator, *operands, **rest) == [expected]


@pytest.mark.parametrize(
    ("operator", "operands", "rest"),
    [
        ("Constant", [], {"value_int": 1, "value_float": 1.0}),
        ("ConstantOfShape", [integers(2, -1)], {}),
        ("ConstantOfShape", [("k",)], {}),
        ("ConstantOfShape", [(65,)], {}),
        ("ConstantOfShape", [(2, 2)], {}),
        ("Expand", [IMAGE, integers(0)], {}),
        ("Expand", [IMAGE, integers(-1)], {}),
        ("Expand", [..., integers(2)], {}),
        ("Tile", [IMAGE, integers(2, 2)], {}),
        ("Reshape", [IMAGE, ("k",)], {}),
        ("Reshape", [IMAGE, None], {}),
        ("Resize", [IMAGE, None, None, integers(5, 6)], {}),
        ("OneHot", [IMAGE], {"axis": 4}),
        ("OneHot", [IMAGE], {"axis": -5}),
        ("NonZero", [...], {}),
    ],
    ids=str,
)
def test_nothing_is_certain_where_what_is_asked_for_is_not(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any]
) -> None:
    assert shapes_of(operator, *operands, **rest) is None


def test_few_elements_are_followed_one_by_one() -> None:
    assert shapes_of("ConstantOfShape", (64,)) == [(None,) * 64]


SIZES = Holding(("n", 3, None))


@pytest.mark.parametrize(
    ("operator", "operands", "rest", "expected"),
    [
        ("Shape", [IMAGE], {}, ("n", 4, 8)),
        ("Shape", [IMAGE], {"start": 1, "end": 2}, (4,)),
        ("Shape", [IMAGE], {"start": -1}, (8,)),
        ("Size", [IMAGE], {}, ("32*n",)),
        ("Identity", [SIZES], {}, ("n", 3, None)),
        ("Reshape", [SIZES, integers(3)], {}, ("n", 3, None)),
        ("Squeeze", [Holding(("n",))], {}, ("n",)),
        ("Unsqueeze", [Holding((7,)), integers(0)], {}, (7,)),
        ("Cast", [SIZES], {"to": ir.DataType.INT64}, ("n", 3, None)),
        ("Cast", [SIZES], {"to": ir.DataType.INT32}, ("int32(n)", 3, None)),
        ("Gather", [SIZES, integers(1, 0)], {}, (3, "n")),
        ("Gather", [SIZES, integers(-1, -3)], {}, (None, "n")),
        ("Slice", [SIZES, integers(1), integers(9)], {}, (3, None)),
        ("Slice", [SIZES, integers(0), integers(2)], {}, ("n", 3)),
        ("Slice", [SIZES, integers(0), integers(3), integers(0), integers(2)], {}, ("n", None)),
        ("Slice", [SIZES, integers(-1), integers(-9), None, integers(-1)], {}, (None, 3, "n")),
        ("Concat", [SIZES, integers(4), Holding(("m",))], {}, ("n", 3, None, 4, "m")),
        ("Expand", [Holding(("n",)), integers(3)], {}, ("n", "n", "n")),
        ("Expand", [Holding(("n",)), integers(1)], {}, ("n",)),
        ("Expand", [SIZES, integers(1)], {}, ("n", 3, None)),
        ("Expand", [SIZES, integers(3)], {}, ("n", 3, None)),
        ("Expand", [integers(2), integers(64)], {}, (2,) * 64),
        ("Add", [SIZES, integers(4, 5, 6)], {}, ("n + 4", 8, None)),
        ("Add", [integers(4, 5, 6), SIZES], {}, ("n + 4", 8, None)),
        ("Mul", [SIZES, Holding(("m", "m", 1))], {}, ("m*n", "3*m", None)),
        ("Mul", [SIZES, integers(2)], {}, ("2*n", 6, None)),
        ("Mul", [integers(2), SIZES], {}, ("2*n", 6, None)),
        ("Mul", [integers(2), integers(3)], {}, (6,)),
        ("Add", [integers(2), integers()], {}, ()),
        ("Add", [integers(), integers(2)], {}, ()),
    ],
    ids=str,
)
def test_sizes_are_followed_through_what_computes_with_them(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert contents_of(operator, *operands, **rest) == expected


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("Shape", [...]),
        ("Size", [...]),
        ("Identity", [...]),
        ("Gather", [SIZES, (1,)]),
        ("Gather", [SIZES, integers(3)]),
        ("Gather", [SIZES, floats(1)]),
        ("Slice", [SIZES, (1,), integers(9)]),
        ("Concat", [SIZES, ("k",)]),
        ("Expand", [SIZES, integers(2)]),
        ("Expand", [SIZES, integers(0)]),
        ("Expand", [SIZES, integers(-1)]),
        ("Expand", [SIZES, integers(1, 3)]),
        ("Expand", [SIZES, integers()]),
        ("Expand", [Holding(("n",)), integers(65)]),
        ("Expand", [Holding(("n",)), Holding(("m",))]),
        ("Expand", [("k",), integers(3)]),
        ("Add", [SIZES, integers(1, 2)]),
        ("Add", [integers(1, 2), SIZES]),
        ("Add", [SIZES, integers()]),
        ("Add", [integers(), SIZES]),
    ],
    ids=str,
)
def test_sizes_are_followed_no_further_than_they_are_certain(
    operator: str, operands: Sequence[Operand]
) -> None:
    assert contents_of(operator, *operands) is None


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

"""Ranges that are proposed from numbers: they hold the numbers, and stay within the type."""

import math
import sys

import numpy as np
import pytest

from sonnx_ort.profile.contract import ValueContract
from sonnx_ort.profile.element_type import FLOAT_TYPES, NUMERIC_TYPES, ElementType
from sonnx_ort.samples.seen import largest_sizes, numbers_in, widened
from sonnx_ort.terms.numbers import finite_numbers
from support.doors import doors


@pytest.mark.parametrize(
    ("kind", "numbers", "margin", "expected"),
    [
        ("int64", [2**53 + 3], 0, (2**53 + 3, 2**53 + 3)),
        ("int64", [-(2**63), 2**63 - 1], 0.25, (-(2**63), 2**63 - 1)),
        ("uint64", [2**64 - 1], 0.25, (2**64 - 1 - 2**62, 2**64 - 1)),
        ("uint8", [0, 255], 0.25, (0, 255)),
        ("int8", [-3, 5], 0.25, (-5, 7)),
        ("int32", [3, 5], 1e300, (0, 2**31 - 1)),
        ("double", [1.7e308], 0.25, (1.27e308, sys.float_info.max)),
        ("float", [3.4e38], 0.25, (2.54e38, float(np.finfo(np.float32).max))),
        ("float16", [65504], 0.25, (49100.0, 65504.0)),
        ("float", [0.5, 2.0], 0.5, (0.0, 3.0)),
        ("float", [-0.5, -0.1], 0.25, (-0.625, 0.0)),
        ("float", [5e-324], 0, (4.94e-324, 4.95e-324)),
        ("float", [1234.5], 0, (1230.0, 1240.0)),
        ("float", [0.5, math.inf], 0.5, (0.25, math.inf)),
        ("float", [-math.inf, math.inf], 0.5, (-math.inf, math.inf)),
    ],
)
def test_range_is_that_of_the_numbers_and_a_margin(kind, numbers, margin, expected):
    dtype = np.float64 if kind in {"float", "float16"} else ElementType(kind).dtype
    seen = numbers_in([{"x": np.array(numbers, dtype)}])["x"]
    found = widened(seen, margin, ElementType(kind))
    assert (found, list(map(type, found))) == (expected, list(map(type, expected)))


@pytest.mark.parametrize("kind", NUMERIC_TYPES)
def test_range_holds_the_numbers_of_every_type_with_any_margin(kind):
    numbers = [each for door in doors(kind) for each in door.numbers]
    rng = np.random.default_rng(5)
    least, most = finite_numbers(kind.dtype)
    for _ in range(100):
        array = rng.choice(np.array(numbers, kind.dtype), 3)
        array = array[~np.isnan(array)]
        if not array.size:
            continue
        margin = float(rng.choice([0, 1e-300, 0.25, 7, 1e308]))
        ends = widened(numbers_in([{"x": array}])["x"], margin, kind)
        assert ValueContract("x", ends).numbers.first_outside(array) is None
        if np.isfinite(array).all():
            assert least <= ends[0] <= ends[1] <= most


@pytest.mark.parametrize(
    ("arrays", "remark"),
    [
        ([[1.0], [2.0]], ""),
        (
            [[1.0, math.nan], [math.nan], [2.0], []],
            "NaN in 2 of 3 samples: no range, and not finite = true, for both refuse NaN",
        ),
        ([[-math.inf, 1.0], [2.0]], "infinite in 1 of 2 samples: the range reaches infinity"),
    ],
)
def test_numbers_that_no_range_holds_are_named(arrays, remark):
    seen = numbers_in([{"x": np.array(each, np.float32)} for each in arrays])
    assert seen["x"].remark == remark


@pytest.mark.parametrize("kind", FLOAT_TYPES)
def test_numbers_of_floats_are_those_of_the_type(kind):
    seen = numbers_in([{"x": np.array([0.1, -7], kind.dtype)}])["x"]
    assert (seen.lower, seen.upper) == (-7.0, float(kind.dtype.type(0.1)))


def test_texts_and_empty_arrays_have_no_numbers():
    arrays = {"x": np.array(["a"], object), "y": np.zeros(0, np.float32), "z": ["a list"]}
    assert numbers_in([arrays]) == {}


SMALL, LARGE = np.zeros(2), np.zeros((3, 2))


@pytest.mark.parametrize("runs", [(SMALL, LARGE), (LARGE, SMALL)], ids=["growing", "shrinking"])
def test_size_is_the_largest_of_all_runs(runs: tuple[np.ndarray, np.ndarray]) -> None:
    values = [{"x": each, "other": np.zeros(1), "none": None} for each in runs]
    assert largest_sizes(values) == {"x": 6, "other": 1}


@pytest.mark.parametrize("runs", [([1, 5], [-2, 3]), ([-2, 3], [1, 5])])
def test_numbers_of_runs_are_taken_together(runs: tuple[list[int], list[int]]) -> None:
    seen = numbers_in([{"x": np.float32(each)} for each in runs])["x"]
    assert (seen.lower, seen.upper, seen.samples) == (-2, 5, 2)

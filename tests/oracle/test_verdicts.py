"""What is said of each element that was computed: exact, admitted, outside, and how far away."""

import numpy as np
import pytest

from sonnx_ort.oracle import meaning
from sonnx_ort.oracle.results import Choices, Enclosure, Result, copied, exactly
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from support.meanings import Verdict, verdicts
from support.values import bits_dtype, from_bits

F = np.float32
INF, NAN = np.inf, np.nan
EXACT, ADMITTED, OUTSIDE, UNDEFINED = Verdict


def test_each_element_has_one_verdict():
    (result,) = meaning("Acos", 13, {}, [F([0.5, 0.5, 0.5, 2.0])])
    near, far = (result.nearest.view(np.int32) + k for k in (4, 5))
    found = np.array([*result.nearest[:1].view(np.int32), near[1], far[2], 0], np.int32).view(F)
    assert verdicts(result, found).tolist() == [EXACT, ADMITTED, OUTSIDE, UNDEFINED]
    assert result.exact(found).tolist() == [True, False, False, False]
    assert result.outside(found).tolist() == [False, False, True, False]
    assert result.units(found).tolist()[:3] == [0, 4, 5]


@pytest.mark.parametrize("make", [exactly, copied])
def test_zeros_and_nans_are_alike_unless_they_are_moved(make):
    nearest = from_bits([0, 0x7FC00000, 0x3F800000], ElementType.FLOAT)
    found = from_bits([0x80000000, 0x7FC00001, 0x3F800000], ElementType.FLOAT)
    moved = make is copied
    assert make(nearest).exact(found).tolist() == [not moved, not moved, True]
    assert make(nearest).units(found).tolist() == [0, 0, 0]


@pytest.mark.parametrize("element_type", FLOAT_TYPES)
def test_units_count_the_numbers_of_a_type(element_type):
    one = int(np.ones(1, element_type.dtype).view(bits_dtype(element_type)).item())
    sign = 1 << (8 * element_type.dtype.itemsize - 1)
    nearest = from_bits([one, one, one, 2, sign, sign | one], element_type)
    found = from_bits([one, one + 1, one - 3, sign | 3, 0, one], element_type)
    assert exactly(nearest).units(found).tolist() == [0, 1, 3, 5, 0, 2 * one]


@pytest.mark.parametrize(
    ("nearest", "found", "units"),
    [
        (NAN, NAN, 0),
        (INF, INF, 0),
        (-INF, -INF, 0),
        (NAN, 1.0, -1),
        (1.0, NAN, -1),
        (INF, NAN, -1),
        (INF, 65504.0, -1),
        (1.0, -INF, -1),
        (INF, -INF, -1),
    ],
)
@pytest.mark.parametrize("element_type", FLOAT_TYPES)
def test_infinities_and_nans_are_at_no_distance(element_type, nearest, found, units):
    given = [np.array([each], element_type.dtype) for each in (nearest, found)]
    assert exactly(given[0]).units(given[1]).tolist() == [units]


@pytest.mark.parametrize(
    ("nearest", "found", "units"),
    [
        (np.int8([-128, 5]), np.int8([127, 5]), [255, 0]),
        (np.int64([-(2**63)]), np.int64([2**63 - 1]), [2**64 - 1]),
        (np.uint64([0]), np.uint64([2**64 - 1]), [2**64 - 1]),
        (np.array([True, False]), np.array([False, False]), [1, 0]),
        (np.array(["a", "b"]), np.array(["a", "c"]), [0, -1]),
    ],
)
def test_units_of_integers_are_differences(nearest, found, units):
    assert exactly(nearest).units(found).tolist() == units


def test_units_keep_the_shape():
    assert exactly(np.zeros((2, 3), F)).units(np.zeros((2, 3), F)).shape == (2, 3)
    assert exactly(F(1)).units(np.nextafter(F(1), F(2))).item() == 1


@pytest.mark.parametrize("ask", [Result.exact, Result.outside, Result.units, verdicts])
def test_results_of_another_shape_or_type_are_an_error(ask):
    with pytest.raises(ValueError, match=r"^results are float32 \(2,\), not float32 \(1,\)$"):
        ask(exactly(F([1])), F([1, 2]))
    with pytest.raises(ValueError, match=r"^results are float64 \(1,\), not float32 \(1,\)$"):
        ask(exactly(F([1])), np.array([1.0]))


def test_admitted_units_are_those_on_the_side_of_the_element():
    nearest = np.ones(5, F)
    lowest, highest = (nearest.view(np.int32) + k for k in (-2, 3))
    ends = (lowest.view(F), highest.view(F), np.array([False, False, False, False, True]))
    undefined = np.array([False, False, False, True, False])
    found = (nearest.view(np.int32) + np.array([-7, 7, 0, 1, 1], np.int32)).view(F)
    result = Result(nearest, Enclosure(*ends), undefined)
    assert result.admitted_units(found).tolist() == [2, 3, 3, -1, -1]


@pytest.mark.parametrize("make", [exactly, copied])
@pytest.mark.parametrize(
    "nearest",
    [F([1, NAN, INF, 0]), np.int8([-128]), np.uint64([2**64 - 1]), np.array(["a"], object)],
    ids=str,
)
def test_no_units_are_admitted_of_exact_elements(make, nearest):
    assert set(make(nearest).admitted_units(nearest).tolist()) == {0}


def test_choices_reach_to_the_farthest_integer():
    nearest = np.array([2, 3], np.int8)
    choices = Choices(nearest, (frozenset({1, 2, 4}), frozenset({3})))
    result = Result(nearest, choices, np.zeros(2, np.bool_))
    assert result.admitted_units(nearest).tolist() == [2, 0]

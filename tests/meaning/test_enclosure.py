"""What is admitted of results, and what is said of each element."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from restrictions import outcome

from sonnx_ort.meaning import UNITS, meaning
from sonnx_ort.meaning.numbers import quotient
from sonnx_ort.meaning.results import Choices, Enclosure, Result, copied, exactly
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.meanings import Verdict, verdicts
from support.values import bits_dtype, from_bits

INF, NAN = np.inf, np.nan
UNIT_ROUNDOFF = Fraction(1, 2**24)
"""That of float: half of the machine epsilon."""
FLOAT, INT64 = ElementType.FLOAT, ElementType.INT64


def admitted(operator, operands, element_type=FLOAT, **attributes):
    arrays = [np.array(operand, element_type.dtype) for operand in operands]
    (result,) = meaning(operator, 21, attributes, arrays)
    return result.admitted


def moved(array, units):
    with np.errstate(over="ignore"):
        for _ in range(abs(units)):
            array = np.nextafter(array, array.dtype.type(np.copysign(INF, units)))
    return array


@pytest.mark.parametrize(("operator", "element_type"), UNITS, ids=str)
def test_so_many_units_are_admitted_and_no_more(operator, element_type):
    operand = np.array([0.25, 0.75], element_type.dtype)
    operands = [operand] * (2 if operator == "Pow" else 1)
    found = admitted(operator, operands, element_type)
    nearest = outcome(operator, operands, element_type, Edition.TYPED)
    units = UNITS[operator, element_type]
    within = [found.admits(moved(nearest, step)).tolist() for step in range(-units, units + 1)]
    beyond = [found.admits(moved(nearest, step)).any() for step in (-units - 1, units + 1)]
    assert within == [[True, True]] * (2 * units + 1)
    assert beyond == [False, False]


def test_units_go_on_across_zero():
    found = admitted("Pow", [[2.0**-75], [2.0]])
    tiny = np.float32(1e-45)
    assert found.admits(np.array([-tiny])).all()
    assert not found.admits(np.array([-2 * tiny])).any()


@pytest.mark.parametrize(("x", "wrong"), [(0.0, np.finfo(np.float32).min), (-1.0, 0.0)])
def test_infinities_and_nans_have_no_neighbours(x, wrong):
    found = admitted("Log", [[x]])
    assert found.admits(outcome("Log", [np.float32([x])], FLOAT, Edition.TYPED)).all()
    assert not found.admits(np.float32([wrong])).any()


@pytest.mark.satisfies("Accuracy.introduced", "Div.accuracy.sound")
@pytest.mark.parametrize("operator", ["Add", "Abs", "Div", "Sqrt"])
def test_exact_operator_admits_its_result_alone(operator):
    values = special_values(FLOAT)
    operands = [values] * (2 if operator in {"Add", "Div"} else 1)
    found = admitted(operator, operands)
    nearest = outcome(operator, operands, FLOAT, Edition.TYPED)
    assert found.admits(nearest).all()
    finite = np.isfinite(nearest)
    assert not found.admits(moved(nearest, 1))[finite].any()


@pytest.mark.satisfies("Div.accuracy.float", "Accuracy.introduced", "Div.accuracy.sound")
def test_quotient_keeps_the_bound_of_its_document():
    """Quotients beyond the type are infinities, and no numbers that it bounds."""
    values = [x for x in special_values(FLOAT) if np.isfinite(x)]
    smallest = Fraction(float(np.finfo(np.float32).smallest_normal))
    compared = 0
    for a, b in itertools.product(values, [x for x in values if x]):
        (found,) = outcome("Div", [np.float32([a]), np.float32([b])], FLOAT, Edition.TYPED)
        exact = Fraction(float(a)) / Fraction(float(b))
        if np.isfinite(found):
            compared += 1
            bound = UNIT_ROUNDOFF * max(abs(exact), smallest)
            assert abs(Fraction(float(found)) - exact) <= bound
    assert compared > len(values)


@pytest.mark.satisfies("Div.accuracy.propagated.bound")
def test_error_of_a_numerator_exceeds_the_propagated_error_of_its_document():
    a, b, error_of_a, error_of_b = map(Fraction, (1, 2, 1, 0))
    error = quotient(a + error_of_a, b + error_of_b) - quotient(a, b)
    bound = (abs(error_of_a) + abs(a * error_of_b / b)) / (abs(b) * abs(b + error_of_b))
    assert (error, bound) == (Fraction(1, 2), Fraction(1, 4))


@pytest.mark.satisfies("Div.accuracy.int", "Accuracy.integers")
def test_quotient_of_integers_misses_by_more_than_its_document_admits():
    int32 = ElementType.INT32
    (found,) = outcome("Div", [np.int32([5]), np.int32([3])], int32, Edition.TYPED)
    assert abs(int(found) - Fraction(5, 3)) == Fraction(2, 3)


@pytest.mark.satisfies("MatMul.accuracy.float")
def test_rounded_product_keeps_the_second_formula_of_its_document_alone():
    factor = np.float32(1 + 2**-12)
    exact = Fraction(float(factor)) ** 2
    (found,) = outcome("MatMul", [factor.reshape(1, 1)] * 2, FLOAT, Edition.TYPED).ravel()
    error, u = abs(Fraction(float(found)) - exact), UNIT_ROUNDOFF
    assert (1 + u**2 - 1) * exact < error <= ((1 + u) ** 2 - 1) * exact


@pytest.mark.satisfies("MatMul.accuracy.sound", "Accuracy.products")
def test_every_order_of_summation_is_admitted():
    row = np.float32([1e8, 1, -1e8, 3.7, 1e-3, -2.2])
    found = admitted("MatMul", [[row], np.ones((6, 1))])
    for order in itertools.permutations(row):
        total = np.float32(0)
        for summand in order:
            total += summand
        assert found.admits(np.float32([[total]])).all()


def test_product_without_one_summand_is_not_admitted():
    row = np.float32([1, 2, 3, 0.01])
    found = admitted("MatMul", [[row], np.ones((4, 1))])
    assert not found.admits(np.float32([[6]])).any()


def test_product_that_may_overflow_on_the_way_is_anything():
    found = admitted("MatMul", [[[3e38, 3e38, -3e38]], np.ones((3, 1))])
    assert found.admits(np.float32([[INF]])).all()
    assert found.admits(np.float32([[NAN]])).all()


@pytest.mark.parametrize("x", [0.0, 1.5, -7.0, 3e4])
def test_both_ways_to_normalize_are_admitted(x):
    scale, shift, mean, variance = (np.float32(v) for v in (1.5, -0.3, 2.0, 0.7))
    found = admitted("BatchNormalization", [[[x]], *([v] for v in (scale, shift, mean, variance))])
    factor = scale / np.sqrt(variance + np.float32(1e-5))
    x = np.float32(x)
    for result in (factor * (x - mean) + shift, x * factor + (shift - mean * factor)):
        assert found.admits(np.float32([[result]])).all()
        assert not found.admits(np.float32([[result * 1.0001]])).any()


@pytest.mark.parametrize(("x", "y"), [(3, 5), (-3, 33), (-1, 2**53 - 1), (2**53 - 1, 1)])
def test_integer_power_is_exact(x, y):
    found = admitted("Pow", [[x], [y]], INT64)
    right = np.array([x**y if abs(x) > 1 else x], np.int64)
    assert found.admits(right).all()
    assert not any(found.admits(right + other).any() for other in (-1, 1))


@pytest.mark.parametrize(
    ("x", "right", "wrong"), [(2049.0000001, [2048, 2050], [2052, 2046]), (2049.1, [2050], [2048])]
)
def test_conversion_may_round_to_float_before(x, right, wrong):
    found = admitted("Cast", [[x]], ElementType.DOUBLE, to=10)
    assert [found.admits(np.float16([number])).item() for number in right] == [True] * len(right)
    assert [found.admits(np.float16([number])).item() for number in wrong] == [False] * len(wrong)


def test_results_of_another_shape_or_type_are_an_error():
    found = admitted("Add", [[1.0], [2.0]])
    with pytest.raises(ValueError, match=r"^results are float32 \(2,\), not float32 \(1,\)$"):
        found.admits(np.float32([3, 3]))
    with pytest.raises(ValueError, match=r"^results are float64"):
        found.admits(np.array([3.0]))


F = np.float32
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
def test_nans_are_alike_unless_they_are_moved_and_zeros_are_not(make):
    nearest = from_bits([0, 0x7FC00000, 0x3F800000], ElementType.FLOAT)
    found = from_bits([0x80000000, 0x7FC00001, 0x3F800000], ElementType.FLOAT)
    moved = make is copied
    assert make(nearest).exact(found).tolist() == [False, not moved, True]
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
def test_verdicts_on_results_of_another_shape_or_type_are_an_error(ask):
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

"""Logarithm, angle and power: at the edges by hand, elsewhere against other exact arithmetic."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from restrictions import outcome

from sonnx_ort.oracle.balls import Interval, between_neighbours
from sonnx_ort.oracle.numbers import FLOAT_FORMATS, power_of_two
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.suite.applied import special_values
from support.oracle_cases import rounded
from support.values import FLOATS, assert_same_bits, from_bits

INF, NAN = np.inf, np.nan
DIGITS = Context(prec=60, Emax=999_999, Emin=-999_999)
DOUBLE = FLOAT_FORMATS[ElementType.DOUBLE]


def computed(operator, element_type, *operands):
    return outcome(operator, operands, element_type, Edition.TYPED)


def doubles(seed, size=300):
    """Doubles of all magnitudes, and around 1."""
    generator = np.random.default_rng(seed)
    anything = from_bits(generator.integers(0, 0x7FF << 52, size), ElementType.DOUBLE)
    return np.concatenate([anything, generator.normal(1, 0.01, size)])


def nearest(value):
    magnitude = rounded(abs(Fraction(value)), DOUBLE)
    return math.copysign(INF if magnitude is None else float(magnitude), value)


@pytest.mark.satisfies(
    "Log.draft.float.function",
    "Acos.draft.float.nan",
    "Pow.draft.float.function",
    "Pow.draft.float.special",
)
@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("Log", [0.0], -INF),
        ("Log", [-0.0], -INF),
        ("Log", [-1.0], NAN),
        ("Log", [-INF], NAN),
        ("Log", [INF], INF),
        ("Log", [NAN], NAN),
        ("Log", [1.0], 0.0),
        ("Acos", [1.0], 0.0),
        ("Acos", [NAN], NAN),
        ("Pow", [NAN, 0.0], 1.0),
        ("Pow", [NAN, -0.0], 1.0),
        ("Pow", [1.0, NAN], 1.0),
        ("Pow", [NAN, 1.0], NAN),
        ("Pow", [2.0, NAN], NAN),
        ("Pow", [0.0, 3.0], 0.0),
        ("Pow", [-0.0, 3.0], -0.0),
        ("Pow", [-0.0, 2.0], 0.0),
        ("Pow", [-0.0, 0.5], 0.0),
        ("Pow", [0.0, -3.0], INF),
        ("Pow", [-0.0, -3.0], -INF),
        ("Pow", [-0.0, -2.0], INF),
        ("Pow", [-0.0, -0.5], INF),
        ("Pow", [-1.0, INF], 1.0),
        ("Pow", [-1.0, -INF], 1.0),
        ("Pow", [0.5, INF], 0.0),
        ("Pow", [0.5, -INF], INF),
        ("Pow", [-2.0, INF], INF),
        ("Pow", [-2.0, -INF], 0.0),
        ("Pow", [0.0, INF], 0.0),
        ("Pow", [0.0, -INF], INF),
        ("Pow", [INF, -INF], 0.0),
        ("Pow", [INF, 0.5], INF),
        ("Pow", [INF, -1.0], 0.0),
        ("Pow", [-INF, 3.0], -INF),
        ("Pow", [-INF, 2.0], INF),
        ("Pow", [-INF, -3.0], -0.0),
        ("Pow", [-INF, -2.0], 0.0),
        ("Pow", [-INF, 0.5], INF),
        ("Pow", [-8.0, 1.5], NAN),
        ("Pow", [-8.0, 3.0], -512.0),
        ("Pow", [-8.0, -1.0], -0.125),
        ("Pow", [6.25, 1.5], 15.625),
        ("Pow", [4.0, -0.5], 0.5),
        ("Pow", [2.0, 30000.0], INF),
        ("Pow", [0.5, 30000.0], 0.0),
    ],
)
@pytest.mark.parametrize("element_type", FLOATS)
def test_results_at_the_edges(element_type, operator, operands, expected):
    arrays = [np.array(operand, element_type.dtype) for operand in operands]
    result = computed(operator, element_type, *arrays)
    assert_same_bits(result, np.array(expected, element_type.dtype))


@pytest.mark.parametrize("element_type", FLOATS)
def test_power_beyond_the_type_has_the_sign_of_an_odd_one(element_type):
    edges = special_values(element_type)
    finite = edges[np.isfinite(edges)]
    ends = np.array([finite.min(), -abs(finite[finite != 0]).min()])
    result = computed("Pow", element_type, ends, np.full(2, 3, element_type.dtype))
    assert_same_bits(result, np.array([-INF, -0.0], element_type.dtype))


def test_power_on_a_midpoint_goes_to_the_even_neighbour():
    x = np.float32([1 + 2**-12, 1 + 3 * 2**-12])
    result = computed("Pow", ElementType.FLOAT, x, np.float32([2, 2]))
    assert result.tolist() == [1 + 2**-11, 1 + 3 * 2**-11 + 2**-21]


def test_power_of_a_base_next_to_one_is_rounded_from_the_right_side():
    x = np.array([1 + 2**-52, 1 - 2**-53])
    assert computed("Pow", ElementType.DOUBLE, x, np.array([5e-324, 5e-324])).tolist() == [1, 1]


def test_logarithms_are_those_of_decimal_arithmetic():
    x = doubles(1)
    expected = [nearest(DIGITS.ln(Decimal(value))) for value in x.tolist()]
    assert computed("Log", ElementType.DOUBLE, x).tolist() == expected


def test_powers_are_those_of_decimal_arithmetic():
    x, y = doubles(2, 150), np.random.default_rng(3).normal(0, 40, 300)
    expected = [
        nearest(DIGITS.power(Decimal(a), Decimal(b)))
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    assert computed("Pow", ElementType.DOUBLE, x, y).tolist() == expected


def cosine(angle: Fraction) -> tuple[Fraction, Fraction]:
    """Two bounds of a cosine: the sums of its series between which all further ones lie."""
    total, term = Fraction(0), Fraction(1)
    sums = []
    for step in range(1, 40):
        total += term
        sums.append(total)
        term *= -(angle**2) / ((2 * step - 1) * (2 * step))
    return min(sums[-2:]), max(sums[-2:])


@pytest.mark.satisfies(
    "Acos.draft.float.function",
)
def test_no_angle_is_further_from_the_exact_one_than_half_a_place():
    """A cosine falls from 0 to pi: those of the midpoints next to a result enclose its operand."""
    generator = np.random.default_rng(4)
    cosines = [*generator.uniform(-1, 1, 40), 1 - 2**-53, 2**-60, -1 + 2**-53, 0.0]
    angles = computed("Acos", ElementType.DOUBLE, np.array(cosines))
    for x, angle in zip(map(Fraction, cosines), angles.tolist(), strict=True):
        half = Fraction(math.ulp(angle)) / 2
        assert cosine(Fraction(angle) + half)[0] <= x <= cosine(Fraction(angle) - half)[1]


def test_angle_of_minus_one_is_pi():
    assert computed("Acos", ElementType.DOUBLE, np.array([-1.0])).tolist() == [math.pi]


def test_number_that_ends_do_not_tell_from_a_neighbour_is_looked_at_more_closely():
    looked = []
    number = 1 + power_of_two(-700)

    def enclose(bits):
        looked.append(bits)
        return Interval.between(number - power_of_two(-bits), number + power_of_two(-bits))

    assert between_neighbours(enclose) == 1 + power_of_two(-256)
    assert looked == [512, 1024]

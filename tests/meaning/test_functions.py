"""Logarithm, angle and power, and what the oracle says of activations."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
from restrictions import outcome

from sonnx_ort.meaning import Undefined, meaning
from sonnx_ort.meaning.balls import Interval, between_neighbours
from sonnx_ort.meaning.documented import followed, meaning_of
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import FLOAT_FORMATS, power_of_two
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import Applied, special_values
from support.meanings import (
    Verdict,
    by_onnxruntime,
    meaning_over_the_reals,
    outside,
    rounded,
    verdicts,
)
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
    "Log.draft.float.function Acos.draft.float.nan Pow.draft.float.function",
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


@pytest.mark.satisfies("Acos.draft.float.function")
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


F = np.float32
FUNCTIONS = {
    "Exp": np.exp,
    "Sin": np.sin,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-abs(x))),
}


OF_ONNX = {
    "Erf": np.vectorize(math.erf),
    "Softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-abs(x))),
}
"""The functions that have no document of SONNX."""


def only(operator, operand, version=21, **attributes):
    node = Node(version, attributes, (operand,))
    of_onnx = operator in OF_ONNX
    found = (
        meaning_of(operator, node) if of_onnx else meaning(operator, version, attributes, [operand])
    )
    assert isinstance(found, tuple), found
    (result,) = found
    return result


@pytest.mark.satisfies(
    "Exp.draft.float.function LeakyRelu.draft.float.function Sigmoid.draft.float.function",
    "Sin.draft.float.function Tanh.draft.float.function Relu.draft.function Relu.draft.float.nan",
    "Relu.draft.accuracy Sin.draft.float.infinity",
)
@pytest.mark.parametrize(
    ("operator", "x", "expected"),
    [
        ("Exp", [0, -0.0, INF, -INF, NAN, 89, -104], [1, 1, INF, 0, NAN, INF, 0]),
        ("Sin", [0, -0.0, INF, -INF, NAN, 1e-30], [0, -0.0, NAN, NAN, NAN, 1e-30]),
        ("Sin", [3.1415927, 6.2831855, 1e30], [-8.7422777e-08, 1.7484555e-07, -0.79116344]),
        ("Tanh", [0, -0.0, INF, -INF, NAN, 1e-30, -30], [0, -0.0, 1, -1, NAN, 1e-30, -1]),
        ("Sigmoid", [0, -0.0, INF, -INF, NAN, 30, -200], [0.5, 0.5, 1, 0, NAN, 1, 0]),
        ("Relu", [0, -0.0, INF, -INF, NAN, -1e-45], [0, -0.0, INF, 0, NAN, 0]),
        ("LeakyRelu", [0, -0.0, INF, -INF, NAN, -1, 2], [0, -0.0, INF, -INF, NAN, F(-0.01), 2]),
        ("Erf", [0, -0.0, INF, -INF, NAN, 1e-45, -3000], [0, -0.0, 1, -1, NAN, 1e-45, -1]),
        (
            "Softplus",
            [0, -0.0, INF, -INF, NAN, -3000, 3000, 3e38],
            [np.log(2), np.log(2), INF, 0, NAN, 0, 3000, 3e38],
        ),
    ],
)
def test_special_values(operator, x, expected):
    result = only(operator, F(x))
    np.testing.assert_array_equal(result.nearest, F(expected))
    assert np.signbit(result.nearest[1]) == np.signbit(F(expected)[1])
    assert (verdicts(result, F(expected)) == Verdict.EXACT).all()


@pytest.mark.parametrize("operator", [*FUNCTIONS, *OF_ONNX])
def test_nearest_floats_are_those_of_double(operator):
    x = np.random.default_rng(3).normal(0, 20, 300).astype(F)
    with np.errstate(all="ignore"):
        expected = (FUNCTIONS | OF_ONNX)[operator](x.astype(np.float64)).astype(F)
    np.testing.assert_array_equal(only(operator, x).nearest, expected)


@pytest.mark.parametrize("element_type", FLOATS)
@pytest.mark.parametrize("operator", [*FUNCTIONS, *OF_ONNX, "Relu", "LeakyRelu"])
def test_nearest_results_are_admitted(operator, element_type):
    result = only(operator, special_values(element_type))
    assert (verdicts(result, result.nearest) == Verdict.EXACT).all()


@pytest.mark.satisfies(
    "Sigmoid.accuracy.algorithm Tanh.accuracy.float Tanh.accuracy.sound Sin.draft.float.accuracy"
)
@pytest.mark.parametrize(
    ("operator", "x", "units"),
    [
        *[("Exp", 1.0, 2), ("Exp", -90.0, 2), ("Sin", 2.0, 2), ("Sigmoid", -20.0, 6)],
        *[("Tanh", 9.0, 3), ("Erf", 0.5, 2), ("Erf", -2e-42, 2), ("Softplus", -20.0, 5)],
        ("Softplus", 1.0, 5),
    ],
)
def test_so_much_error_is_admitted_and_no_more(operator, x, units):
    result = only(operator, F([x]))
    bits = result.nearest.view(np.int32)
    near, far = ([(bits + s * k).view(F) for s in (-1, 1)] for k in (units - 1, units + 3))
    assert all(verdicts(result, each).item() == Verdict.ADMITTED for each in near)
    assert all(verdicts(result, each).item() == Verdict.OUTSIDE for each in far)


def test_alpha_may_be_rounded_to_16_bits_only_there():
    x = np.array([-1.0, -3.0], np.float16)
    rounded = x * np.float16(0.01)
    result = only("LeakyRelu", x)
    assert Verdict.OUTSIDE not in verdicts(result, rounded)
    exact = only("LeakyRelu", x.astype(np.float64))
    assert exact.nearest.tolist() == [-float(F(0.01)), -3 * float(F(0.01))]
    assert verdicts(exact, x.astype(np.float64) * 0.01).tolist() == [Verdict.OUTSIDE] * 2


@pytest.mark.satisfies("Relu.draft.function", "Relu.draft.accuracy")
def test_relu_of_integers():
    x = special_values(ElementType.INT8)
    assert only("Relu", x).nearest.tolist() == np.maximum(x, 0).tolist()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1, 2, 3], [0.09003057, 0.24472848, 0.6652409]),
        ([0, 0, 0, 0], [0.25] * 4),
        ([-INF, 0, -INF], [0, 1, 0]),
        ([INF, 1, -INF], [NAN] * 3),
        ([INF, INF, 2], [NAN] * 3),
        ([-INF, -INF], [0, 0]),
        ([NAN, 1, INF], [NAN] * 3),
        ([3e38, -3e38, 3e38], [0.5, 0, 0.5]),
        ([-200, 0], [0, 1]),
    ],
)
def test_softmax_of_a_row(row, expected):
    result = only("Softmax", F([row]))
    assert (verdicts(result, F([expected])) != Verdict.OUTSIDE).all()
    np.testing.assert_allclose(result.nearest, F([expected]), rtol=2e-7)


def test_softmax_of_minus_infinities_alone_is_zero_and_nothing_else():
    result = only("Softmax", F([[-INF, -INF]]))
    assert verdicts(result, F([[0, 0]])).tolist() == [[Verdict.EXACT] * 2]
    assert verdicts(result, F([[NAN, NAN]])).tolist() == [[Verdict.OUTSIDE] * 2]


def test_softmax_goes_along_its_axis():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(F)
    for axis in (0, 1, -1):
        exponentials = np.exp(x.astype(float))
        shares = exponentials / exponentials.sum(axis, keepdims=True)
        np.testing.assert_array_equal(only("Softmax", x, axis=axis).nearest, shares.astype(F))
    shares = exponentials / exponentials.sum((1, 2), keepdims=True)
    np.testing.assert_array_equal(only("Softmax", x, version=11).nearest, shares.astype(F))


def test_softmax_without_the_largest_subtracted_overflows_and_is_refused():
    x = F([[100, 99]])
    with np.errstate(all="ignore"):
        naive = np.exp(x) / np.exp(x).sum()
    assert (verdicts(only("Softmax", x), naive) == Verdict.OUTSIDE).all()
    assert meaning("Softmax", 13, {"axis": 2}, [x]) == Undefined("axis 2 is not in [-2, 1]")


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_enclosures_over_the_reals_are_narrow(operator):
    x = np.array([Fraction(k, 7) for k in (-30, -1, 2, 50)], object)
    (found,) = meaning_over_the_reals(operator, {}, [x])
    for number, (low, high) in zip(x, found, strict=True):
        assert low < high
        assert (high - low) / abs(low) < Fraction(1, 1 << 255)
        expected = float(FUNCTIONS[operator](float(number)))
        assert math.isclose(float(low), expected, rel_tol=1e-14)


def test_rational_results_over_the_reals_are_exact():
    half, third = Fraction(1, 2), Fraction(1, 3)
    zero = np.array([Fraction(0)], object)
    values = {"Exp": Fraction(1), "Sin": Fraction(0), "Tanh": Fraction(0), "Sigmoid": half}
    for operator, value in values.items():
        assert meaning_over_the_reals(operator, {}, [zero])[0].item() == (value, value)
    row = np.array([third] * 3, object)
    assert meaning_over_the_reals("Softmax", {}, [row])[0].tolist() == [(third, third)] * 3
    below = np.array([-third], object)
    leaky = meaning_over_the_reals("LeakyRelu", {"alpha": half}, [below])
    assert leaky[0].item() == (Fraction(-1, 6),) * 2
    assert meaning_over_the_reals("Relu", {}, [below])[0].item() == (0, 0)


def test_operator_without_a_meaning_is_an_error():
    with pytest.raises(ValueError, match=r"^Gelu has no meaning here$"):
        meaning("Gelu", 20, {}, [])
    with pytest.raises(ValueError, match=r"^Exp has no meaning here before version 6$"):
        meaning("Exp", 1, {}, [F([1])])
    with pytest.raises(ValueError, match=r"^Reshape has no meaning over the reals here$"):
        meaning_over_the_reals("Reshape", {}, [])
    with pytest.raises(ValueError, match=r"^operand 0 of int32 has no meaning$"):
        meaning("Exp", 13, {}, [np.int32([1])])
    with pytest.raises(ValueError, match=r"^operand 0 has dtype complex64"):
        meaning("Exp", 13, {}, [np.complex64([1])])
    with pytest.raises(ValueError, match=r"^operand 1 is missing$"):
        meaning("Gemm", 13, {}, [F([[1]])])


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("Div", [F([6, 1]), F([3, 0])], [2, INF]),
        ("Where", [np.array([True]), np.int8([1]), np.int8([2])], [1]),
        ("MatMul", [F([[1, 2]]), F([[3], [4]])], [[11]]),
    ],
)
def test_operators_that_had_rules_first_have_their_meaning_too(operator, operands, expected):
    (result,) = meaning(operator, 13, {}, operands)
    assert result.nearest.tolist() == expected


def test_verdicts_on_other_shapes_are_an_error():
    with pytest.raises(ValueError, match=r"^results are float32 \(2,\), not float32 \(1,\)$"):
        verdicts(only("Exp", F([1])), F([1, 2]))


def test_softmax_of_so_many_that_their_sum_may_be_anything():
    result = only("Softmax", np.zeros(600, ElementType.BFLOAT16.dtype))
    assert result.admitted.anything.all()
    assert not only("Softmax", np.zeros(600, F)).admitted.anything.any()


def test_softplus_by_the_logarithm_of_a_sum_alone_is_refused():
    x = F([-20, 100])
    with np.errstate(all="ignore"):
        naive = np.log(np.exp(x) + F(1))
    assert verdicts(only("Softplus", x), naive).tolist() == [Verdict.OUTSIDE] * 2


@pytest.mark.parametrize("operator", OF_ONNX)
def test_ball_around_numbers_contains_their_results_closely(operator):
    ends = {"Erf": (-1, math.erf(0.5)), "Softplus": (0, math.log1p(math.exp(0.5)))}[operator]
    ball = np.empty(1, object)
    ball[0] = flint.arb(-3000).union(flint.arb(0.5))
    (found,) = followed(operator, Node(21, {}, (ball,)))
    assert [float(found[0].lower()), float(found[0].upper())] == pytest.approx(ends, abs=1e-5)
    ball[0] = flint.arb(2500).union(flint.arb(3000))
    (found,) = followed("Softplus", Node(21, {}, (ball,)))
    assert [float(found[0].lower()), float(found[0].upper())] == pytest.approx([2500, 3000])


@pytest.mark.parametrize("kind", [ElementType.FLOAT16, ElementType.FLOAT])
@pytest.mark.parametrize("operator", OF_ONNX)
def test_onnxruntime_is_within_what_is_admitted(operator, kind):
    node = Applied(operator, [special_values(kind)])
    assert outside(node, by_onnxruntime(node)) == ""

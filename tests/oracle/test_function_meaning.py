"""What the oracle says of Relu, LeakyRelu, Exp, Sin, Sigmoid, Tanh and Softmax."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sonnx_ort.oracle import Undefined, meaning
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.suite.applied import special_values
from support.meanings import Verdict, meaning_over_the_reals, verdicts
from support.values import FLOATS

F = np.float32
INF, NAN = np.inf, np.nan
FUNCTIONS = {
    "Exp": np.exp,
    "Sin": np.sin,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-abs(x))),
}


def only(operator, operand, version=21, **attributes):
    found = meaning(operator, version, attributes, [operand])
    assert isinstance(found, tuple), found
    (result,) = found
    return result


@pytest.mark.satisfies(
    "Exp.draft.float.function",
    "LeakyRelu.draft.float.function",
    "Sigmoid.draft.float.function",
    "Sin.draft.float.function",
    "Tanh.draft.float.function",
    "Relu.draft.function",
    "Relu.draft.float.nan",
    "Relu.draft.accuracy",
    "Sin.draft.float.infinity",
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
    ],
)
def test_special_values(operator, x, expected):
    result = only(operator, F(x))
    np.testing.assert_array_equal(result.nearest, F(expected))
    assert np.signbit(result.nearest[1]) == np.signbit(F(expected)[1])
    assert (verdicts(result, F(expected)) == Verdict.EXACT).all()


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_nearest_floats_are_those_of_double(operator):
    x = np.random.default_rng(3).normal(0, 20, 300).astype(F)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[operator](x.astype(np.float64)).astype(F)
    np.testing.assert_array_equal(only(operator, x).nearest, expected)


@pytest.mark.parametrize("element_type", FLOATS)
@pytest.mark.parametrize("operator", [*FUNCTIONS, "Relu", "LeakyRelu"])
def test_nearest_results_are_admitted(operator, element_type):
    result = only(operator, special_values(element_type))
    assert (verdicts(result, result.nearest) == Verdict.EXACT).all()


@pytest.mark.satisfies(
    "Sigmoid.accuracy.algorithm",
    "Tanh.accuracy.float",
    "Tanh.accuracy.sound",
    "Sin.draft.float.accuracy",
)
@pytest.mark.parametrize(
    ("operator", "x", "units"),
    [("Exp", 1.0, 2), ("Exp", -90.0, 2), ("Sin", 2.0, 2), ("Sigmoid", -20.0, 6), ("Tanh", 9.0, 3)],
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


@pytest.mark.satisfies(
    "Relu.draft.function",
    "Relu.draft.accuracy",
)
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

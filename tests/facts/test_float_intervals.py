"""What rules make of the intervals of floats, against numbers that are computed one by one.

The numbers are drawn from no random source: all ends, zeros of both signs, and what lies between.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.catalog import INTERVAL_RULES
from sonnx_ort.facts.ranges import ANYTHING, Interval
from sonnx_ort.facts.sizes import Bounds, Rejected
from support.float_intervals import assert_is, interval_of

INF, NAN = math.inf, math.nan
FINITE = [(-2, -1), (-1.5, 2), (0.5, 3), (0, 1), (-1, 0), (0, 0), (2, 2)]
ENDLESS = [(1, INF), (-INF, -1), (0, INF), (-INF, 0), (-INF, INF)]
PLAIN = [(-2, -1), (0.5, 3), (2, 2)]
"""Without zero."""

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]


def numbers(lower: float, upper: float) -> Array:
    """Numbers of an interval, with its ends and, if it has them, both zeros."""
    between = np.linspace(max(lower, -50), min(upper, 50), 7)
    zeros = [0.0, -0.0] if lower <= 0 <= upper else []
    return np.array([lower, upper, *between, *zeros, *np.clip([-1e30, 1e30], lower, upper)])


def computed(function: Callable[..., Array], ends: Sequence[Ends]) -> tuple[float, float, bool]:
    """The smallest and the largest number of all results, and whether one is NaN."""
    grid = np.meshgrid(*(numbers(*each) for each in ends))
    with np.errstate(all="ignore"):
        results = np.asarray(function(*grid))
    missing = np.isnan(results)
    some = results[~missing] if not missing.all() else np.array([INF, -INF])
    return float(some.min()), float(some.max()), bool(missing.any())


def assert_contains(found: Interval, lower: float, upper: float, *, nan: bool) -> None:
    assert found.nan or not nan
    assert found.whole.lower <= lower
    assert upper <= found.whole.upper


def leaky(slope: float) -> Callable[[Array], Array]:
    return lambda x: np.where(x < 0, slope * x, x)


UNARY: dict[str, tuple[str, dict[str, Any], Callable[[Array], Array]]] = {
    "Abs": ("Abs", {}, np.abs),
    "Cast": ("Cast", {"to": 1}, np.positive),
    "Ceil": ("Ceil", {}, np.ceil),
    "Floor": ("Floor", {}, np.floor),
    "Neg": ("Neg", {}, np.negative),
    "Reciprocal": ("Reciprocal", {}, np.reciprocal),
    "Relu": ("Relu", {}, lambda x: np.maximum(x, 0)),
    "Round": ("Round", {}, np.round),
    "Sign": ("Sign", {}, np.sign),
    "Sqrt": ("Sqrt", {}, np.sqrt),
    "LeakyRelu": ("LeakyRelu", {"alpha": 0.5}, leaky(0.5)),
    "LeakyRelu that falls": ("LeakyRelu", {"alpha": -0.5}, leaky(-0.5)),
    "HardSigmoid": (
        "HardSigmoid",
        {"alpha": 0.5, "beta": 0.25},
        lambda x: (x * 0.5 + 0.25).clip(0, 1),
    ),
}


@pytest.mark.parametrize("ends", FINITE, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_interval_is_that_of_all_results(name: str, ends: Ends) -> None:
    operator, attributes, function = UNARY[name]
    if operator == "Sqrt" and ends[0] < 0:
        return
    lower, upper, nan = computed(function, [ends])
    assert_is(interval_of(operator, Interval.of(*ends), **attributes), lower, upper, nan=nan)


NOT_FOR_INFINITY = {"LeakyRelu", "LeakyRelu that falls", "HardSigmoid"}
"""Kernels may multiply an infinity with 0 on the way."""


@pytest.mark.parametrize("ends", ENDLESS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_interval_of_infinities_is_that_of_all_results(name: str, ends: Ends) -> None:
    operator, attributes, function = UNARY[name]
    if operator == "Sqrt" and ends[0] < 0:
        return
    lower, upper, nan = computed(function, [ends])
    assert not nan
    found = interval_of(operator, Interval.of(*ends), **attributes)
    assert_is(found, lower, upper, nan=name in NOT_FOR_INFINITY)


def elu(alpha: float, scale: float = 1.0, gamma: float = 1.0) -> Callable[[Array], Array]:
    return lambda x: gamma * np.where(x < 0, alpha * (np.exp(np.minimum(x, 0) / scale) - 1), x)


@pytest.mark.parametrize("ends", [*FINITE, *ENDLESS], ids=str)
@pytest.mark.parametrize(
    ("operator", "attributes", "function", "least"),
    [
        ("Elu", {"alpha": 2.0}, elu(2.0), -2.0),
        ("Celu", {"alpha": 2.0}, elu(2.0, 2.0), -2.0),
        ("Selu", {"alpha": 2.0, "gamma": 3.0}, elu(2.0, gamma=3.0), -6.0),
        ("Elu", {}, elu(1.0), -1.0),
        ("Celu", {}, elu(1.0), -1.0),
        ("Selu", {}, elu(1.6732632, gamma=1.0507010), -1.6732632 * 1.0507010),
    ],
)
def test_exponential_goes_down_to_its_alpha(
    operator: str,
    attributes: dict[str, float],
    function: Callable[[Array], Array],
    least: float,
    ends: Ends,
) -> None:
    found = interval_of(operator, Interval.of(*ends), **attributes)
    lower, upper, nan = computed(function, [ends])
    assert not nan
    assert found.nan is (ends in ENDLESS)
    assert_contains(found, lower, upper, nan=nan)
    assert found.whole.upper == pytest.approx(max(upper, 0), rel=1e-5, abs=1e-5)
    if ends[0] < 0:
        assert found.whole.lower == pytest.approx(least, rel=1e-5)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Div": np.divide,
    "Max": np.maximum,
    "Mean": lambda a, b: (a + b) / 2,
    "Min": np.minimum,
    "Mul": np.multiply,
    "PRelu": lambda x, slope: np.where(x < 0, x * slope, x),
    "Sub": np.subtract,
    "Sum": np.add,
}


@pytest.mark.parametrize("operator", BINARY)
def test_interval_of_two_operands_is_that_of_all_results(operator: str) -> None:
    divisors = PLAIN if operator == "Div" else FINITE
    for ends in itertools.product(FINITE, divisors):
        lower, upper, nan = computed(BINARY[operator], ends)
        assert not nan
        found = interval_of(operator, *(Interval.of(*each) for each in ends))
        assert_is(found, lower, upper, nan=False)


@pytest.mark.parametrize("operator", BINARY)
def test_interval_of_two_operands_with_infinity_or_a_divisor_of_zero_contains_all_results(
    operator: str,
) -> None:
    """0/0, infinity divided by infinity, 0 times infinity and their difference are NaN."""
    for ends in itertools.product([*FINITE, *ENDLESS], repeat=2):
        lower, upper, nan = computed(BINARY[operator], ends)
        found = interval_of(operator, *(Interval.of(*each) for each in ends))
        assert_contains(found, lower, upper, nan=nan)


@pytest.mark.parametrize(
    ("operator", "operands", "lower", "upper", "nan"),
    [
        ("Div", ((1, 2), (0, 1)), -INF, INF, False),
        ("Div", ((0, 2), (0, 1)), -INF, INF, True),
        ("Div", ((1, INF), (1, INF)), 0, INF, True),
        ("Div", ((1, INF), (1, 2)), 0.5, INF, False),
        ("Div", ((1, 2), (1, INF)), 0, 2, False),
        ("Mul", ((0, 1), (1, INF)), 0, INF, True),
        ("Mul", ((1, INF), (0, 1)), 0, INF, True),
        ("Mul", ((0.5, 1), (1, INF)), 0.5, INF, False),
        ("Add", ((0, INF), (-INF, 0)), -INF, INF, True),
        ("Add", ((0, INF), (-1, 0)), -1, INF, False),
        ("Sub", ((0, INF), (0, INF)), -INF, INF, True),
        ("Sub", ((0, 1), (0, INF)), -INF, 1, False),
        ("Max", ((0, INF), (-INF, 1)), 0, INF, False),
        ("Min", ((0, INF), (-INF, 1)), -INF, 1, False),
        ("PRelu", ((-1, INF), (0, 1)), -1, INF, True),
        ("PRelu", ((-1, 1), (0, INF)), -INF, 1, True),
    ],
)
def test_results_at_zero_and_infinity(
    operator: str, operands: Sequence[Ends], lower: float, upper: float, nan: bool
) -> None:
    found = interval_of(operator, *(Interval.of(*each) for each in operands))
    assert_is(found, lower, upper, nan=nan)


def test_product_of_a_value_with_itself_is_not_negative() -> None:
    value = ir.Value()
    node = GraphNode(
        ir.node("Mul", [value, value]),
        20,
        Held(element_type=lambda _: "float", intervals={value: Interval.of(-3, 2)}),
    )
    (found,) = INTERVAL_RULES["Mul"](node)
    assert found is not None
    assert_is(found, 0, 9, nan=False)


@pytest.mark.parametrize(
    ("dtype", "ends", "lower", "upper", "nan"),
    [
        ("float", (-3, 2), 0, 0, False),
        ("float", (-3, INF), -INF, INF, True),
        ("float16", (-3, 2), -5, 5, False),
    ],
)
def test_difference_of_a_value_and_itself_is_zero_where_it_is_read_once_rounded(
    dtype: str, ends: Ends, lower: float, upper: float, nan: bool
) -> None:
    value = ir.Value()
    node = GraphNode(
        ir.node("Sub", [value, value]),
        20,
        Held(element_type=lambda _: dtype, intervals={value: Interval.of(*ends)}),
    )
    (found,) = INTERVAL_RULES["Sub"](node)
    assert found is not None
    assert found.nan is nan
    assert (found.whole.lower, found.whole.upper) == pytest.approx((lower, upper), rel=1e-2)


def test_nothing_is_said_of_a_normalization_that_may_be_computed_by_another_formula() -> None:
    """A difference divided by a root; a sum divided by one is computed as it is written."""
    x, square = ir.Value(), ir.Value()
    for operator, says_something in (("Sub", False), ("Add", True)):
        nodes = [ir.node(operator, [x, x]), ir.node("Sqrt", [square])]
        divided = ir.node("Div", [node.outputs[0] for node in nodes])
        intervals = {value: Interval.of(1, 2) for value in divided.inputs if value is not None}
        node = GraphNode(divided, 20, Held(element_type=lambda _: "float", intervals=intervals))
        (found,) = INTERVAL_RULES["Div"](node)
        assert found is not None
        assert found.whole.says_something is says_something


HALF_LARGEST, LARGEST = 65504.0, float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("operands", "attributes", "lower", "upper"),
    [
        (((-5, 5), (-1, 0), (2, 3)), {}, -1, 3),
        (((-5, 5), (-1, -1), (2, 2)), {}, -1, 2),
        (((0, 1), (-1, -1), (2, 2)), {}, 0, 1),
        (((-9, -5), (-1, 0), (2, 3)), {}, -1, 0),
        (((5, 9), (-1, 0), (2, 3)), {}, 2, 3),
        (((0, 1), (2, 4), (3, 5)), {}, 0, 5),
        (((0, 1), None, (0.5, 0.5)), {}, 0, 0.5),
        (((0, 1), (0.5, 0.5)), {}, 0.5, 1),
        (((-INF, INF),), {}, -INF, INF),
        (((-INF, INF),), {"version": 6}, -INF, INF),
        (((-5, 5),), {"version": 6, "min": -1.0, "max": 2.0}, -1, 2),
        (((-5, 5),), {"version": 6, "min": 1.0}, 1, 5),
        (((-5, 5),), {"version": 6, "max": -1.0}, -5, -1),
        (((INF, INF),), {"version": 6, "min": -INF, "max": INF}, INF, INF),
    ],
    ids=str,
)
def test_clip_stays_between_its_limits(
    operands: Sequence[Ends | None], attributes: dict[str, Any], lower: float, upper: float
) -> None:
    given = [None if each is None else Interval.of(*each) for each in operands]
    assert_is(interval_of("Clip", *given, **attributes), lower, upper, nan=False)


@pytest.mark.parametrize(("dtype", "version"), [("double", 6), ("float", 6), ("float16", 6)])
def test_old_clip_without_a_limit_may_have_the_largest_float_for_one(
    dtype: str, version: int
) -> None:
    """Below its limit no number is left to another type than float."""
    largest = {"float16": HALF_LARGEST}.get(dtype, LARGEST)
    found = interval_of("Clip", Interval.of(INF, INF), dtype=dtype, version=version)
    assert not found.nan
    assert found.whole.lower == pytest.approx(largest)
    assert found.whole.upper == INF


def test_clip_of_nan_may_be_a_limit() -> None:
    found = interval_of("Clip", Interval.of(0, 1, nan=True), Interval.of(-2, -2), Interval.of(3, 3))
    assert_is(found, -INF, INF, nan=True)


@pytest.mark.parametrize("index", [1, 2])
def test_nothing_is_said_of_a_clip_whose_limit_may_be_nan(index: int) -> None:
    operands = [Interval.of(0, 1), Interval.of(-2, -2), Interval.of(3, 3)]
    operands[index] = ANYTHING
    with pytest.raises(Rejected, match=r"^a limit may be NaN$"):
        interval_of("Clip", *operands)


@pytest.mark.parametrize(
    ("ends", "exponent", "lower", "upper", "nan"),
    [
        ((-3, 2), 2.0, 0, 9, False),
        ((-3, -2), 2.0, 4, 9, False),
        ((-3, 2), 4.0, 0, 81, False),
        ((-3, -2), 4.0, 16, 81, False),
        ((-3, 2), 3.0, -27, 8, False),
        ((-3, 2), 0.0, 1, 1, False),
        ((-3, 2), 1.0, -3, 2, False),
        ((4, 9), 0.5, 2, 3, False),
        ((-1, 9), 0.5, 0, INF, True),
        ((2, 4), -1.0, 0.25, 0.5, False),
        ((0, 4), -1.0, -INF, INF, True),
        ((-2, 4), -1.0, -INF, INF, True),
        ((2, INF), -1.0, 0, INF, True),
        ((2, INF), 3.0, 8, INF, False),
        ((2, 4), INF, 0, INF, True),
    ],
    ids=str,
)
def test_power_of_a_constant(
    ends: Ends, exponent: float, lower: float, upper: float, nan: bool
) -> None:
    assert_is(interval_of("Pow", Interval.of(*ends), exponent), lower, upper, nan=nan)


@pytest.mark.parametrize(
    ("ends", "exponent", "lower", "upper", "nan"),
    [
        ((2, 3), (-1, 2), 1 / 3, 9, False),
        ((0.5, 2), (1, 2), 0.25, 4, False),
        ((0, 3), (1, 2), -INF, INF, True),
        ((-2, 3), (1, 2), -INF, INF, True),
        ((2, INF), (1, 2), 0, INF, True),
        ((2, 3), (1, INF), 0, INF, True),
    ],
    ids=str,
)
def test_power_of_any_exponent(
    ends: Ends, exponent: Ends, lower: float, upper: float, nan: bool
) -> None:
    found = interval_of("Pow", Interval.of(*ends), Interval.of(*exponent))
    assert_is(found, lower, upper, nan=nan)


@pytest.mark.parametrize(
    ("condition", "a", "b", "lower", "upper"),
    [
        (Bounds(0, 1), (1, 2), (3, 4), 1, 4),
        (Bounds(0, 1), (3, 4), (1, 2), 1, 4),
        (None, (1, 2), (3, 4), 0, 4),
        (None, (-2, -1), (-4, -3), -4, 0),
    ],
)
def test_where_has_both_and_zero_where_the_condition_may_be_another_byte(
    condition: Bounds | None, a: Ends, b: Ends, lower: float, upper: float
) -> None:
    truth = ANYTHING if condition is None else condition
    found = interval_of("Where", truth, Interval.of(*a), Interval.of(*b))
    assert_is(found, lower, upper, nan=False)


@pytest.mark.parametrize(
    ("operands", "lower", "upper"),
    [
        ((Bounds(0, 10), Interval.of(0.5, 0.5)), 0, 5),
        ((Bounds(0, 10), Interval.of(0.5, 0.5), Bounds(4, 4)), -2, 3),
        ((Bounds(0, 10), Interval.of(0.5, 2), Bounds(4, 4)), -8, 12),
        ((Bounds(0, 10), Interval.of(1, 1), Bounds(0, 4)), -4, 10),
    ],
    ids=str,
)
def test_dequantized_is_the_difference_to_the_zero_point_times_the_scale(
    operands: Sequence[Interval | Bounds], lower: float, upper: float
) -> None:
    assert_is(interval_of("DequantizeLinear", *operands), lower, upper, nan=False)


@pytest.mark.parametrize(
    ("x", "upper", "nan"),
    [
        (Interval.of(-255, 255), 2, False),
        (Interval.of(255, 510), 2, False),
        (Interval.of(-510, -255), 2, False),
        (Interval.of(0, 0), 1, False),
        (Interval.of(0, INF), INF, False),
        (Interval.of(0, 1, nan=True), INF, True),
    ],
    ids=lambda each: str(each.whole) if isinstance(each, Interval) else str(each),
)
def test_dynamic_scale_is_a_part_of_the_spread_with_zero(
    x: Interval, upper: float, nan: bool
) -> None:
    assert_is(interval_of("DynamicQuantizeLinear", x), 0, upper, nan=nan)


KEEP_NAN = {
    *("Abs", "Cast", "Ceil", "Floor", "Neg", "Reciprocal", "Relu", "Round", "Sign", "Sqrt"),
    *("Asin", "Asinh", "Atan", "Cos", "Elu", "Celu", "Erf", "Exp", "Gelu", "HardSigmoid"),
    *("HardSwish", "LeakyRelu", "Log", "Mish", "Selu", "Sigmoid", "Sin", "Softplus", "Tanh"),
    *("Identity", "Softmax"),
}


@pytest.mark.parametrize("operator", sorted(KEEP_NAN))
def test_result_of_nan_may_be_nan(operator: str) -> None:
    assert interval_of(operator, Interval.of(0.25, 0.5, nan=True)).nan


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("operator", [*BINARY, "Pow"])
def test_result_of_two_operands_of_which_one_is_nan_may_be_nan(operator: str, index: int) -> None:
    operands = [Interval.of(0.25, 0.5)] * 2
    operands[index] = Interval.of(0.25, 0.5, nan=True)
    assert interval_of(operator, *operands).nan

"""Intervals of functions of one operand: exact ones, moved outward by what was measured."""

import math

import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.accuracy import accuracy_of, measured_functions
from sonnx_ort.facts.catalog import INTERVAL_RULES
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.facts.sizes import Rejected

INF = math.inf

READ = {
    *("Asin", "Asinh", "Atan", "Cos", "Erf", "Exp", "Gelu", "HardSwish", "Log", "Mish"),
    *("Reciprocal", "Sigmoid", "Sin", "Softplus", "Sqrt", "Tanh"),
}
"""The operators whose rules read the table."""


def interval_of(operator: str, element_type: str, x: Interval, **attributes: str) -> Interval:
    value = ir.val("x")
    node = ir.node(operator, [value], attributes)
    known = GraphNode(node, 20, Held(element_type=lambda _: element_type, intervals={value: x}))
    (found,) = INTERVAL_RULES[operator](known)
    assert found is not None
    return found


def test_every_function_that_a_rule_reads_is_measured() -> None:
    measured = measured_functions()
    for operator in READ:
        names = [operator] if operator != "Gelu" else ["Gelu none", "Gelu tanh"]
        for name in names:
            assert {(name, "float"), (name, "float16")} <= measured


@pytest.mark.parametrize(
    "function", sorted(f for f, kind in measured_functions() if kind == "float16")
)
def test_signs_of_float16_are_those_of_float(function: str) -> None:
    """Between two nodes of float16 ONNX Runtime does not round: arguments may be any floats."""
    short, whole = accuracy_of(function, "float16"), accuracy_of(function, "float")
    for found, of_float in ((short.below, whole.below), (short.above, whole.above)):
        assert found[0] < 0 or of_float[0] >= 0
        assert found[1] > 0 or of_float[1] <= 0


@pytest.mark.parametrize("operator", sorted(READ))
def test_rule_says_nothing_of_a_type_that_was_not_measured(operator: str) -> None:
    name = "Gelu none" if operator == "Gelu" else operator
    with pytest.raises(Rejected, match=rf"^the accuracy of {name} of bfloat16 was not measured$"):
        interval_of(operator, "bfloat16", Interval.of(0.25, 0.5))


def test_gelu_of_an_attribute_that_is_not_known_was_not_measured() -> None:
    with pytest.raises(Rejected, match=r"^the accuracy of Gelu erf of float was not measured$"):
        interval_of("Gelu", "float", Interval.of(0, 1), approximate="erf")


@pytest.mark.parametrize(
    ("operator", "x", "least", "largest"),
    [
        ("Sigmoid", Interval.of(-INF, INF), 0, 1),
        ("Exp", Interval.of(-INF, 0), 0, 1),
        ("Softplus", Interval.of(-INF, -1), 0, 0.3132617),
        ("Tanh", Interval.of(0, INF), 0, 1),
        ("Gelu", Interval.of(-8, -1), -0.1699708, 0),
        ("Gelu", Interval.of(2, 3), 0, 3),
        ("Mish", Interval.of(-INF, 0), -0.3088402, 0),
        ("HardSwish", Interval.of(-9, 0), -0.375, 0),
        ("Sqrt", Interval.of(0, 4), 0, 2),
        ("Sin", Interval.of(-9, 9), -1, 1),
        ("Reciprocal", Interval.of(2, 4), 0.25, 0.5),
        ("Asin", Interval.of(-1, 1), -math.pi / 2, math.pi / 2),
    ],
)
def test_interval_of_float_is_the_exact_one_but_for_rounding(
    operator: str, x: Interval, least: float, largest: float
) -> None:
    whole = interval_of(operator, "float", x).whole
    for found, exact in ((whole.lower, least), (whole.upper, largest)):
        assert found == pytest.approx(exact, rel=8e-6, abs=8e-6)
    assert not (least == 0 and operator != "Gelu" and whole.lower < 0)


SEEN = [
    ("Gelu", "float", -5.0156, 6.144141480035614e-07, {"approximate": "tanh"}),
    ("Sigmoid", "float", 17.0, 1.0000001192092896, {}),
    ("Tanh", "float", -9.0, -1.000000238418579, {}),
    ("Erf", "float16", math.nan, 1.0, {}),
    ("Erf", "float16", math.nan, -1.0, {}),
]
"""Results that kernels gave, beyond those of the exact function."""


@pytest.mark.parametrize(("operator", "element_type", "x", "result", "attributes"), SEEN)
def test_interval_contains_what_was_seen_beyond_the_range_of_the_function(
    operator: str, element_type: str, x: float, result: float, attributes: dict[str, str]
) -> None:
    missing = math.isnan(x)
    around = Interval.of(0 if missing else x - 0.1, 0 if missing else x + 0.1, nan=missing)
    assert result in interval_of(operator, element_type, around, **attributes).whole


@pytest.mark.parametrize("operator", ["Sin", "Cos", "Asin", "Gelu", "Mish", "HardSwish"])
def test_result_of_infinity_may_be_nan(operator: str) -> None:
    assert interval_of(operator, "float", Interval.of(-INF, 0)).nan
    assert not interval_of(operator, "float", Interval.of(-1, 1)).nan


@pytest.mark.parametrize("operator", ["Log", "Sqrt"])
def test_argument_outside_of_the_domain_may_give_nan(operator: str) -> None:
    found = interval_of(operator, "float", Interval.of(-2, -1))
    assert found.nan
    assert (found.whole.lower, found.whole.upper) == (-INF, INF)


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [(-2, 4, (-INF, INF)), (0, 4, (-INF, INF)), (-INF, -2, (-0.5, 0))],
)
def test_reciprocal(lower: float, upper: float, expected: tuple[float, float]) -> None:
    whole = interval_of("Reciprocal", "float", Interval.of(lower, upper)).whole
    assert not whole.nan
    assert (whole.lower, whole.upper) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("operator", ["Ceil", "Floor", "Round", "Sign"])
def test_result_that_is_not_rounded_has_exact_ends(operator: str) -> None:
    whole = interval_of(operator, "bfloat16", Interval.of(-1.0, 1.0)).whole
    assert (whole.lower, whole.upper) == (-1, 1)

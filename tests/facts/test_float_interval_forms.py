"""What rules make of floats whose intervals differ by place, and of sums beside products."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.catalog import INTERVAL_RULES, interval_rule
from sonnx_ort.facts.intervals import intervals_by
from sonnx_ort.facts.ranges import ANYTHING, Interval
from sonnx_ort.facts.sizes import Rejected
from support.float_intervals import assert_is, interval_of

INF = math.inf
Array = npt.NDArray[Any]

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
IMAGE = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
"""Of two channels."""
WEIGHTS = np.array([[1, -2], [0.5, 3], [-1, -1]], np.float32)


@pytest.mark.parametrize("attributes", [{"perm": [1, 2, 0]}, {"perm": [2, 0, 1]}, {}], ids=str)
def test_transposed_elements_keep_their_intervals(attributes: dict[str, Any]) -> None:
    found = interval_of("Transpose", CUBE, **attributes)
    expected = CUBE.transpose(attributes.get("perm")).tolist()
    assert (found.lower.tolist(), found.upper.tolist()) == (expected, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_joined_elements_keep_the_intervals_of_their_indices(axis: int) -> None:
    others = tuple({0, 1, 2} - {axis})
    joined = np.concatenate([CUBE, -CUBE], axis)
    found = interval_of("Concat", CUBE, -CUBE, axis=axis)
    assert found.lower.tolist() == joined.min(axis=others, keepdims=True).tolist()
    assert found.upper.tolist() == joined.max(axis=others, keepdims=True).tolist()


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [("MaxPool", {"kernel_shape": [2, 2]}), ("GlobalMaxPool", {})],
)
def test_largest_elements_are_those_of_their_channel(
    operator: str, attributes: dict[str, Any]
) -> None:
    found = interval_of(operator, IMAGE, **attributes)
    assert (found.lower.ravel().tolist(), found.upper.ravel().tolist()) == ([0, 16], [15, 31])


@pytest.mark.parametrize(
    ("pads", "lower", "upper"),
    [([0] * 4, [0, -31], [15, -16]), ([1] * 4, [0, -31], [15, 0])],
)
def test_padding_adds_zeros_to_each_channel(
    pads: Sequence[int], lower: Sequence[float], upper: Sequence[float]
) -> None:
    weights = np.array([1, -1], np.float32).reshape(2, 1, 1, 1)
    found = interval_of("Conv", IMAGE, weights, group=2, pads=pads)
    assert found.lower.ravel().tolist() == pytest.approx(lower, abs=1e-3)
    assert found.upper.ravel().tolist() == pytest.approx(upper, abs=1e-3)


def test_group_of_a_convolution_back_reads_its_own_channels() -> None:
    weights = np.array([1, -1], np.float32).reshape(2, 1, 1, 1)
    found = interval_of("ConvTranspose", IMAGE, weights, group=2)
    assert found.lower.ravel().tolist() == pytest.approx([0, -31], abs=1e-3)
    assert found.upper.ravel().tolist() == pytest.approx([15, 0], abs=1e-3)


def test_weights_that_are_turned_stand_before_what_they_weigh() -> None:
    x = Interval.of(-1, 2)
    found = interval_of("Gemm", WEIGHTS, x, shapes=[None, (3, 5)], transA=1)
    products = [np.array(each) @ WEIGHTS for each in np.ndindex(2, 2, 2)]
    results = [3 * product - WEIGHTS.sum(axis=0) for product in products]
    lower, upper = (getattr(np.array(results), name)() for name in ("min", "max"))
    assert_is(found, lower, upper, nan=False)


@pytest.mark.parametrize(
    ("operator", "attributes", "reason"),
    [
        ("ConvTranspose", {}, "the weights are not constant"),
        ("Conv", {}, "an operand may be infinite"),
    ],
)
def test_nothing_is_said_of_a_convolution(
    operator: str, attributes: dict[str, Any], reason: str
) -> None:
    x = Interval.of(0, INF if operator == "Conv" else 1)
    shapes = [(1, 1, 4, 4), (1, 1, 2, 2)]
    with pytest.raises(Rejected, match=f"^{reason}$"):
        interval_of(operator, x, Interval.of(0, 1), shapes=shapes, **attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        {"auto_pad": "SAME_UPPER", "ceil_mode": 1},
        {"auto_pad": "SAME_LOWER", "pads": [1, 1, 1, 1]},
        {"strides": [1]},
        {"pads": [1, 1]},
    ],
    ids=str,
)
def test_nothing_is_said_of_windows_in_two_ways(attributes: dict[str, Any]) -> None:
    with pytest.raises(Rejected, match=r"^its attributes are not known$"):
        interval_of("MaxPool", IMAGE, kernel_shape=[2, 2], **attributes)


SIZES = np.array([1, 2, 8, 8], np.int64)


@pytest.mark.parametrize(
    ("mode", "lower", "upper"),
    [(None, 1, 2), ("nearest", 1, 2), ("linear", 1, 2), ("cubic", -2 * 1.375**4, 2 * 1.375**4)],
)
def test_resized_elements_are_means_and_cubic_ones_go_beyond(
    mode: str | None, lower: float, upper: float
) -> None:
    attributes = {} if mode is None else {"mode": mode}
    x = Interval.of(1, 2)
    found = interval_of("Resize", x, None, None, SIZES, shapes=[(1, 2, 4, 4)], **attributes)
    assert not found.nan
    assert (found.whole.lower, found.whole.upper) == pytest.approx((lower, upper), rel=1e-2)


@pytest.mark.parametrize(("mode", "nan"), [("nearest", False), ("linear", True), ("cubic", True)])
def test_mean_of_infinity_may_be_nan(mode: str, nan: bool) -> None:
    x = Interval.of(-INF, INF)
    found = interval_of("Resize", x, None, None, SIZES, shapes=[(1, 2, 4, 4)], mode=mode)
    assert found.nan is nan


@pytest.mark.parametrize(
    ("window", "length", "largest"),
    [
        (np.full(16, -0.5, np.float32), None, 8),
        (np.full(16, -0.5, np.float32), np.array(16, np.int64), 8),
        (None, np.array(16, np.int64), 16),
    ],
    ids=["window", "both", "length"],
)
def test_spectrum_is_a_sum_of_the_frame_in_two_parts(
    window: Array | None, length: Array | None, largest: float
) -> None:
    found = interval_of("STFT", Interval.of(-1, 3), np.array(4, np.int64), window, length)
    assert not found.nan
    ends = (-2 * 3 * largest, 2 * 3 * largest)
    assert (found.whole.lower, found.whole.upper) == pytest.approx(ends, rel=1e-3)


@pytest.mark.parametrize("count", [3, 4])
def test_sum_of_many_may_overflow_on_the_way(count: int) -> None:
    large, negative = Interval.of(2e38, 2e38), Interval.of(-2e38, -2e38)
    assert interval_of("Sum", *[large, negative] * 2, large).nan
    small = [Interval.of(1, 2)] * count
    assert_is(interval_of("Sum", *small), count, 2 * count, nan=False)
    assert_is(interval_of("Mean", *small), 1, 2, nan=False)


def sum_beside(
    first: ir.Node,
    intervals: dict[ir.Value, Interval],
    *,
    place: int = 0,
    operator: str = "Add",
    shapes: Sequence[Sequence[int]] = (),
) -> Interval:
    """The sum of a node's result, which is known to lie from 0 to 1, and of 1 to 2.

    Args:
        first: The node.
        intervals: Those of its operands.
        place: Where its result stands in the sum.
        operator: The operator of the sum.
        shapes: Those of its operands, if they are not three by three.
    """
    given = dict(intervals)
    other = ir.Value()
    given[first.outputs[0]], given[other] = Interval.of(0, 1), Interval.of(1, 2)
    operands = [first.outputs[0], other] if place == 0 else [other, first.outputs[0]]
    known = dict.fromkeys(given, (3, 3))
    known |= {value: tuple(shape) for value, shape in zip(first.inputs, shapes, strict=False)}
    node = GraphNode(
        ir.node(operator, operands),
        20,
        Held(element_type=lambda _: "float", shapes=known, intervals=given),
    )
    (found,) = INTERVAL_RULES[operator](node)
    assert found is not None
    return found


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("largest", [1.0, 1e18, 2e19])
@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
def test_sum_beside_a_product_may_be_computed_with_its_terms(
    operator: str, largest: float, place: int
) -> None:
    """What is added block by block to terms that overflow may be anything."""
    a, b = ir.Value(), ir.Value()
    terms = dict.fromkeys((a, b), Interval.of(-largest, largest))
    found = sum_beside(ir.node(operator, [a, b]), terms, place=place)
    assert found.nan is (largest == 2e19)
    if not found.nan:
        assert_is(found, 1, 3, nan=False)


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "terms"),
    [
        ("MatMul", [(4, 3), (3, 2)], {}, 3),
        ("MatMul", [(3, 4), (4, 2)], {}, 4),
        ("Gemm", [(4, 3), (3, 2)], {}, 3),
        ("Gemm", [(3, 4), (3, 2)], {"transA": 1}, 3),
        ("Gemm", [(4, 3), (4, 2)], {"transA": 1}, 4),
        ("Conv", [(1, 1, 8), (5, 1, 3)], {}, 3),
        ("Conv", [(1, 1, 8), (2, 1, 4)], {}, 4),
        ("Conv", [(1, 2, 8), (2, 2, 2)], {}, 4),
    ],
)
def test_product_beside_a_sum_has_as_many_terms_as_it_adds(
    operator: str, shapes: Sequence[Sequence[int]], attributes: dict[str, Any], terms: int
) -> None:
    """Three terms of 1e38 are a float, and four of them are none."""
    a, b = ir.Value(), ir.Value()
    intervals = dict.fromkeys((a, b), Interval.of(-1e19, 1e19))
    found = sum_beside(ir.node(operator, [a, b], attributes), intervals, shapes=shapes)
    assert found.nan is (terms == 4)


@pytest.mark.parametrize(("operator", "joined"), [("Add", True), ("Sum", True), ("Mean", False)])
def test_mean_is_not_computed_with_the_terms_of_a_product(operator: str, joined: bool) -> None:
    a, b = ir.Value(), ir.Value()
    terms = dict.fromkeys((a, b), Interval.of(-2e19, 2e19))
    found = sum_beside(ir.node("MatMul", [a, b]), terms, operator=operator)
    assert found.nan is joined
    if not joined:
        assert_is(found, 0.5, 1.5, nan=False)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_factor_between_a_product_and_a_sum_scales_the_terms(factor: float, place: int) -> None:
    a, b, k = ir.Value(), ir.Value(), ir.Value()
    product = ir.node("MatMul", [a, b])
    terms = dict.fromkeys((a, b), Interval.of(-1e18, 1e18))
    terms |= {k: Interval.of(factor, factor), product.outputs[0]: Interval.of(0, 1)}
    found = sum_beside(ir.node("Mul", [product.outputs[0], k]), terms, place=place)
    assert found.nan is (factor == 1e3)


def test_sum_beside_a_branch_may_be_computed_with_what_stands_in_it() -> None:
    condition = ir.Value()
    assert sum_beside(ir.node("If", [condition]), {}, place=0).nan


def test_result_of_which_nothing_is_known_and_one_that_is_no_float_have_no_interval() -> None:
    x = ir.Value()
    node = ir.node("Neg", [x], outputs=[ir.Value(name="y")])
    kinds = {x: "float", node.outputs[0]: "float"}
    for interval, says_something in ((ANYTHING, False), (Interval.of(1, 4), True)):
        known = GraphNode(node, 13, Held(element_type=kinds.get, intervals={x: interval}))
        (found,) = intervals_by(interval_rule(known), known)
        assert (found is not None) is says_something
    kinds[node.outputs[0]] = "int64"
    known = GraphNode(node, 13, Held(element_type=kinds.get, intervals={x: ANYTHING}))
    with pytest.raises(Rejected, match=r"^no result is a float$"):
        intervals_by(interval_rule(known), known)
    with pytest.raises(Rejected, match=r"^the interval of a Det has no rule$"):
        interval_rule(GraphNode(ir.node("Det", [x]), 13))

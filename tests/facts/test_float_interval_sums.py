"""What rules make of sums, layers and moved elements, against results that are computed one by one.

A sum of products is smallest and largest at the ends of its operands: all of them are tried.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sonnx_ort.facts.ranges import ANYTHING, Interval
from sonnx_ort.facts.sizes import Bounds, Rejected
from support.float_intervals import assert_is, interval_of

INF = math.inf
Array = npt.NDArray[Any]
Ends = tuple[float, float]

WEIGHTS = np.array([[1, -2], [0.5, 3], [-1, -1]], np.float32)
"""A matrix of numbers of both signs."""


def tensors(shape: Sequence[int], lower: float, upper: float) -> list[Array]:
    """All tensors of the ends of an interval."""
    count = math.prod(shape)
    return [
        np.array(each, np.float64).reshape(shape)
        for each in itertools.product((lower, upper), repeat=count)
    ]


def hull(results: Sequence[Array]) -> Ends:
    return min(float(each.min()) for each in results), max(float(each.max()) for each in results)


REDUCED: dict[str, Callable[[Array], Array]] = {
    "ReduceL1": lambda x: np.abs(x).sum(axis=1),
    "ReduceL2": lambda x: np.sqrt((x * x).sum(axis=1)),
    "ReduceMax": lambda x: x.max(axis=1),
    "ReduceMean": lambda x: x.mean(axis=1),
    "ReduceMin": lambda x: x.min(axis=1),
    "ReduceSum": lambda x: x.sum(axis=1),
    "ReduceSumSquare": lambda x: (x * x).sum(axis=1),
}
AXIS = np.array([1], np.int64)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("ends", [(-2, -1), (-1, 2), (0, 3), (0, 0)], ids=str)
@pytest.mark.parametrize("operator", REDUCED)
def test_reduction_is_that_of_all_elements_along_its_axis(
    operator: str, ends: Ends, keepdims: int
) -> None:
    lower, upper = hull([REDUCED[operator](x) for x in tensors((2, 3), *ends)])
    if operator in {"ReduceL1", "ReduceL2", "ReduceSumSquare"}:
        lower = 0
    x = Interval.of(*ends)
    found = interval_of(operator, x, AXIS, shapes=[(2, 3)], keepdims=keepdims)
    assert_is(found, lower, upper, nan=False)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduction_keeps_the_intervals_of_other_axes(keepdims: int) -> None:
    x = np.array([[1, 2, 3], [-1, 0, 5]], np.float32)
    found = interval_of("ReduceSum", x, AXIS, keepdims=keepdims)
    assert found.lower.shape == ((2, 1) if keepdims else (2,))
    assert found.lower.ravel().tolist() == pytest.approx([3, -3], rel=1e-4)
    assert found.upper.ravel().tolist() == pytest.approx([9, 15], rel=1e-4)


@pytest.mark.parametrize(
    ("operator", "ends", "upper", "nan"),
    [
        ("ReduceMean", (0, 1), INF, True),
        ("ReduceSum", (0, 1), INF, False),
        ("ReduceL1", (-1, 1), INF, False),
        ("ReduceSumSquare", (-1, 1), INF, False),
        ("ReduceL2", (-1, 1), INF, False),
    ],
)
def test_reduction_of_an_open_size_may_be_endless_and_the_mean_of_nothing_is_nan(
    operator: str, ends: Ends, upper: float, nan: bool
) -> None:
    found = interval_of(operator, Interval.of(*ends), AXIS, shapes=[(2, "n")])
    assert_is(found, 0, upper, nan=nan)


@pytest.mark.parametrize(
    ("operator", "ends", "reason"),
    [
        ("ReduceMean", (-1, 1), "how much is summed is not known"),
        ("ReduceSum", (-1, 1), "how much is summed is not known"),
        ("ReduceMax", (0, 1), "a size is open"),
        ("ReduceMin", (0, 1), "a size is open"),
    ],
)
def test_nothing_is_said_of_other_reductions_of_an_open_size(
    operator: str, ends: Ends, reason: str
) -> None:
    """The largest of no elements is the lowest number."""
    for size in ("n", 0):
        with pytest.raises(Rejected, match=f"^{reason}$"):
            interval_of(operator, Interval.of(*ends), AXIS, shapes=[(2, size)])


@pytest.mark.parametrize("operator", ["ReduceL1", "ReduceL2", "ReduceSumSquare"])
def test_sum_of_magnitudes_may_be_infinite_and_is_no_nan(operator: str) -> None:
    found = interval_of(operator, Interval.of(-INF, 1), AXIS, shapes=[(2, 3)])
    assert_is(found, 0, INF, nan=False)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean"])
@pytest.mark.parametrize(
    ("ends", "lower", "nan"),
    [((-INF, INF), -INF, True), ((0, INF), 0, False), ((-3e38, 3e38), -INF, True)],
    ids=str,
)
def test_sum_of_infinities_of_both_signs_is_nan(
    operator: str, ends: Ends, lower: float, nan: bool
) -> None:
    found = interval_of(operator, Interval.of(*ends), AXIS, shapes=[(2, 3)])
    assert_is(found, lower, INF, nan=nan)


X = (-1.0, 2.0)


@pytest.mark.parametrize(
    ("operands", "shapes", "function", "attributes"),
    [
        ((Interval.of(*X), WEIGHTS), [(2, 3)], lambda x: x @ WEIGHTS, {}),
        ((WEIGHTS, Interval.of(*X)), [None, (2, 3)], lambda x: WEIGHTS @ x, {}),
    ],
    ids=["by weights", "weights by"],
)
def test_product_of_matrices_is_that_of_all_ends(
    operands: Sequence[Any],
    shapes: Sequence[Sequence[int] | None],
    function: Callable[[Array], Array],
    attributes: dict[str, Any],
) -> None:
    given = next(each for each in shapes if each is not None)
    lower, upper = hull([function(x) for x in tensors(given, *X)])
    found = interval_of("MatMul", *operands, shapes=shapes, **attributes)
    assert_is(found, lower, upper, nan=False)


def test_product_of_matrices_keeps_the_intervals_of_columns() -> None:
    found = interval_of("MatMul", Interval.of(0, 1), WEIGHTS, shapes=[("n", 3)])
    assert found.lower.ravel().tolist() == pytest.approx([-1, -3], rel=1e-4)
    assert found.upper.ravel().tolist() == pytest.approx([1.5, 3], rel=1e-4)


@pytest.mark.parametrize(("operator", "turned"), [("MatMul", 0), ("Gemm", 0), ("Gemm", 1)])
def test_product_of_matrices_weights_each_interval_of_its_rows(operator: str, turned: int) -> None:
    """The factors of a row lie in [-1, 1], [0, 2] and [3, 5]."""
    x = np.array([[1, 2, 3], [-1, 0, 5]], np.float32)
    given = np.ascontiguousarray(x.T) if turned else x
    attributes = {"transA": turned} if operator == "Gemm" else {}
    found = interval_of(operator, given, WEIGHTS, **attributes)
    assert found.lower.ravel().tolist() == pytest.approx([-6, -7], rel=1e-4)
    assert found.upper.ravel().tolist() == pytest.approx([-1, 5], rel=1e-4)


@pytest.mark.parametrize(("lower", "nan"), [(0.0, False), (-1.0, True)])
@pytest.mark.parametrize(("factor", "signed"), [(10, False), (-10, True)])
def test_products_of_no_number_below_zero_may_be_infinite_and_are_no_nan(
    lower: float, nan: bool, factor: float, signed: bool
) -> None:
    weights = np.full((2, 1), factor, np.float32)
    found = interval_of("MatMul", Interval.of(lower, 3e38), weights, shapes=[(1, 2)])
    assert_is(found, -INF if nan or signed else 0, INF, nan=nan or signed)


@pytest.mark.parametrize("turned", [0, 1])
def test_gemm_scales_turns_and_adds(turned: int) -> None:
    weights = WEIGHTS.T if turned else WEIGHTS
    c = np.array([10, -10], np.float32)
    lower, upper = hull([2 * (x @ WEIGHTS) + 3 * c for x in tensors((2, 3), *X)])
    found = interval_of(
        "Gemm",
        Interval.of(*X),
        np.ascontiguousarray(weights),
        c,
        shapes=[(3, 2) if turned else (2, 3)],
        alpha=2.0,
        beta=3.0,
        transA=turned,
        transB=turned,
    )
    assert_is(found, lower, upper, nan=False)


@pytest.mark.parametrize(
    ("a", "b", "lower", "upper"),
    [((-1, 2), (-3, 1), -18, 9), ((1, 2), (1, 3), 3, 18), ((0, 0), (-3, 1), 0, 0)],
    ids=str,
)
def test_product_of_two_matrices_that_are_computed(
    a: Ends, b: Ends, lower: float, upper: float
) -> None:
    found = interval_of("MatMul", Interval.of(*a), Interval.of(*b), shapes=[(2, 3), (3, 2)])
    assert_is(found, lower, upper, nan=False)


@pytest.mark.parametrize(
    "operands",
    [
        (Interval.of(0, INF), WEIGHTS),
        (WEIGHTS, Interval.of(0, INF)),
        (ANYTHING, Interval.of(0, 1)),
    ],
    ids=["by weights", "weights by", "computed"],
)
def test_nothing_is_said_of_a_product_with_infinities(operands: Sequence[Any]) -> None:
    shapes = [(2, 3) if isinstance(each, Interval) else None for each in operands]
    with pytest.raises(Rejected, match=r"^an operand may be infinite$"):
        interval_of("MatMul", *operands, shapes=shapes)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (np.full((3, 2), np.nan, np.float32), "a weight is NaN or too large"),
        (np.full((3, 2), 2e18, np.float32), "a weight is NaN or too large"),
        (np.ones((0, 2), np.float32), "there are no weights"),
    ],
    ids=["NaN", "large", "none"],
)
def test_nothing_is_said_of_products_with_such_weights(weights: Array, reason: str) -> None:
    with pytest.raises(Rejected, match=f"^{reason}$"):
        interval_of("MatMul", Interval.of(0, 1), weights, shapes=[(2, len(weights))])


KERNELS = np.array([[[[1.0, -2.0]]], [[[3.0, 0.5]]]], np.float32)
"""Of two outputs, of one input and a window of two elements."""


@pytest.mark.parametrize(
    ("ends", "attributes", "expected"),
    [
        ((1, 2), {}, [(-3, 0), (3.5, 7)]),
        ((1, 2), {"pads": [0, 1, 0, 1]}, [(-4, 2), (0, 7)]),
        ((1, 2), {"auto_pad": "SAME_UPPER"}, [(-4, 2), (0, 7)]),
        ((-2, -1), {"auto_pad": "SAME_LOWER"}, [(-2, 4), (-7, 0)]),
        ((-1, 2), {}, [(-5, 4), (-3.5, 7)]),
    ],
)
@pytest.mark.parametrize("bias", [0.0, 10.0])
def test_convolution_is_bounded_for_each_output_and_padding_adds_zeros(
    ends: Ends, attributes: dict[str, Any], expected: Sequence[Ends], bias: float
) -> None:
    operands = [Interval.of(*ends), KERNELS]
    if bias:
        operands.append(np.full(2, bias, np.float32))
    found = interval_of("Conv", *operands, shapes=[(1, 1, 1, 4)], **attributes)
    assert found.lower.ravel().tolist() == pytest.approx(
        [lower + bias for lower, _ in expected], rel=1e-4, abs=1e-4
    )
    assert found.upper.ravel().tolist() == pytest.approx(
        [upper + bias for _, upper in expected], rel=1e-4, abs=1e-4
    )


def test_group_of_a_convolution_reads_its_own_channels() -> None:
    x = np.array([1, 10], np.float32).reshape(1, 2, 1, 1)
    found = interval_of("Conv", x, np.ones((2, 1, 1, 1), np.float32), group=2)
    assert found.lower.ravel().tolist() == pytest.approx([1, 10], rel=1e-4)
    assert found.upper.ravel().tolist() == pytest.approx([1, 10], rel=1e-4)


def test_convolution_back_adds_some_products_or_all() -> None:
    weights = np.array([[[[1.0, -2.0]], [[3.0, 0.5]]]], np.float32)
    found = interval_of("ConvTranspose", Interval.of(1, 2), weights, shapes=[(1, 1, 1, 4)])
    assert found.lower.ravel().tolist() == pytest.approx([-4, 0], abs=1e-4)
    assert found.upper.ravel().tolist() == pytest.approx([2, 7], rel=1e-4)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"output_padding": [0, 1]}, "more may be added to the output than a step"),
        (
            {"output_padding": [2, 0], "strides": [2, 2]},
            "more may be added to the output than a step",
        ),
        ({"output_shape": [1, 9]}, "the size of the output is given"),
    ],
)
def test_nothing_is_known_where_a_convolution_back_may_leave_memory_unwritten(
    attributes: dict[str, Any], reason: str
) -> None:
    weights = np.ones((1, 2, 1, 2), np.float32)
    with pytest.raises(Rejected, match=reason):
        interval_of("ConvTranspose", ONE, weights, shapes=[(1, 1, 1, 4)], **attributes)


@pytest.mark.parametrize("operator", ["GlobalMaxPool", "MaxPool"])
def test_largest_of_negative_infinities_may_be_finite(operator: str) -> None:
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    attributes = {"kernel_shape": [2, 2]} if operator == "MaxPool" else {}
    assert_is(interval_of(operator, x, **attributes), -np.inf, 0, nan=False)


PADDED = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}
ALONE = {"kernel_shape": [2, 2], "pads": [2, 2, 2, 2]}
"""Windows that lie in padding alone."""


@pytest.mark.parametrize(
    ("operator", "attributes", "lower", "upper", "nan"),
    [
        ("AveragePool", {"kernel_shape": [2, 2]}, 1, 2, False),
        ("AveragePool", PADDED, 1, 2, False),
        ("AveragePool", {**PADDED, "count_include_pad": 1}, 0, 2, False),
        ("AveragePool", ALONE, 0, 2, True),
        ("AveragePool", {**PADDED, "strides": [2, 2], "ceil_mode": 1}, 0, 2, True),
        ("AveragePool", {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}, 1, 2, False),
        ("GlobalAveragePool", {}, 1, 2, False),
        ("MaxPool", {"kernel_shape": [2, 2]}, 1, 2, False),
        ("MaxPool", PADDED, 1, 2, False),
        ("MaxPool", ALONE, -INF, 2, False),
        ("MaxPool", {**PADDED, "dilations": [5, 1]}, -INF, 2, False),
        ("GlobalMaxPool", {}, 1, 2, False),
    ],
)
def test_pooling_of_padding_alone_has_no_mean_and_the_lowest_maximum(
    operator: str, attributes: dict[str, Any], lower: float, upper: float, nan: bool
) -> None:
    found = interval_of(operator, Interval.of(1, 2), shapes=[(1, 1, 4, 4)], **attributes)
    assert_is(found, lower, upper, nan=nan)


@pytest.mark.parametrize("version", [12, 20])
def test_logarithms_of_shares_are_not_above_zero(version: int) -> None:
    count = 6 if version == 12 else 3
    x = Interval.of(-1, 2)
    found = interval_of("LogSoftmax", x, shapes=[(4, 2, 3)], version=version)
    assert not found.nan
    assert found.whole.lower == pytest.approx(-3 - math.log(count), rel=1e-4)
    assert 0 <= found.whole.upper < 1e-4


def test_shares_lie_from_zero_to_one_and_of_infinities_may_be_nan() -> None:
    assert_is(interval_of("Softmax", Interval.of(-9, 9)), 0, 1, nan=False)
    assert_is(interval_of("Softmax", Interval.of(-9, INF)), 0, 1, nan=True)
    assert interval_of("LogSoftmax", Interval.of(-INF, 9), shapes=[(4, 2)]).nan


def vector(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def test_normalization_by_constants_is_that_of_each_channel() -> None:
    found = interval_of(
        "BatchNormalization",
        Interval.of(-1, 2),
        vector(2, -3),
        vector(10, 20),
        vector(1, 0),
        vector(4, 9),
        shapes=[("n", 2, 5)],
        epsilon=0.0,
    )
    assert found.lower.ravel().tolist() == pytest.approx([8, 18], rel=1e-4)
    assert found.upper.ravel().tolist() == pytest.approx([11, 21], rel=1e-4)
    assert not found.nan


@pytest.mark.parametrize(("variance", "nan"), [(0.0, True), (-1.0, True), (1.0, False)])
def test_normalization_by_a_variance_of_nothing_may_be_nan(variance: float, nan: bool) -> None:
    ones = vector(1)
    operands = (Interval.of(-1, 2), ones, ones, ones, vector(variance))
    found = interval_of("BatchNormalization", *operands, shapes=[("n", 1, 5)], epsilon=0.0)
    assert found.nan is nan


ONE, TWO, THREE = Interval.of(0, 1), Interval.of(-3, -2), Interval.of(5, 6)
TRUTHS = Bounds(0, 1)


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "lower", "upper"),
    [
        ("Concat", (ONE, TWO, THREE), {"axis": 0, "shapes": [("n",)] * 3}, -3, 6),
        ("Identity", (TWO,), {}, -3, -2),
        ("Flatten", (TWO,), {}, -3, -2),
        ("Trilu", (TWO,), {}, -3, 0),
        ("Pad", (TWO, np.array([1, 1], np.int64)), {}, -3, 0),
        ("Pad", (TWO, np.array([1, 1], np.int64), THREE), {}, -3, 6),
        ("Pad", (TWO,), {"version": 2, "value": 7.0}, -3, 7),
        ("Pad", (TWO, np.array([0, 1], np.int64)), {"mode": "edge"}, -3, -2),
        (
            "Pad",
            (TWO, np.array([0, 2], np.int64)),
            {"mode": "reflect", "shapes": [(3,), (2,)]},
            -3,
            -2,
        ),
        ("ScatterElements", (ONE, TRUTHS, THREE), {}, 0, 6),
        ("ScatterND", (TWO, TRUTHS, THREE), {}, -3, 6),
        ("Compress", (TWO, TRUTHS), {}, -3, -2),
        ("Split", (TWO,), {}, -3, -2),
        ("Slice", (TWO,), {}, -3, -2),
        ("Range", (ONE, THREE, Interval.of(1, 2)), {}, 0, 6),
        ("Range", (ONE, TWO, Interval.of(1, 2)), {}, 0, 1),
    ],
)
def test_moved_elements_are_those_of_the_operands(
    operator: str, operands: Sequence[Any], attributes: dict[str, Any], lower: float, upper: float
) -> None:
    assert_is(interval_of(operator, *operands, **attributes), lower, upper, nan=False)


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "reason"),
    [
        ("ScatterElements", (ONE, TRUTHS, THREE), {"reduction": "add"}, "it reduces"),
        ("Range", (ONE, THREE, ONE), {}, "it is not bounded"),
        ("Range", (ONE, ANYTHING, THREE), {}, "it is not bounded"),
        ("Range", (ANYTHING, ONE, THREE), {}, "it is not bounded"),
        ("Range", (ONE, THREE, Interval.of(1, INF)), {}, "it is not bounded"),
        ("Compress", (TWO, ANYTHING), {}, "more elements may be counted than are written"),
        ("Pad", (TWO, np.array([1, -1], np.int64)), {}, "a pad may be negative"),
        ("Pad", (TWO, Bounds(-1, 1)), {}, "the elements of operand 1 are not known"),
        ("Pad", (TWO,), {"version": 2, "pads": [0, -1]}, "a pad may be negative"),
        (
            "Pad",
            (TWO, np.array([0, 3], np.int64)),
            {"mode": "reflect", "shapes": [(3,), (2,)]},
            "more may be reflected than an axis has",
        ),
        ("Pad", (TWO, np.array([0, 3], np.int64)), {"mode": "wrap"}, "the mode is wrap"),
    ],
)
def test_nothing_is_said_of(
    operator: str, operands: Sequence[Any], attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Rejected, match=f"^{reason}$"):
        interval_of(operator, *operands, **attributes)


PLACES = np.array([[1, 2, 3], [-1, 0, 5]], np.float32)


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "expected"),
    [
        ("Transpose", (PLACES,), {"perm": [1, 0]}, PLACES.T),
        ("Transpose", (PLACES,), {}, PLACES.T),
        ("Concat", (PLACES, PLACES), {"axis": 0}, [[1], [-1], [1], [-1]]),
        ("Concat", (PLACES, PLACES), {"axis": 1}, [[-1, 0, 3, -1, 0, 3]]),
        ("Split", (PLACES,), {"axis": 1}, [[1], [-1]]),
        (
            "Slice",
            (PLACES, *[np.array([n], np.int64) for n in (0, 2, 0)]),
            {},
            [[-1, 0, 3]],
        ),
    ],
)
def test_moved_elements_keep_the_intervals_of_their_places(
    operator: str, operands: Sequence[Array], attributes: dict[str, Any], expected: Any
) -> None:
    found = interval_of(operator, *operands, **attributes)
    assert found.lower.tolist() == np.asarray(expected).tolist()

"""What the oracle says of MaxPool, Conv, ConvInteger and Gemm: by hand, and wrong kernels."""

from fractions import Fraction

import numpy as np
import pytest

from sonnx_ort.meaning import Undefined, meaning
from sonnx_ort.meaning.documented import meaning_of
from sonnx_ort.meaning.node import Node
from support.meanings import Verdict, meaning_over_the_reals, verdicts

F = np.float32
INF, NAN = np.inf, np.nan
NINE = np.arange(1, 10, dtype=F).reshape(1, 1, 3, 3)
SQUARE = np.ones((1, 1, 2, 2), F)


def results(operator, operands, **attributes):
    found = meaning(operator, 22, attributes, operands)
    assert isinstance(found, tuple), found
    return found


def image(rows, dtype=F):
    return np.array(rows, dtype)[None, None]


@pytest.mark.satisfies("MaxPool.draft.largest", "MaxPool.draft.padded")
@pytest.mark.parametrize(
    ("x", "attributes", "expected"),
    [
        (NINE, {}, [[5, 6], [8, 9]]),
        (NINE, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, [[1, 3], [7, 9]]),
        (image(np.arange(1, 17).reshape(4, 4)), {"dilations": [2, 2]}, [[11, 12], [15, 16]]),
        (image([[1, INF, 3], [-INF, NAN, 6], [7, 8, 0]]), {}, [[NAN, NAN], [NAN, NAN]]),
        (image([[1, INF], [-INF, 6]]), {}, [[INF]]),
        (image([[-5, -4, -3], [-2, -1, 0], [1, 2, 3]], np.int8), {}, [[-1, 0], [2, 3]]),
        (image([[250, 1, 2], [3, 4, 5], [6, 7, 8]], np.uint8), {}, [[250, 5], [7, 8]]),
        (NINE, {"strides": [2, 2], "ceil_mode": 1}, [[5, 6], [8, 9]]),
        (NINE, {"auto_pad": "SAME_UPPER"}, [[5, 6, 6], [8, 9, 9], [8, 9, 9]]),
        (NINE, {"auto_pad": "SAME_LOWER"}, [[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    ],
)
def test_largest_element_of_each_window(x, attributes, expected):
    y, _ = results("MaxPool", [x], kernel_shape=[2, 2], **attributes)
    np.testing.assert_array_equal(y.nearest, image(expected, x.dtype))


@pytest.mark.satisfies("MaxPool.draft.indices")
def test_indices_count_in_the_whole_tensor_and_are_those_of_the_first_largest_or_of_any_nan():
    x = np.float32([[[[1, 7], [7, 0]]], [[[0, 0], [NAN, NAN]]]])
    _, indices = results("MaxPool", [x], kernel_shape=[2, 2])
    assert indices.nearest.ravel().tolist() == [1, 6]
    given = [np.int64([[[[k]]], [[[k + 4]]]]) for k in range(4)]
    judged = [verdicts(indices, each).ravel().tolist() for each in given]
    assert judged == [
        ["outside", "outside"],
        ["exact", "outside"],
        ["outside", "exact"],
        ["outside", "admitted"],
    ]
    _, columns = results("MaxPool", [x[:1, :, :, :]], kernel_shape=[1, 1], storage_order=1)
    assert columns.nearest.ravel().tolist() == [0, 2, 1, 3]


_REAL = [[1.5, 1.25, 2.25], [1.375, 2, 3.125], [2.75, 5.75, 3.5]]
_COLUMNS = [[2.5, 0.125, 5.125], [5.75, 3.75, 3.5], [1.375, 3.875, -1.375]]
_LOW = [[-INF, 9.5, 4.5], [2.75, 3.5, 2.5], [2.875, 3.25, 5.25]]
_SMALLEST = [[-128, -127, 5], [-128, -127, 6], [7, 8, -128]]


@pytest.mark.satisfies("MaxPool.draft.examples")
@pytest.mark.parametrize(("dtype", "x", "pads", "y", "indices"), [
    (np.float64, _REAL, [0, 0, 0, 0], [[2, 3.125], [5.75, 5.75]], [[4, 5], [7, 7]]),
    (np.float64, _COLUMNS, [1, 0, 1, 0],
     [[2.5, 5.125], [5.75, 5.125], [5.75, 3.875], [3.875, 3.875]],
     [[0, 2], [3, 2], [3, 7], [7, 7]]),
    (
        np.float64,
        _LOW,
        [1, 1, 1, 1],
        [
            [-INF, 9.5, 9.5, 4.5],
            [2.75, 9.5, 9.5, 4.5],
            [2.875, 3.5, 5.25, 5.25],
            [2.875, 3.25, 5.25, 5.25],
        ],
        [[0, 1, 1, 2], [3, 1, 1, 2], [6, 4, 8, 8], [6, 7, 8, 8]],
    ),
    (np.int8, [[1, 2, 0], [0, 3, 5], [-2, 5, 6]], [0, 1, 1, 1],
     [[1, 3, 5, 5], [0, 5, 6, 6], [-2, 5, 6, 6]], [[0, 4, 5, 5], [3, 7, 8, 8], [6, 7, 8, 8]]),
    (np.int8, _SMALLEST, [1, 1, 1, 1],
     [[-128, -127, 5, 5], [-128, -127, 6, 6], [7, 8, 8, 6], [7, 8, 8, -128]],
     [[0, 1, 2, 2], [0, 1, 5, 5], [6, 7, 7, 5], [6, 7, 7, 8]]),
])  # fmt: skip
def test_examples_of_the_draft(dtype, x, pads, y, indices):
    """With shorter numbers, in the same order."""
    said = {"kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": pads}
    found = results("MaxPool", [image(x, dtype)], **said)
    assert [each.nearest.tolist() for each in found] == [[[y]], [[indices]]]


def test_window_of_padding_has_no_maximum():
    y, indices = results("MaxPool", [NINE], kernel_shape=[1, 1], pads=[0, 1, 0, 0])
    assert (
        y.undefined.tolist() == indices.undefined.tolist() == [[[[True, False, False, False]] * 3]]
    )
    assert y.reason == indices.reason == "the window has no element of X"


@pytest.mark.satisfies("Conv.draft.sums", "Conv.draft.zeros", "Conv.draft.dilated")
@pytest.mark.parametrize(
    ("w", "attributes", "expected"),
    [
        (SQUARE, {}, [[12, 16], [24, 28]]),
        (SQUARE, {"pads": [1, 0, 0, 0], "strides": [2, 1]}, [[3, 5], [24, 28]]),
        (SQUARE, {"dilations": [2, 2]}, [[20]]),
        (image([[1, 0], [0, -2]]), {"strides": [1, 2]}, [[-9], [-12]]),
    ],
)
def test_convolution_by_hand(w, attributes, expected):
    (y,) = results("Conv", [NINE, w], **attributes)
    assert y.nearest.tolist() == image(expected).tolist()
    (shifted,) = results("Conv", [NINE, w, F([0.5])], **attributes)
    assert (shifted.nearest - y.nearest == 0.5).all()


def test_convolution_without_a_window_has_no_elements():
    (y,) = results("Conv", [NINE, np.ones((2, 1, 4, 4), F)])
    assert y.nearest.shape == (1, 2, 0, 0)


@pytest.mark.satisfies("Conv.draft.sums")
def test_each_group_has_its_own_channels():
    x = np.arange(8, dtype=F).reshape(1, 4, 1, 2)
    w = F([1, 10, 100, 1000]).reshape(2, 2, 1, 1)
    (y,) = results("Conv", [x, w], group=2)
    assert y.nearest.tolist() == [[[[20, 31]], [[6400, 7500]]]]
    (deep,) = results("Conv", [x, w.reshape(4, 1, 1, 1)], group=4)
    assert deep.nearest.tolist() == [[[[0, 1]], [[20, 30]], [[400, 500]], [[6000, 7000]]]]


@pytest.mark.satisfies("Conv.draft.rounding", "Conv.draft.zeros")
def test_infinite_weight_on_padding_is_nan():
    (y,) = results("Conv", [NINE, np.full((1, 1, 1, 1), INF, F)], pads=[0, 1, 0, 0])
    assert np.isnan(y.nearest[0, 0, :, 0]).all()
    assert (y.nearest[0, 0, :, 1:] == INF).all()


@pytest.mark.satisfies(
    "ConvInteger.draft.sums ConvInteger.draft.example ConvInteger.draft.left_out"
)
def test_convolution_of_integers_is_that_of_the_draft():
    x = image([[2, 4, 6], [8, 10, 12], [14, 16, 18]], np.int8)
    w = image([[1, 0], [0, 1]], np.int8)
    (y,) = results("ConvInteger", [x, w, np.int8(1).reshape(()), np.int8(1).reshape(())])
    assert y.nearest.dtype == np.int32
    assert y.nearest.tolist() == [[[[-10, -14], [-22, -26]]]]
    (y,) = results("ConvInteger", [x, w])
    assert y.nearest.tolist() == [[[[12, 16], [24, 28]]]]
    (y,) = results(
        "ConvInteger", [x, np.stack([w[0]] * 2), np.int8(1).reshape(()), np.int8([0, 1])]
    )
    assert y.nearest[0].tolist() == [[[10, 14], [22, 26]], [[-10, -14], [-22, -26]]]


@pytest.mark.satisfies("ConvInteger.draft.zeros")
def test_padding_is_zero_before_the_zero_point_is_subtracted():
    x, w = image([[5]], np.uint8), np.ones((2, 1, 1, 2), np.int8)
    points = [np.array(3, np.uint8), np.array([0, 2], np.int8)]
    (y,) = results("ConvInteger", [x, w, *points], pads=[0, 1, 0, 0])
    assert y.nearest.ravel().tolist() == [-1, 1]


@pytest.mark.satisfies("Gemm.draft.formula")
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [[19.5, 22.5], [43.5, 50.5]]),
        ({"transA": 1}, [[26.5, 30.5], [38.5, 44.5]]),
        ({"transB": 1}, [[17.5, 23.5], [39.5, 53.5]]),
        ({"alpha": 2.0, "beta": -1.0}, [[37.5, 43.5], [85.5, 99.5]]),
    ],
)
@pytest.mark.parametrize("shape", [(2, 2), (1, 2), (2,), (1,), ()])
def test_gemm_by_hand(attributes, expected, shape):
    a, b = F([[1, 2], [3, 4]]), F([[5, 6], [7, 8]])
    (y,) = results("Gemm", [a, b, np.full(shape, 0.5, F)], **attributes)
    assert y.nearest.tolist() == expected


def test_gemm_of_integers_is_exact_modulo_its_width():
    a, b = np.array([[2**31]], np.uint32), np.array([[2]], np.uint32)
    (y,) = results("Gemm", [a, b, np.array([[7]], np.uint32)])
    assert y.nearest.tolist() == [[7]]


def test_sums_over_the_reals_are_exact():
    a, b, c = (np.array([[Fraction(1, k)]], object) for k in (3, 7, 2))
    assert meaning_over_the_reals("Gemm", {}, [a, b, c])[0].item() == (Fraction(23, 42),) * 2
    assert meaning_over_the_reals("MatMul", {}, [a[0], b])[0].item() == (Fraction(1, 21),) * 2
    x, w = (each.reshape(1, 1, 1) for each in (a, b))
    assert meaning_over_the_reals("Conv", {}, [x, w])[0].item() == (Fraction(1, 21),) * 2
    pooled, index = meaning_over_the_reals("MaxPool", {"kernel_shape": [1]}, [x])
    assert (pooled.item(), index.item()) == ((Fraction(1, 3),) * 2, 0)


@pytest.mark.satisfies("Conv.draft.rounding")
def test_any_order_of_a_sum_is_admitted_and_no_summand_may_be_left_out():
    w = F([1e8, 1, -1e8, 3.7, 1e-3, -2.2]).reshape(1, 6, 1, 1)
    (y,) = results("Conv", [np.ones((1, 6, 1, 1), F), w])
    orders = [np.random.default_rng(k).permutation(w.ravel()) for k in range(20)]
    sums = [np.cumsum(order, dtype=F)[-1] for order in orders]
    assert all(verdicts(y, np.full((1, 1, 1, 1), s)).item() != Verdict.OUTSIDE for s in sums)
    (y,) = results("Conv", [np.ones((1, 3, 1, 1), F), w[:, 3:]])
    assert verdicts(y, np.full((1, 1, 1, 1), F(1.5))).item() == Verdict.OUTSIDE


def test_long_sums_of_short_floats_have_a_bound():
    ones = np.ones((1, 5000), np.float16)
    (y,) = results("Gemm", [ones, ones.T])
    assert verdicts(y, np.float16([[5000]])).item() == Verdict.EXACT
    assert verdicts(y, np.float16([[2048]])).item() == Verdict.ADMITTED


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "reason"),
    [
        ("MaxPool", [NINE], {"kernel_shape": [2]}, "do not fit 2 spatial axes"),
        ("MaxPool", [NINE], {"kernel_shape": [0, 1]}, "above 0"),
        ("MaxPool", [NINE], {"kernel_shape": [5, 1]}, "the window does not fit axis 2"),
        ("Conv", [NINE, SQUARE], {"pads": [0, 0, 0, -1]}, "pads not below"),
        ("Conv", [NINE, SQUARE], {"group": 2}, "do not fit 2 groups"),
        ("Conv", [NINE, SQUARE], {"kernel_shape": [2, 3]}, "kernel_shape is not that of W"),
        ("Conv", [NINE, SQUARE, np.ones(2, F)], {}, "B (2,) has not one element for each of 1"),
        ("Conv", [NINE, SQUARE[0]], {}, "do not have the same spatial axes"),
        ("Gemm", [SQUARE, SQUARE], {}, "do not both have two axes"),
        ("Gemm", [np.ones((2, 3), F)] * 2, {}, "(2, 3) and (2, 3) have no product"),
        ("Gemm", [np.ones((2, 2), F)] * 2 + [np.ones(3, F)], {}, "cannot be broadcast to (2, 2)"),
        ("Gemm", [np.ones((2, 2), np.int32)] * 2, {"alpha": 0.5}, "no document says what alpha"),
    ],
)
def test_operands_that_do_not_fit_have_no_result(operator, operands, attributes, reason):
    found = meaning(operator, 22, attributes, operands)
    assert isinstance(found, Undefined)
    assert reason in found.reason


def test_product_that_overflows_before_it_is_scaled_is_anything():
    a = np.full((1, 2), 3e38, F)
    (y,) = results("Gemm", [a, np.ones((2, 1), F)], alpha=0.25)
    assert y.nearest.item() == F(1.5e38)
    assert verdicts(y, F([[INF]])).item() == Verdict.ADMITTED


@pytest.mark.parametrize("operator", ["GlobalAveragePool", "ReduceMean"])
def test_mean_whose_sum_exceeds_the_type_may_be_anything(operator):
    x = np.array([[[[3e38, 3e38], [-1, -2]], [[1, 2], [3, 4]]]], F)
    operands = (x,) if operator == "GlobalAveragePool" else (x, np.array([2, 3]))
    (result,) = meaning_of(operator, Node(21, {}, operands))
    assert result.admitted.anything.ravel().tolist() == [True, False]

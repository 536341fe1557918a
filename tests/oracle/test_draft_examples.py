"""The examples that drafts of the working group print, and the shapes of results."""

import numpy as np
import pytest

from sonnx_ort.oracle import meaning
from support.meanings import Verdict, verdicts

INF, NAN = np.inf, np.nan
F16, F32, F64, I8, U8, I32 = np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32
FLOAT_COLUMNS = [[3, 4.5], [16, 1], [25.5, 24.25]], [[3, 2], [4, 0], [5, 4]]
SPECIAL = [-INF, 0.0, INF, NAN]
LEAKING = [INF, NAN, -INF, -0.0, 0.0, 1, -1]
CHOICE = [[True, True], [True, False], [False, True]]
ROWS = [[1, 2, 3], [4, 5, 6]]
ALONG_0 = [[0.04742587] * 3, [0.95257413] * 3]
ALONG_1 = [[0.09003057, 0.24472848, 0.66524094]] * 2

EXAMPLES = [
    ("Abs", F32, [[-2.1, -INF, NAN, -0.0]], [2.1, INF, NAN, 0.0]),
    ("Abs", I8, [[-126, 0, 127]], [126, 0, 127]),
    ("Acos", F32, [[-1, 0, 1]], [3.14159274, 1.57079637, 0]),
    ("Acos", F32, [[0.0, -0.0]], [1.57079637] * 2),
    ("Acos", F32, [[NAN]], [NAN]),
    ("Add", F64, FLOAT_COLUMNS, [[6, 6.5], [20, 1], [30.5, 28.25]]),
    ("Add", U8, ([6, 200, 35], [3, 100, 5]), [9, 44, 40]),
    ("Add", I8, ([-6, 100, -100], [-3, 100, -100]), [-9, -56, 56]),
    ("Exp", F32, [[0, 1, -1]], [1, 2.71828175, 0.36787945]),
    ("Exp", F32, [[[-2, 0], [1, 2], [-4, 4]]],
     [[0.135335281, 1], [2.71828175, 7.38905621], [0.0183156393, 54.5981483]]),
    ("Exp", F64, [[INF, NAN, -INF]], [INF, NAN, 0]),
    ("Less", F32, ([2.5, 3.7, 7.9], [3.1, 3.7, 5.8]), [True, False, False]),
    ("Less", F64, ([[1.1, 2], [4.2, 0], [5.3, 6.4]], [[3.5, 2], [4.6, 1], [5.7, 4.8]]),
     [[True, False], [True, True], [True, False]]),
    ("Less", F16, (np.repeat(SPECIAL, 4), np.tile(SPECIAL, 4)),
     [False, True, True, *[False] * 3, True, *[False] * 9]),
    ("Less", I8, ([2, 3, 7], [3, 3, 5]), [True, False, False]),
    ("Less", I32, ([[1, 2], [4, 0], [5, 6]], [[3, 2], [4, 1], [5, 4]]),
     [[True, False], [False, True], [False, False]]),
    ("Log", F32, [[1, 2, 4]], [0, 0.69314718, 1.38629436]),
    ("Log", F32, [[[2.718, -7.389], [0, 0.1], [10, -1000]]],
     [[0.99989629, NAN], [-INF, -2.30258512], [2.30258512, NAN]]),
    ("Log", F64, [[INF, NAN, -INF, -0.0, 0.0]], [INF, NAN, NAN, -INF, -INF]),
    ("Mul", F64, FLOAT_COLUMNS, [[9, 9], [64, 0], [127.5, 97]]),
    ("Mul", U8, ([6, 9, 35], [3, 100, 5]), [18, 132, 175]),
    ("Mul", I8, ([-6, -9, -9, 9], [-3, 100, -100, 100]), [18, 124, -124, -124]),
    ("Neg", F32, [[1.5, 0.0, -0.0, INF, -INF, NAN]], [-1.5, -0.0, 0.0, -INF, INF, NAN]),
    ("Neg", F16, [[65504, 2**-24, 1]], [-65504, -(2**-24), -1]),
    ("Neg", I8, [[-6, 0, 100, -128]], [6, 0, -100, -128]),
    ("Pow", F32, ([9, 4, 16, 8, 2], [2, 2.5, 0.5, 0.33333333, 1.5]), [81, 32, 4, 2, 2.82842708]),
    ("Pow", F32, ([0, 0, 5, -5, -25, -8], [0, 2, 0, 0, 0.6, 0.33333333]), [1, 0, 1, 1, NAN, NAN]),
    ("Pow", F32,
     ([-2, -2, -1, -1, 0.0, -0.0, 2, 0.5, 2], [0.5, 3, INF, -INF, -3, -3, -INF, INF, NAN]),
     [NAN, -8, 1, 1, INF, -INF, 0.0, 0.0, NAN]),
    ("Pow", F32,
     ([NAN, 1, -1, -INF, -INF, INF, 0.5, 2, -0.0], [2, -INF, INF, 3, -2, -1, -INF, INF, 3]),
     [NAN, 1, 1, -INF, 0.0, 0.0, INF, INF, -0.0]),
    ("Pow", F32, ([-8, -8], [2, 2.00000024]), [64, NAN]),
    ("Pow", I32, ([2, 3, 4], [3, 2, 1]), [8, 9, 4]),
    ("Pow", I32, ([[5, 2], [3, 4]], [[0, 3], [2, 1]]), [[1, 8], [9, 4]]),
    ("Relu", F32, [[6.1, -9.5, 35.7]], [6.1, 0, 35.7]),
    ("Relu", I8, [[6, -9, 35]], [6, 0, 35]),
    ("Sigmoid", F32, [[0, 1, -1]], [0.5, 0.73105860, 0.26894143]),
    ("Sigmoid", F32, [[[-2, 0], [1, 2], [-4, 4]]],
     [[0.11920291, 0.5], [0.73105860, 0.88079709], [0.01798621, 0.98201376]]),
    ("Sigmoid", F64, [[INF, NAN, -INF]], [1, NAN, 0]),
    ("Sin", F64, [[0.0, -0.0, 1e-8, -1e-8, INF, -INF, NAN]],
     [0.0, -0.0, 1e-8, -1e-8, NAN, NAN, NAN]),
    ("Sin", F32, [[3.1415927, 6.2831855, 1e30]], [-8.7422777e-08, 1.7484555e-07, -0.7911634]),
    ("Sin", F64, [[1, -1, 0.5, 2]],
     [0.8414709848078965, -0.8414709848078965, 0.479425538604203, 0.9092974268256817]),
    ("Sqrt", F32, [[1, 2, 4]], [1, 1.41421354, 2]),
    ("Sqrt", F32, [[[0.25, -1], [0, 0.1], [10, -1000]]],
     [[0.5, NAN], [0, 0.31622776], [3.16227770, NAN]]),
    ("Sqrt", F64, [[INF, NAN, -INF, -0.0]], [INF, NAN, NAN, -0.0]),
    ("Tanh", F32, [[0, 1, -1]], [0, 0.76159418, -0.76159418]),
    ("Tanh", F32, [[[-2, 0], [1, 2], [-4, 4]]],
     [[-0.96402758, 0], [0.76159418, 0.96402758], [-0.99932921, 0.99932921]]),
    ("Tanh", F64, [[INF, NAN, -INF]], [1, NAN, -1]),
    ("Where", F32, ([True, False, True], [19, 28, 37.1], [16, 25, 34]), [19, 25, 37.1]),
    ("Where", F64,
     ([True, False, True, False, True], [0.0, 0.0, INF, INF, NAN], [0.0, -0.0, -INF, -INF, 1]),
     [0.0, -0.0, INF, -INF, NAN]),
    ("Where", I8, (CHOICE, [[1, 20], [3, 40], [5, 60]], [[12, 110], [10, 90], [8, 70]]),
     [[1, 20], [3, 90], [8, 60]]),
]  # fmt: skip


def only(operator, dtype, operands, **attributes):
    arrays = [
        np.array(each, np.bool_ if operator == "Where" and place == 0 else dtype)
        for place, each in enumerate(operands)
    ]
    found = meaning(operator, 21, attributes, arrays)
    assert isinstance(found, tuple), found
    (result,) = found
    return result.nearest


def assert_printed(found, printed):
    """What drafts print has eight digits, or is exact."""
    printed = np.array(printed, found.dtype)
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, printed)
        return
    np.testing.assert_allclose(found, printed, rtol=2e-7)
    zeros = printed == 0
    assert (np.signbit(found) == np.signbit(printed))[zeros].all()


@pytest.mark.satisfies(
    "Abs.draft.examples Abs.draft.float.function Abs.draft.function Acos.draft.examples",
    "Add.draft.examples Exp.draft.examples Less.draft.examples Log.draft.examples",
    "Mul.draft.examples Neg.draft.examples Neg.draft.float.function Neg.draft.int.function",
    "Neg.draft.int.smallest Pow.draft.examples Pow.draft.int.function Relu.draft.examples",
    "Sigmoid.draft.examples Sin.draft.examples Sqrt.draft.examples Sqrt.draft.float.function",
    "Tanh.draft.examples Where.draft.examples Needs.AI-011 Needs.BOSCH-003",
)
@pytest.mark.parametrize(("operator", "dtype", "operands", "printed"), EXAMPLES)
def test_example_has_the_printed_numbers(operator, dtype, operands, printed):
    assert_printed(only(operator, dtype, operands), printed)


@pytest.mark.satisfies("LeakyRelu.draft.examples")
@pytest.mark.parametrize(
    ("alpha", "printed"),
    [
        (0.01, [INF, NAN, -INF, -0.0, 0.0, 1, -0.01]),
        (NAN, [INF, NAN, NAN, -0.0, 0.0, 1, NAN]),
        (-INF, [INF, NAN, INF, -0.0, 0.0, 1, INF]),
    ],
)
def test_example_of_an_alpha_has_the_printed_numbers(alpha, printed):
    assert_printed(only("LeakyRelu", F32, [LEAKING], alpha=alpha), printed)


@pytest.mark.satisfies("LeakyRelu.draft.float.example")
def test_first_example_of_leaky_relu_prints_the_number_for_another_alpha():
    printed, right = [6.1, -0.95, 35.7], [6.1, -0.095, 35.7]
    for alpha, expected in ((0.01, right), (0.1, printed)):
        assert_printed(only("LeakyRelu", F32, [[6.1, -9.5, 35.7]], alpha=alpha), expected)


@pytest.mark.satisfies("Sigmoid.draft.float.example")
def test_second_example_of_sigmoid_prints_a_number_that_is_not_admitted():
    (result,) = meaning("Sigmoid", 21, {}, [F32([-4])])
    assert verdicts(result, F32([0.01798624])).item() == Verdict.OUTSIDE
    assert verdicts(result, F32([0.01798621])).item() == Verdict.EXACT


@pytest.mark.satisfies(
    "Softmax.draft.examples Softmax.draft.float.function Softmax.draft.float.masked",
    "Softmax.draft.float.nan Softmax.draft.float.shape",
)
@pytest.mark.parametrize(
    ("x", "axis", "printed"),
    [
        (ROWS, 0, ALONG_0),
        (ROWS, 1, ALONG_1),
        ([[1, 2, 3], [4, 5, INF]], 0, [[0.04742587] * 2 + [NAN], [0.95257413] * 2 + [NAN]]),
        ([[1, 2, 3], [4, 5, INF]], 1, [ALONG_1[0], [NAN] * 3]),
        ([[1, 2, 3], [4, 5, -INF]], 0, [[0.04742587] * 2 + [1], [0.95257413] * 2 + [0]]),
        ([[1, 2, 3], [4, 5, -INF]], 1, [ALONG_1[0], [0.26894143, 0.73105860, 0]]),
        ([[1, 2, 3], [4, 5, NAN]], 0, [[0.04742587] * 2 + [NAN], [0.95257413] * 2 + [NAN]]),
        ([[1, 2, 3], [4, 5, NAN]], 1, [ALONG_1[0], [NAN] * 3]),
    ],
)
def test_example_of_softmax_has_the_printed_numbers(x, axis, printed):
    assert_printed(only("Softmax", F64, [x], axis=axis), printed)


@pytest.mark.satisfies("Softmax.draft.examples")
def test_example_of_softmax_prints_the_numbers_of_float():
    found = only("Softmax", F32, [[9.5, 35.7]], axis=0)
    assert_printed(found, [4.182965147e-12, 0.9999999999958])


@pytest.mark.satisfies("Softmax.draft.examples")
def test_example_of_softmax_in_three_dimensions_has_the_printed_digits():
    x = [[[1, 2, 3], [4, 5, 6]], [[10, 20, 30], [40, 50, 60]]]
    found = only("Softmax", F64, [x], axis=2)
    printed = [[[0.09003, 0.24473, 0.66524]] * 2, [[2.061e-9, 4.539e-5, 0.99995]] * 2]
    np.testing.assert_allclose(found, printed, rtol=2e-4)


@pytest.mark.satisfies(
    "Clip.draft.examples Clip.draft.float.crossed Clip.draft.float.function Clip.draft.float.nan",
    "Clip.draft.float.zeros Clip.draft.shape",
)
@pytest.mark.parametrize(
    ("x", "lowest", "highest", "printed"),
    [
        ([-6.3, 9.2, 35.5], 0.5, 10.1, [0.5, 9.2, 10.1]),
        ([6.5, 9.2, 35.1], 20.2, 10, [10, 10, 10]),
        ([-INF, 0.0, INF, NAN], -1, NAN, [-1, 0.0, INF, NAN]),
        ([-INF, 0.0, INF, NAN], NAN, NAN, [-INF, 0.0, INF, NAN]),
        ([NAN, -INF, 0.0], 3, 2, [2, 2, 2]),
        ([-1.0, -0.0, 0.0, 1.0], 0.0, -0.0, [0.0, -0.0, 0.0, -0.0]),
    ],
)
def test_clip_gives_what_the_draft_says(x, lowest, highest, printed):
    assert_printed(only("Clip", F32, [x, lowest, highest]), printed)


@pytest.mark.satisfies("Clip.draft.int.function")
@pytest.mark.parametrize(
    ("lowest", "highest", "printed"), [(0, 10, [0, 9, 10]), (20, 10, [10] * 3)]
)
def test_clip_of_integers_is_that_of_real_numbers(lowest, highest, printed):
    assert only("Clip", I8, [[-6, 9, 35], lowest, highest]).tolist() == printed


@pytest.mark.satisfies("Exp.draft.float.largest")
@pytest.mark.parametrize(
    ("dtype", "largest", "is_finite"),
    [(F16, 11.09375, False), (F32, 88.72283935546875, False), (F64, 709.782712893384, True)],
)
def test_exponential_of_the_printed_bound(dtype, largest, is_finite):
    assert np.isfinite(only("Exp", dtype, [largest])) == is_finite


@pytest.mark.satisfies("Abs.draft.uint.function")
def test_unsigned_integer_is_its_own_magnitude():
    assert only("Abs", U8, [[0, 128, 255]]).tolist() == [0, 128, 255]


@pytest.mark.satisfies("Max.draft.result")
@pytest.mark.parametrize("dtype", [F32, I8])
def test_largest_have_the_common_shape(dtype):
    found = only("Max", dtype, [[[1], [5]], [2, 3, 4], 3])
    assert found.tolist() == [[3, 3, 4], [5, 5, 5]]


@pytest.mark.satisfies(
    "Abs.draft.shape Acos.draft.float.shape Exp.draft.float.shape LeakyRelu.draft.float.shape",
    "Log.draft.float.shape Neg.draft.shape Relu.draft.shape Sigmoid.draft.float.shape",
    "Sin.draft.float.shape Sqrt.draft.float.shape Tanh.draft.float.shape",
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (1, 2, 3)])
@pytest.mark.parametrize(
    ("operator", "dtype"),
    [
        *((name, F32) for name in ("Abs", "Acos", "Exp", "LeakyRelu", "Log", "Neg", "Relu")),
        *((name, F32) for name in ("Sigmoid", "Sin", "Sqrt", "Tanh")),
        *((name, I8) for name in ("Abs", "Neg", "Relu")),
    ],
)
def test_result_has_the_shape_of_the_operand(operator, dtype, shape):
    assert only(operator, dtype, [np.ones(shape)]).shape == shape

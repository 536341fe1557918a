"""The examples that drafts of the working group print, and the shapes of results."""

import numpy as np
import pytest

from sonnx_ort.meaning import meaning
from sonnx_ort.vectors.documents import EXAMPLES
from support.meanings import Verdict, verdicts

INF, NAN = np.inf, np.nan
F16, F32, F64, I8, U8, I32 = np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32


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
    "Tanh.draft.examples Where.draft.examples LeakyRelu.draft.examples Softmax.draft.examples",
    "Softmax.draft.float.function Softmax.draft.float.masked Softmax.draft.float.nan",
    "Softmax.draft.float.shape Clip.draft.examples Clip.draft.int.function",
    "Needs.AI-011 Needs.BOSCH-003",
)
@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"{n}-{e.operator}-{e.stands}" for n, e in enumerate(EXAMPLES)]
)
def test_example_has_the_printed_numbers(example):
    """They are right as they are printed, or the nearest number rounded to their digits."""
    results = example.applied.meaning[: len(example.printed)]
    for result, numbers in zip(results, example.printed, strict=True):
        printed = np.array(numbers, result.nearest.dtype)
        assert example.applied.broken_rules or not result.undefined.any()
        if example.rounded:
            np.testing.assert_allclose(result.nearest, printed, rtol=example.rounded)
        else:
            assert not result.outside(printed).any()


def test_examples_are_rounded_as_few_digits_need_it():
    """A difference of more than half a unit of the last digit would hide a wrong number."""
    found = {(e.operator, e.rounded) for e in EXAMPLES if e.rounded}
    assert found == {
        ("BatchNormalization", 2e-4),
        ("BatchNormalization", 5e-5),
        ("DequantizeLinear", 2e-7),
        ("Div", 5e-5),
        ("Log", 5e-7),
        ("Softmax", 2e-7),
        ("Softmax", 3e-4),
    }


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
    "Clip.draft.float.crossed Clip.draft.float.function Clip.draft.float.nan",
    "Clip.draft.float.zeros Clip.draft.shape",
)
@pytest.mark.parametrize(
    ("x", "lowest", "highest", "printed"),
    [
        ([NAN, -INF, 0.0], 3, 2, [2, 2, 2]),
        ([-1.0, -0.0, 0.0, 1.0], 0.0, -0.0, [0.0, -0.0, 0.0, -0.0]),
    ],
)
def test_clip_gives_what_the_draft_says(x, lowest, highest, printed):
    assert_printed(only("Clip", F32, [x, lowest, highest]), printed)


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

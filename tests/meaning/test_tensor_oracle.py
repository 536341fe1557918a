"""The oracle of MatMul, BatchNormalization, Clip, Slice and ArgMax: drafts, by hand, and numpy."""

import numpy as np
import pytest
from restrictions import Violation, outcome

from sonnx_ort.meaning import meaning
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.values import INTEGERS, assert_same_bits, random_pairs

INF, NAN = np.inf, np.nan
FLOAT, INT8 = ElementType.FLOAT, ElementType.INT8


def computed(operator, operands, element_type=FLOAT, **attributes):
    arrays = [None if o is None else np.array(o, element_type.dtype) for o in operands]
    return outcome(operator, arrays, element_type, Edition.TYPED, attributes)


def sliced(x, *cuts):
    """Cut by starts, ends, axes and steps, one of each for an axis."""
    indices = [np.array(column) for column in zip(*cuts, strict=True)]
    return outcome("Slice", [np.array(x), *indices], ElementType.INT64, Edition.TYPED)


@pytest.mark.parametrize(
    ("x", "lowest", "highest", "expected"),
    [
        ([-6.1, 9.5, 35.7], 0, 10, [0, 9.5, 10]),
        ([6.1, 9.5, 35.7], 20, 10, [10, 10, 10]),
        ([-INF, 0, INF, NAN], -1, INF, [-1, 0, INF, NAN]),
        ([-INF, 7, INF], -1, None, [-1, 7, INF]),
        ([-INF, 7, INF], None, 3, [-INF, 3, 3]),
        ([NAN], 1, 2, [NAN]),
    ],
)
def test_clip_takes_the_bound_that_an_element_lies_beyond(x, lowest, highest, expected):
    result = computed("Clip", [x, lowest, highest])
    assert_same_bits(result, np.float32(expected))


def test_clip_of_nan_by_crossed_bounds_breaks_the_rule():
    found = computed("Clip", [[1, NAN], 2, 1])
    assert (found.rule, found.index) == ("Clip.float.C3", (1,))


def test_clip_without_bounds_gives_the_operand():
    assert computed("Clip", [[3, -4]], INT8).tolist() == [3, -4]


@pytest.mark.satisfies("Slice.draft.shape", "Slice.draft.elements")
@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ([(0, 4, 0, 1), (1, 6, 1, 2)], [[1, 3, 5], [7, 9, 11], [13, 15, 17], [19, 21, 23]]),
        ([(-1, -6, 0, -2), (0, 1, 1, 1)], [[24], [12], [0]]),
        ([(4, 5, -2, 1), (5, -7, -1, -5)], [[29, 24]]),
        ([(1, 1, 0, 1), (0, 6, 1, 1)], []),
        ([(0, 6, 1, 4), (0, -3, 0, 1)], [[0, 4], [6, 10]]),
    ],
)
def test_slice_takes_every_step_from_the_start_to_before_the_end(cuts, expected):
    assert sliced(np.arange(30).reshape(5, 6), *cuts).tolist() == expected


def test_slice_keeps_every_bit():
    x = np.array([0x7F81, 0xFFFF], np.uint16).view(ElementType.BFLOAT16.dtype)
    indices = [np.array([place]) for place in (-1, -3, 0, -1)]
    result = outcome("Slice", [x, *indices], ElementType.BFLOAT16, Edition.TYPED)
    assert result.view(np.uint16).tolist() == [0xFFFF, 0x7F81]


@pytest.mark.satisfies("ArgMax.draft.shape", "ArgMax.draft.place", "ArgMax.draft.definition")
@pytest.mark.parametrize(
    ("x", "attributes", "expected"),
    [
        ([1, 5, 3, 2], {}, [1]),
        ([[1, 9, 3], [4, 2, 6]], {"axis": 0}, [[1, 0, 1]]),
        ([[1, 9, 3], [4, 2, 6]], {"axis": 1}, [[1], [2]]),
        ([[1, 9, 3], [4, 2, 6]], {"axis": 1, "keepdims": 0}, [1, 2]),
        ([1, 5, 5, 2], {"select_last_index": 0}, [1]),
        ([1, 5, 5, 2], {"select_last_index": 1}, [2]),
        ([[1, 9.5, 3], [4, 2, 6.5]], {"axis": 1}, [[1], [2]]),
        ([[1, INF, 3], [4, 2, 6.5]], {"axis": 1}, [[1], [2]]),
        ([[1, 7, 7, 2]], {"axis": 1}, [[1]]),
        ([[1, 7, 7, 2]], {"axis": 1, "select_last_index": 1}, [[2]]),
        ([[-INF, -4, -2], [-INF] * 3], {"axis": 1}, [[2], [0]]),
        ([0.0, -0.0], {"select_last_index": 1}, [1]),
    ],
)
def test_arg_max_is_a_place_of_the_largest(x, attributes, expected):
    result = computed("ArgMax", [x], **attributes)
    assert_same_bits(result, np.array(expected, np.int64))


@pytest.mark.satisfies("ArgMax.draft.nan")
@pytest.mark.parametrize(
    ("x", "attributes", "expected"),
    [
        ([[1, NAN, 3], [4, 2, 6.5]], {"axis": 1}, [[1], [2]]),
        ([NAN, 1, NAN, 3], {}, [0]),
        ([NAN, 1, NAN, 3], {"select_last_index": 1}, [2]),
    ],
)
def test_arg_max_of_nan_is_its_place_by_the_draft(x, attributes, expected):
    (result,) = meaning("ArgMax", 13, attributes, [np.array(x, np.float32)])
    assert result.nearest.tolist() == expected


@pytest.mark.satisfies("MatMul.draft.int.formula")
@pytest.mark.parametrize("element_type", INTEGERS)
def test_integer_products_are_exact_modulo_two_to_the_width(element_type):
    a, b = (array.reshape(3, 3) for array in random_pairs(element_type, 9))
    wide = a.astype(object) @ b.astype(object)
    bits = np.array(wide % (1 << 8 * a.itemsize), f"u{a.itemsize}")
    assert_same_bits(computed("MatMul", [a, b], element_type), bits.view(element_type.dtype))


@pytest.mark.satisfies("MatMul.draft.formula")
def test_product_is_rounded_once():
    row, column = [[1, 2**-24, 2**-24, 2**-30]], [[1], [1], [1], [1]]
    assert computed("MatMul", [row, column]).tolist() == [[1 + 2**-23]]


@pytest.mark.satisfies("MatMul.draft.shape")
def test_product_of_nothing_is_zero():
    assert computed("MatMul", [np.zeros((2, 0)), np.zeros((0, 3))]).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("row", "column", "expected"),
    [([INF, 1], [0, 1], NAN), ([INF, 1], [1, -INF], NAN), ([INF, 1], [2, 3], INF)],
)
def test_product_of_infinities(row, column, expected):
    result = computed("MatMul", [[row], [[c] for c in column]])
    assert_same_bits(result, np.float32([[expected]]))


@pytest.mark.satisfies("BatchNormalization.draft.formula", "BatchNormalization.draft.shape")
def test_batch_normalization_by_hand():
    vectors = [[2, 4], [1, 1], [1, 1], [3, 3]]
    result = computed("BatchNormalization", [[[1, 5], [-3, 0]], *vectors], epsilon=1.0)
    assert result.tolist() == [[1, 9], [-3, -1]]


@pytest.mark.satisfies("BatchNormalization.draft.error")
def test_batch_normalization_adds_the_epsilon_that_onnx_keeps():
    x, vectors = [[1.0]], [[1.0], [0.0], [0.0], [0.0]]
    result = computed("BatchNormalization", [x, *vectors], ElementType.DOUBLE)
    assert result.tolist() == [[float(1 / np.sqrt(np.longdouble(np.float32(1e-5))))]]


def test_channels_are_along_the_second_axis():
    x = np.ones((1, 2, 3))
    result = computed("BatchNormalization", [x, [1, 2], [0, 0], [0, 0], [3, 3]], epsilon=1.0)
    assert result.tolist() == [[[0.5] * 3, [1.0] * 3]]


@pytest.mark.satisfies("BatchNormalization.draft.examples")
@pytest.mark.parametrize(
    ("x", "vectors", "expected"),
    [
        ([[1, 2], [3, 4]], [[1, 2], [0, 1], [2, 3], [1, 1]], [[-1, -1], [1, 3]]),
        (
            [[3, 4.5], [16, 1], [25.5, 24.25]],
            [[1, 1], [0, 0], [3, 4.5], [4, 2.25]],
            [[0, 0], [6.5, -2.333], [11.25, 13.167]],
        ),
    ],
)
def test_batch_normalization_of_the_drafts_examples(x, vectors, expected):
    result = computed("BatchNormalization", [x, *vectors], epsilon=1e-5)
    np.testing.assert_allclose(result, expected, atol=0.001)


@pytest.mark.satisfies("BatchNormalization.draft.momentum")
def test_momentum_has_no_effect():
    operands = [[[1, 5], [-3, 0]], [2, 4], [1, 1], [1, 1], [3, 3]]
    plain, other = (computed("BatchNormalization", operands, **a) for a in ({}, {"momentum": 0.5}))
    assert_same_bits(plain, other)
    np.testing.assert_allclose(other, [[1, 10.237589], [-3.618794, -1.309397]], rtol=1e-5)


@pytest.mark.satisfies("MatMul.draft.examples")
@pytest.mark.parametrize(("a", "b", "element_type", "expected"), [
    ([[1, 2], [3, 4]], [[5, 6], [7, 8]], FLOAT, [[19, 22], [43, 50]]),
    ([[INF, -INF, NAN], [NAN, INF, -INF]], [[1, 2], [4, 5], [7, 8]], FLOAT,
     [[NAN, NAN], [NAN, NAN]]),
    ([[INF, INF], [NAN, INF]], [[1, 2, 3, 4], [4, 5, 6, 7]], FLOAT, [[INF] * 4, [NAN] * 4]),
    ([[1, 2], [3, 4]], [[5, 6], [7, 8]], ElementType.INT32, [[19, 22], [43, 50]]),
    ([[1, 2], [3, 4], [5, 6]], [[7, 8, 9], [10, 11, 12]], ElementType.INT32,
     [[27, 30, 33], [61, 68, 75], [95, 106, 117]]),
])  # fmt: skip
def test_products_of_the_drafts_examples(a, b, element_type, expected):
    assert_same_bits(
        computed("MatMul", [a, b], element_type), np.array(expected, element_type.dtype)
    )


SQUARE = np.ones((2, 2))


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "violation"),
    [
        ("MatMul", [SQUARE, np.ones((1, 2, 2))], {}, Violation("MatMul.C1")),
        ("MatMul", [np.ones(2), SQUARE], {}, Violation("MatMul.C1")),
        (
            "BatchNormalization",
            [SQUARE, *[[1, 1]] * 3, [0.5, -0.5]],
            {},
            Violation("BatchNormalization.C3", (1,), (-0.5,)),
        ),
        ("Clip", [[1], [0], 2], {}, Violation("Clip.C1")),
        ("Clip", [[1], None, [2]], {}, Violation("Clip.C1")),
        ("ArgMax", [np.ones((2, 0))], {"axis": 1}, Violation("ArgMax.R5")),
        ("Acos", [[0.5, -1.5]], {}, Violation("Acos.float.C1", (1,), (-1.5,))),
    ],
)
def test_broken_rules(operator, operands, attributes, violation):
    assert computed(operator, operands, **attributes) == violation


@pytest.mark.parametrize(
    ("cuts", "tag"),
    [
        ([(0, 4, 0, 1)], "R2"),
        ([(5, 5, 0, 1), (0, 6, 1, 1)], "R8"),
        ([(-6, 5, 0, 1), (0, 6, 1, 1)], "R8"),
        ([(0, 6, 0, 1), (0, 6, 1, 1)], "C2"),
        ([(0, 5, 0, -1), (0, 6, 1, 1)], "C2"),
        ([(0, -6, 0, 1), (0, 6, 1, 1)], "C2"),
        ([(2, 1, 0, 1), (0, 6, 1, 1)], "R6"),
        ([(1, 2, 0, -1), (0, 6, 1, 1)], "R6"),
    ],
)
def test_places_that_a_slice_does_not_admit(cuts, tag):
    place = () if tag == "R2" else ((0,), cuts[0])
    assert sliced(np.zeros((5, 6)), *cuts) == Violation(f"Slice.{tag}", *place)


def test_integer_power_by_a_negative_exponent_is_a_violation():
    found = computed("Pow", [[2, 3], [1, -2]], ElementType.INT32)
    assert found == Violation("Pow.int.C1", (1,), (3, -2))


def test_operator_of_too_few_operands_is_an_error():
    with pytest.raises(ValueError, match=r"^operand 1 is missing$"):
        computed("MatMul", [SQUARE])


def test_first_nan_of_arg_max_breaks_its_rule():
    found = computed("ArgMax", [[[1, 2], [NAN, NAN]]])
    assert (found.rule, found.index) == ("ArgMax.float.C1", (1, 0))
    assert np.isnan(found.values).all()

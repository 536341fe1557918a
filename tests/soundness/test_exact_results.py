"""What the oracle of random graphs takes from the exact oracle, and what becomes of it."""

import numpy as np
import pytest

from sonnx_ort.oracle import enclosure
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.graphs import parse
from support.soundness.evaluator import Evaluation, Missing
from support.soundness.exact_results import Enclosed, exact_result

NAN, INF = np.nan, np.inf
SQUARE = np.float32([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("operator", "places", "attributes", "expected"),
    [
        ("Clip", [np.float32([-1, 9]), np.float32(1), np.float32(3)], {}, [1, 3]),
        ("Cast", [np.float32([2.7e9, -0.5])], {"to": 7}, [2_700_000_000, 0]),
        ("Pow", [np.int32([3]), np.int32([4])], {}, [81]),
        ("ArgMax", [np.float32([1, 7, 7])], {}, [1]),
    ],
)
def test_result_that_is_the_only_one_is_known(operator, places, attributes, expected):
    found = exact_result(operator, places, attributes)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("operator", "places"),
    [
        ("Log", [np.float32([2])]),
        ("MatMul", [SQUARE / np.float32(3), SQUARE]),
        ("MatMul", [SQUARE, np.float32([[2, 0], [-1, 0]])]),
        ("Clip", [np.float32([-1]), np.float32(-0.0), None]),
    ],
    ids=["irrational", "rounded on the way", "zeros of either sign", "a bound that is zero"],
)
def test_result_of_which_others_are_right_too_is_enclosed(operator, places):
    assert isinstance(exact_result(operator, places, {}), Enclosed)


@pytest.mark.parametrize(
    ("operator", "places"),
    [
        ("ArgMax", [np.float32([1, NAN])]),
        ("Clip", [np.int64([5, 3_000_000_000]), np.int64(0), np.int64(9)]),
        ("Clip", [np.float32([INF]), np.float32(0), None]),
        ("MatMul", [np.zeros((2, 0), np.float32), np.zeros((0, 2), np.float32)]),
        ("MatMul", [SQUARE, np.zeros((3, 2), np.float32)]),
        ("BatchNormalization", [SQUARE, *[np.ones(3, np.float32)] * 4]),
        ("Slice", [SQUARE, *(np.array([0, 0]) for _ in range(4))]),
        ("Pow", [np.int32([3]), np.float32([4])]),
    ],
)
def test_nothing_is_said_where_onnx_runtime_is_known_to_do_otherwise_or_refuses(operator, places):
    assert exact_result(operator, places, {}) is None


def test_nothing_that_reads_an_enclosed_result_is_known():
    made = parse("(float[n] x) => (float[n] a, float[n] b) { a = Log(x) b = Identity(a) }")
    x = np.float32([2])
    admitted = enclosure("Log", [x], ElementType.FLOAT, Edition.TYPED)
    evaluation = Evaluation(made, lambda _: [Enclosed(admitted)])
    first, second = evaluation.outputs({"x": x})
    assert isinstance(first, Enclosed)
    assert isinstance(second, Missing)
    assert evaluation.uncertain


def test_what_is_not_known_to_the_bit_in_a_branch_is_not_known_outside():
    made = parse(
        "(bool c, float[n] x) => (float[] a) { a = If (c) <"
        " then_branch = then () => (float[] r) { r = Log(x) },"
        " else_branch = else () => (float[] q) { q = Identity(x) }> }"
    )
    x = np.float32([2])
    admitted = enclosure("Log", [x], ElementType.FLOAT, Edition.TYPED)
    evaluation = Evaluation(made, lambda _: [Enclosed(admitted)])
    (result,) = evaluation.outputs({"c": np.array(True), "x": x})
    assert isinstance(result, Missing)
    assert evaluation.uncertain

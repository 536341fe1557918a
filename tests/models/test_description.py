import numpy as np
import pytest

from sonnx_ort.models import (
    Approximation,
    Classification,
    Outputs,
    Rejection,
    RunViolation,
    StaticViolation,
    describe,
    describe_difference,
)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (Outputs({"C": np.float32([1, 0.5])}), "C = [1, 0.5]"),
        (Outputs({"C": np.float32([np.inf, np.nan, -0.0])}), "C = [inf, nan, -0]"),
        (Outputs({"C": np.int64([-3]), "D": np.array(True)}), "C = [-3]; D = [True]"),
        (Outputs({"C": np.arange(60)}), "C = [0, 1, 2, 3, 4, 5, ... 60 elements]"),
        (
            Outputs({name: np.int8([1]) for name in "CDEFG"}),
            "C = [1]; D = [1]; E = [1]; ... 5 outputs",
        ),
        (
            Rejection((StaticViolation("Div.R1", "first"), StaticViolation("Div.R1", "second"))),
            "rejected: Div.R1 at first, second",
        ),
        (
            Rejection((StaticViolation("Div.R1", "node"), StaticViolation("Div.R4", "node"))),
            "rejected: Div.R1 at node; Div.R4 at node",
        ),
        (
            RunViolation("Div.float.R1", "Div", "node", ((3,), (1,))),
            "refused in the run: Div.float.R1 at node, (3,) against (1,)",
        ),
        (
            RunViolation("Div.int.C1", "Div", "node", ((3,), (3,)), (1,), (-5, 0)),
            "refused in the run: Div.int.C1 at node, -5 and 0 at [1]",
        ),
        (Classification("label", np.zeros(360), 352), "352 of 360 right, before and after"),
        (Approximation({"C": np.float32([1, 0.5])}, 1e-4), "C = [1, 0.5], within 0.0001"),
    ],
)
def test_expectation_in_words(expected, text):
    assert describe(expected) == text


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        (np.float32([1, 2]), np.float32([1, 2]), ""),
        (np.float32([[1, 2], [3, 4]]), np.float32([[1, 2], [0, 0]]), "C[1, 0] = 0, not 3"),
        (np.array(1.0), np.array(np.nan), "C = nan, not 1"),
        (np.float32([1]), np.float64([1]), "C is float64 (1,), not float32 (1,)"),
        (np.int8([1]), np.int8([[1]]), "C is int8 (1, 1), not int8 (1,)"),
    ],
)
def test_difference_in_words(expected, actual, text):
    assert describe_difference("C", expected, actual) == text

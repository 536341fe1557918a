"""How far two values are apart, by measure."""

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.comparing.difference import Measure, differing, largest, same

INF, NAN = np.inf, np.nan
TINY = float(np.finfo(np.float32).smallest_subnormal)


@pytest.mark.parametrize(("dtype", "one", "other", "bits", "ulp", "absolute", "relative"), [
    (np.float32, 1.0, 1.0, 0, 0, 0, 0),
    (np.float32, 1.0, 1 + 2**-23, 1, 1, 2**-23, 2**-23),
    (np.float32, 2.0, 1.0, 1, 2**23, 1, 0.5),
    (np.float32, -TINY, TINY, 1, 2, 2 * TINY, 2),
    (np.float32, 0.0, -0.0, 1, 0, 0, 0),
    (np.float32, 0.0, 1.0, 1, 127 << 23, 1, INF),
    (np.float32, NAN, NAN, 0, 0, 0, 0),
    (np.float32, NAN, 1.0, 1, INF, INF, INF),
    (np.float32, 1.0, NAN, 1, INF, INF, INF),
    (np.float32, INF, INF, 0, 0, 0, 0),
    (np.float32, INF, -INF, 1, 2 * (255 << 23), INF, INF),
    (np.float64, -1.0, -1 - 2**-52, 1, 1, 2**-52, 2**-52),
    (np.float64, INF, -INF, 1, 2.0 * (2047 << 52), INF, INF),
    (np.float16, 1.0, 1 + 2**-10, 1, 1, 2**-10, 2**-10),
    (ml_dtypes.bfloat16, 1.0, 1 + 2**-7, 1, 1, 2**-7, 2**-7),
    (np.int8, -128, 127, 1, 255, 255, 255 / 128),
    (np.int64, -(2**63), 2**63 - 1, 1, 2.0**64, 2.0**64, 2.0),
    (np.uint64, 0, 2**64 - 1, 1, 2.0**64, 2.0**64, INF),
    (np.bool_, True, False, 1, 1, 1, 1),
    (object, "a", "b", 1, 1, 1, 1),
])  # fmt: skip
def test_difference_of_two_elements(  # noqa: PLR0917 - one for each measure
    dtype: type,
    one: object,
    other: object,
    bits: float,
    ulp: float,
    absolute: float,
    relative: float,
) -> None:
    arrays = np.array([one], dtype), np.array([other], dtype)
    found = {measure: largest(*arrays, measure) for measure in Measure}
    assert found == {
        Measure.BITS: bits,
        Measure.ULP: ulp,
        Measure.ABSOLUTE: absolute,
        Measure.RELATIVE: relative,
    }


def test_difference_of_tensors_is_the_largest_and_in_bits_a_count() -> None:
    one, other = np.array([1, 2, 3], np.int32), np.array([1, 4, 8], np.int32)
    assert largest(one, other, Measure.ABSOLUTE) == 5
    assert largest(one, other) == 2


@pytest.mark.parametrize(("one", "other", "found"), [
    (np.ones(2, np.int32), np.ones(3, np.int32), INF),
    (np.ones(2, np.int32), np.ones(2, np.int64), INF),
    (np.ones(2, np.int32), None, INF),
    (None, np.ones(2, np.int32), INF),
    (None, None, 0),
    (np.ones(0, np.int32), np.ones(0, np.int32), 0),
    (np.array(1, np.int32), np.array(1, np.int32), 0),
])  # fmt: skip
def test_values_that_are_not_alike(
    one: np.ndarray | None, other: np.ndarray | None, found: float
) -> None:
    assert largest(one, other, Measure.ABSOLUTE) == found
    assert same(one, other) is (found == 0)


def test_names_of_values_that_differ() -> None:
    expected = {"a": np.ones(1), "b": np.ones(1), "c": None, "d": np.ones(1)}
    found = {"a": np.ones(1), "b": np.zeros(1), "c": None}
    assert differing(found, expected) == ("b", "d")

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.models import Approximation, Classification
from sonnx_ort.models.example import differing_elements, same_elements

QUIET_NAN, OTHER_NAN = (
    np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0xFFC00001)
)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(np.float32([1]), np.float64([1]), id="dtypes"),
        pytest.param(np.int32([1]), np.uint32([1]), id="signedness"),
        pytest.param(np.float32([1]), np.float32(1), id="ranks"),
        pytest.param(np.float32([1]), np.float32([[1]]), id="shapes"),
        pytest.param(np.float32([0.0]), np.float32([-0.0]), id="signs of zero"),
        pytest.param(
            np.float32([1.0]),
            np.float32([np.nextafter(np.float32(1), np.float32(2))]),
            id="last bit",
        ),
        pytest.param(np.float32([np.nan]), np.float32([np.inf]), id="NaN and infinity"),
    ],
)
def test_arrays_differ_in(a, b):
    assert not same_elements(a, b)
    assert not same_elements(b, a)


@pytest.mark.parametrize("dtype", FLOATS)
def test_any_nan_is_any_other(dtype):
    array = np.array([np.nan, 1.0], dtype)
    assert same_elements(array, np.array([-np.nan, 1.0], dtype))


def test_payload_of_a_nan_makes_no_difference():
    assert same_elements(QUIET_NAN, OTHER_NAN)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_array_is_the_same_as_its_copy(dtype, shape):
    array = np.ones(shape, dtype)
    assert same_elements(array, array.copy())


def test_memory_layout_makes_no_difference():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert same_elements(array, np.asfortranarray(array))


def test_differing_elements_are_marked():
    a, b = np.float32([[0.0, 1, np.nan]]), np.float32([[-0.0, 1, np.nan]])
    assert differing_elements(a, b).tolist() == [[True, False, False]]


@pytest.mark.parametrize(
    "predictions", [np.int64([2, 0, 1]), np.float32([[0, 1, 3], [2, 1, 0], [1, 0, 0]])]
)
def test_predictions_are_classes_or_scores(predictions):
    assert Classification("label", np.int64([2, 0, 2]), 2).count(predictions) == 2


@pytest.mark.parametrize(
    ("actual", "distance"),
    [
        (np.float32([1, 2]), 0),
        (np.float32([1.5, 1.75]), 0.5),
        (np.float32([1, -np.inf]), np.inf),
        (np.float32([1, np.nan]), np.nan),
        (np.float64([1, 2]), np.inf),
        (np.float32([[1, 2]]), np.inf),
    ],
)
def test_distance_is_the_largest_difference_of_an_element(actual, distance):
    expected = Approximation({"y": np.float32([1, 2])}, 0.25)
    assert np.array_equal(expected.distance("y", actual), distance, equal_nan=True)


def test_nothing_is_at_no_distance_from_nothing():
    nothing = np.float32([])
    assert Approximation({"y": nothing}, 0.0).distance("y", nothing) == 0

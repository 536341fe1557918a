import ml_dtypes
import numpy as np
import pytest

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

import json

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.models import same_elements, tensor_json

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def through_json(array):
    return tensor_json.decode(json.loads(json.dumps(tensor_json.encode(array), allow_nan=False)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_value_of_a_16_bit_float_survives(dtype):
    array = np.arange(2**16, dtype=np.uint16).view(dtype)
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("dtype", FLOATS)
def test_ends_of_the_range_survive(dtype):
    limits = ml_dtypes.finfo(dtype)
    array = np.array(
        [limits.max, limits.min, limits.smallest_normal, limits.smallest_subnormal, limits.eps],
        dtype,
    )
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_smallest_and_largest_integers_survive(dtype):
    array = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3)])
def test_shape_survives(shape):
    array = np.ones(shape, np.float32)
    assert same_elements(array, through_json(array))


def test_booleans_survive():
    array = np.array([[True, False]])
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_json_lacks_is_a_string(dtype):
    array = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], dtype)
    assert tensor_json.encode(array) == {
        "dtype": np.dtype(dtype).name,
        "shape": [5],
        "data": ["inf", "-inf", "nan", "-0.0", 0.0],
    }


def test_float_is_written_as_the_double_of_the_same_value():
    assert tensor_json.encode(np.float32([0.1]))["data"] == [0.10000000149011612]


def test_number_of_elements_that_does_not_fit_the_shape_is_refused():
    with pytest.raises(ValueError, match="cannot reshape array of size 2 into shape"):
        tensor_json.decode({"dtype": "int8", "shape": [3], "data": [1, 2]})


def test_integer_beyond_the_dtype_is_refused():
    with pytest.raises(OverflowError, match="128 out of bounds for int8"):
        tensor_json.decode({"dtype": "int8", "shape": [1], "data": [128]})

"""Values of every element type that are worth a test, and their comparison bit by bit."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

from sonnx_ort.meaning.numbers import FLOAT_FORMATS, INTEGER_FORMATS
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.vectors.applied import special_values

Array = npt.NDArray[Any]

FLOATS = tuple(t for t in NUMERIC_TYPES if t.family is Family.FLOAT)
INTEGERS = tuple(t for t in NUMERIC_TYPES if t.family is Family.INTEGER)
SIGNED_INTEGERS = tuple(t for t in INTEGERS if INTEGER_FORMATS[t].signed)


def bits_dtype(element_type: ElementType) -> np.dtype[Any]:
    """The unsigned integer dtype of the same width."""
    return np.dtype(f"u{element_type.dtype.itemsize}")


def from_bits(bits: Any, element_type: ElementType) -> Array:
    """Read bit patterns, an array or a nested list, as values of a type."""
    return np.array(bits, bits_dtype(element_type)).view(element_type.dtype)


def all_pairs(values: Array) -> tuple[Array, Array]:
    """Every value against every value, as two tensors of one dimension."""
    return np.repeat(values, values.size), np.tile(values, values.size)


def all_combinations(*values: Array) -> list[Array]:
    """Every value of each with every value of all others, as tensors of one dimension."""
    return [array.ravel() for array in np.meshgrid(*values, indexing="ij")]


def random_pairs(element_type: ElementType, size: int) -> tuple[Array, Array]:
    """Some pairs of bit patterns, the same in every run."""
    generator = np.random.default_rng(20)
    limit = 1 << (8 * element_type.dtype.itemsize)
    dtype = bits_dtype(element_type)
    a, b = (generator.integers(0, limit, size, dtype, endpoint=False) for _ in range(2))
    return a.view(element_type.dtype), b.view(element_type.dtype)


@st.composite
def operands_of(draw: st.DrawFn, *element_types: ElementType) -> tuple[Array, ...]:
    """Tensors of one shape of rank 0 to 5, of special values and of any bit patterns."""
    shape = draw(hypothesis_numpy.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=3))
    return tuple(draw(_tensors(element_type, shape)) for element_type in element_types)


def _tensors(element_type: ElementType, shape: tuple[int, ...]) -> st.SearchStrategy[Array]:
    dtype = bits_dtype(element_type)
    elements = st.sampled_from(special_values(element_type).view(dtype).tolist())
    if element_type is not ElementType.BOOL:
        elements |= st.integers(0, int(np.iinfo(dtype).max))
    bits = hypothesis_numpy.arrays(dtype, shape, elements=elements)
    return bits.map(lambda array: array.view(element_type.dtype))


def assert_same_bits(actual: Array, expected: Array) -> None:
    """Assert equal dtype, shape and bits; where a NaN is expected, any quiet NaN will do."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    # A scalar cannot be indexed by a mask of its elements; one axis more does no harm.
    got, want = (np.atleast_1d(np.asarray(array)) for array in (actual, expected))
    wrong = got.view(bits) != want.view(bits)
    if expected.dtype.kind not in "biu":
        # Looking at a signalling bfloat16 NaN raises the flag of an invalid operation.
        with np.errstate(invalid="ignore"):
            wrong &= ~(np.isnan(want) & _is_quiet_nan(got))
    count = np.count_nonzero(wrong)
    assert count == 0, f"{count} of {wrong.size}: {got[wrong][:9]}, expected {want[wrong][:9]}"


def _is_quiet_nan(array: Array) -> npt.NDArray[np.bool_]:
    element_type = next(t for t in FLOATS if t.dtype == array.dtype)
    dtype = bits_dtype(element_type)
    quiet_bit = dtype.type(1 << (FLOAT_FORMATS[element_type].precision - 2))
    quiet: npt.NDArray[np.bool_] = np.isnan(array) & ((array.view(dtype) & quiet_bit) != 0)
    return quiet

"""The first element outside of a set of numbers is the one that masks of all elements find."""

import math
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sonnx_ort.facts.ranges import Range
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.terms.numbers import FINITE_NUMBERS, NumberSet
from sonnx_ort.vectors.applied import special_values

Array = npt.NDArray[Any]

SETS = {
    "finite": FINITE_NUMBERS,
    "not NaN": NumberSet("NaN", admits_nan=False),
    "not zero": NumberSet("0", admits_zero=False),
    "neither zero nor NaN": NumberSet("0", admits_nan=False, admits_zero=False),
    "not negative, or NaN": NumberSet("negative", lambda _: (0, math.inf)),
    "not positive": NumberSet("positive", lambda _: (-math.inf, -0.0), admits_nan=False),
    "from -1 to 1, or NaN": NumberSet("far", lambda _: (-1, 1)),
    "from a third to 1": NumberSet("far", lambda _: (1 / 3, 1), admits_nan=False),
    "subnormal": NumberSet("far", lambda _: (-(2.0**-149), 2.0**-149), admits_nan=False),
    "within int32": NumberSet("far", lambda _: (-(1 << 31), (1 << 31) - 1)),
    "beyond 8 bits": NumberSet("near", lambda _: (300, 70_000)),
    "nothing": NumberSet("there", lambda _: (5, 3), admits_nan=False),
}

SIZES = (0, 1, 65_535, 65_536, 65_537)
"""Around the size of a block."""


def first_by_masks(numbers: NumberSet, array: Array) -> tuple[int, ...] | None:
    """The index of the first element outside, by comparing all of them."""
    lower, upper = numbers.limits(array.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        masks = [] if lower is None else [array < lower]
        masks += [] if upper is None else [array > upper]
        masks += [] if numbers.admits_nan else [np.isnan(array)]
        masks += [] if numbers.admits_zero else [array == 0]
    if not masks or not np.any(outside := np.asarray(reduce(np.logical_or, masks))):
        return None
    return tuple(int(place) for place in np.argwhere(outside)[0])


@pytest.mark.parametrize("kind", [k for k in ElementType if k.family is not Family.BOOLEAN])
@pytest.mark.parametrize("numbers", SETS.values(), ids=SETS.keys())
def test_first_element_outside_is_that_of_masks(numbers: NumberSet, kind: ElementType) -> None:
    for element in [*special_values(kind), kind.dtype.type(0), kind.dtype.type(1)]:
        for size in SIZES:
            array = np.ones(size, kind.dtype)
            array[size - 1 :] = element
            assert numbers.first_outside(array) == first_by_masks(numbers, array), (element, size)


@pytest.mark.parametrize("numbers", SETS.values(), ids=SETS.keys())
def test_arrays_that_do_not_lie_in_a_row_are_compared(numbers: NumberSet) -> None:
    transposed = np.ones((3, 4), np.float32).T
    transposed[2, 1] = math.nan
    repeated = np.broadcast_to(np.float32([1, 0, -1]), (2, 3))
    for array in (transposed, repeated, np.float32([[1, 2], [0, 4]]), np.array(0.5)):
        assert numbers.first_outside(array) == first_by_masks(numbers, array)


BINDING = {
    "finite": ("float16", "float", "bfloat16"),
    "not NaN": ("float16", "float", "bfloat16"),
    "not zero": ("bool", "int8", "uint64", "float16", "float", "bfloat16"),
    "not negative, or NaN": ("int8", "float16", "float", "bfloat16"),
    "from -1 to 1, or NaN": ("int8", "uint64", "float16", "float", "bfloat16"),
    "within int32": ("uint64", "float16", "float", "bfloat16"),
}
"""The types that have elements outside of a set, of those below."""


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float16", "float", "bfloat16"])
@pytest.mark.parametrize("name", BINDING)
def test_set_binds_the_types_that_have_elements_outside(name: str, kind: str) -> None:
    dtype = ElementType.named(kind).dtype
    assert SETS[name].binds(dtype) is (kind in BINDING[name])


HELD = [
    ("not NaN", Range(0.0, 1.0, nan=False), True),
    ("not NaN", Range(0.0, 1.0, nan=True), False),
    ("not zero", Range(0.0, 1.0, nan=False), False),
    ("not zero", Range(0.5, 1.0, nan=False), True),
    ("not negative, or NaN", Range(0.0, math.inf, nan=True), True),
    ("not negative, or NaN", Range(-0.5, 1.0, nan=False), False),
    ("from -1 to 1, or NaN", Range(-1.0, 1.0, nan=False), True),
    ("from -1 to 1, or NaN", Range(-1.0, 1.5, nan=False), False),
    ("finite", Range(-math.inf, 0.0, nan=False), False),
    ("finite", Range(-3e38, 3e38, nan=False), True),
]


@pytest.mark.parametrize(("name", "known", "held"), HELD)
def test_set_holds_an_interval_whose_numbers_are_all_in_it(
    name: str, known: Range, held: bool
) -> None:
    assert SETS[name].holds_all(known, np.dtype(np.float32)) is held

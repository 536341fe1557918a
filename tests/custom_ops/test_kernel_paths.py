"""Every way through the arithmetic of a kernel, by type, size and memory layout."""

import functools
import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest

from sonnx_ort.custom_ops import arithmetic
from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

BLOCK = arithmetic._BLOCK
Case = tuple[int, str, str, Edition]

SIZES = [0, 1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]
EDITIONS = list(Edition)

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": lambda array: array.copy(),
    "every second element": lambda array: np.repeat(array, 2)[::2],
    "backwards": lambda array: array[::-1].copy()[::-1],
}

SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "one axis": lambda size: (size,),
    "two axes": lambda size: (1, size),
    "columns first": lambda size: (size, 1),
}


@functools.cache
def operands(element_type: ElementType, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Operands that keep all rules of Div: edges of the type, small numbers, and any others."""
    rng = random.Random(f"{element_type} {size}")  # noqa: S311 - no cryptography
    if element_type.dtype.kind == "f":
        edges = [0.0, -0.0, 1.0, -3.0, 0.1, np.inf, -np.inf, np.nan, 1e-300, 1e300]
        with np.errstate(over="ignore"):
            a, b = (np.array(rng.choices(edges, k=size), element_type.dtype) for _ in "ab")
        return a, b
    limits = np.iinfo(element_type.dtype)
    low, high = int(limits.min), int(limits.max)

    def number() -> int:
        edge = rng.choice([low, low + 1, -7, -2, -1, 0, 1, 2, 3, 7, high - 1, high])
        return rng.choice([edge, rng.randint(low, high), rng.randint(-9, 9)])

    pairs: list[tuple[int, int]] = []
    while len(pairs) < size:
        x, y = (min(max(number(), low), high) for _ in "ab")
        if y != 0 and (x, y) != (low, -1):
            pairs.append((x, y))
    a, b = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(a, element_type.dtype), np.array(b, element_type.dtype)


def quotients(a: np.ndarray, b: np.ndarray, edition: Edition) -> np.ndarray:
    """What the documents say, number by number for integers."""
    if a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            divided = np.divide(a, b)
        return np.where(b == 0, np.inf, divided) if edition is Edition.PRELIMINARY else divided
    numbers = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    truncated = [abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1) for x, y in numbers]
    return np.array(truncated, a.dtype).reshape(a.shape)


def differences(a: np.ndarray, b: np.ndarray, edition: Edition) -> np.ndarray:
    """What the documents say: IEEE 754, or modulo 2^n."""
    del edition
    if a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.subtract(a, b)
    modulus = 1 << (8 * a.dtype.itemsize)
    low = int(np.iinfo(a.dtype).min)
    numbers = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([(x - y - low) % modulus + low for x, y in numbers], a.dtype).reshape(a.shape)


EXPECTED = {"Div": quotients, "Sub": differences}

CASES = list(itertools.product(SIZES, SHAPES, LAYOUTS, EDITIONS))


def bits(array: np.ndarray) -> tuple[object, ...]:
    """Type, shape and bits; one NaN is as good as another."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.dtype, array.shape, array.tobytes()


def is_right(name: str, element_type: ElementType, case: Case) -> bool:
    """Whether an operator's arithmetic gives what it should.

    Args:
        name: The operator's name.
        element_type: The type of the operands.
        case: Their size, the names of their shape and layout, and the edition.
    """
    size, shape, layout, edition = case
    a, b = (
        LAYOUTS[layout](operand).reshape(SHAPES[shape](size))
        for operand in operands(element_type, size)
    )
    with np.errstate(all="ignore"):
        result = arithmetic.ARITHMETIC[name](a, b, edition=edition)
    return bits(result) == bits(expected(name, element_type, size, edition).reshape(a.shape))


@functools.cache
def expected(name: str, element_type: ElementType, size: int, edition: Edition) -> np.ndarray:
    """What the documents say of the operands, along one axis."""
    return EXPECTED[name](*operands(element_type, size), edition)


@pytest.mark.parametrize("element_type", KERNEL_TYPES)
@pytest.mark.parametrize("name", EXPECTED)
def test_every_path_of_a_kernel_is_exact(name: str, element_type: ElementType) -> None:
    wrong = [case for case in CASES if not is_right(name, element_type, case)]
    assert wrong == []

"""Arithmetic of intervals contains what floats compute, with subnormal numbers or without."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from sonnx_ort.facts.arithmetic import FORMATS, Format, Terms
from sonnx_ort.facts.ranges import Interval

FLOAT, HALF, DOUBLE = FORMATS["float"], FORMATS["float16"], FORMATS["double"]
DTYPES = [(HALF, np.float16), (FLOAT, np.float32), (DOUBLE, np.float64)]

OPERATIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "sum": (operator.add, 2),
    "difference": (operator.sub, 2),
    "product": (operator.mul, 2),
    "quotient": (operator.truediv, 2),
    "square": (lambda a: a * a, 1),
    "root": (np.sqrt, 1),
}


def ends_of(dtype: type[np.floating[Any]]) -> np.ndarray[Any, Any]:
    """Numbers of both signs around which a type rounds, overflows or underflows."""
    limits = np.finfo(dtype)
    positive = [0, limits.smallest_subnormal, limits.tiny, limits.eps, 1, 3, limits.max, np.inf]
    positive += [float(limits.tiny) / 2, float(limits.max) / 2, math.sqrt(float(limits.tiny))]
    return np.array([sign * number for number in positive for sign in (1, -1)], dtype)


def flushed(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(np.abs(numbers) < np.finfo(numbers.dtype).tiny, 0, numbers).astype(
        numbers.dtype
    )


def assert_within(found: Interval, result: np.ndarray[Any, Any]) -> None:
    missing = np.isnan(result)
    assert found.nan or not missing.any()
    assert (found.lower <= result[~missing]).all()
    assert (result[~missing] <= found.upper).all()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("kind", "dtype"), DTYPES, ids=["float16", "float", "double"])
def test_result_contains_what_is_computed(
    name: str, kind: Format, dtype: type[np.floating[Any]]
) -> None:
    function, count = OPERATIONS[name]
    ends = ends_of(dtype)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for _ in range(500):
            drawn = [np.sort(rng.choice(ends, 2)) for _ in range(count)]
            operands = [kind.flushed(*each.astype(np.float64)) for each in drawn]
            found = getattr(kind, name)(*operands)
            numbers = [rng.choice(each, 8) for each in drawn]
            assert_within(found, function(*numbers))
            assert_within(found, flushed(function(*map(flushed, numbers))))


@pytest.mark.parametrize("scale", [1e-38, 1.0, 1e35, 1e38])
@pytest.mark.parametrize("positive", [True, False])
def test_total_contains_sums_in_any_order(scale: float, positive: bool) -> None:
    rng = np.random.default_rng(1)
    numbers = (rng.uniform(0 if positive else -1, 1, 300) * scale).astype(np.float32)
    magnitude, exact = np.abs(numbers).sum(dtype=np.float64), numbers.sum(dtype=np.float64)
    found = FLOAT.total(Terms(exact, exact, magnitude, numbers.size, positive=positive))
    with np.errstate(all="ignore"):
        for _ in range(20):
            assert_within(found, np.cumsum(rng.permutation(numbers), dtype=np.float32)[-1:])


def test_term_that_is_added_block_by_block_counts_for_all_terms() -> None:
    exact = np.asarray(4096.0)
    terms = Terms(exact, exact, exact, 1000, positive=True)
    found = FLOAT.total(terms.with_term(Interval.of(1e8, 1e8)))
    computed = np.float32(1e8)
    for _ in range(1000):
        computed += np.float32(4.096)
    assert float(computed) == 1.0e8 + 8000
    assert float(computed) in found.whole


@pytest.mark.parametrize(
    ("alpha", "magnitude", "finite"),
    [(0.5, 1e38, True), (1e-20, 1e45, False), (1e20, 1e20, False), (-2.0, 1e37, True)],
)
def test_sum_is_finite_if_it_is_before_and_after_it_is_scaled(
    alpha: float,
    magnitude: float,
    finite: bool,
) -> None:
    ends = np.asarray(-1.0), np.asarray(1.0)
    terms = Terms(*ends, np.asarray(magnitude), 8).scaled(Interval.of(alpha, alpha))
    assert FLOAT.total(terms).whole.finite is finite


def test_terms_that_are_flushed_before_they_are_scaled_are_lost_with_the_sum() -> None:
    """Three subnormal terms and their sum may be 0, and each is 1,000 times as large then."""
    terms = np.asarray(3 * FLOAT.normal)
    made = Terms(terms, terms, terms, 3, positive=False).scaled(Interval.of(1000, 1000))
    found = FLOAT.total(made).whole
    assert found.lower <= 0
    assert found.upper == pytest.approx((3 * 1000 + 4 * 1001) * FLOAT.normal, rel=1e-4)


@pytest.mark.parametrize(
    ("found", "ends"),
    [
        (FLOAT.product(Interval.of(1e-37, 1e-37), Interval.of(1e-9, 1e-9)), (0, FLOAT.normal)),
        (FLOAT.product(Interval.of(1e30, 1e30), Interval.of(1e9, 1e9)), (FLOAT.largest, math.inf)),
        (FLOAT.root(Interval.of(0, 0)), (0, 0)),
        (HALF.number(1e5), (HALF.largest, math.inf)),
    ],
    ids=["underflow", "overflow", "exact", "another type"],
)
def test_result_is_as_wide_as_a_kernel_may_compute(found: Interval, ends: Sequence[float]) -> None:
    assert (found.whole.lower, found.whole.upper) == tuple(ends)


@pytest.mark.parametrize(
    "found",
    [
        FLOAT.sum(Interval.of(0, math.inf), Interval.of(-math.inf, 0)),
        FLOAT.product(Interval.of(0, 1), Interval.of(1, math.inf)),
        FLOAT.product(FLOAT.held(np.asarray(1e-40), np.asarray(1.0)), Interval.of(1, math.inf)),
        FLOAT.quotient(Interval.of(0, 1), Interval.of(0, 1)),
        FLOAT.quotient(Interval.of(1, math.inf), Interval.of(1, math.inf)),
        FLOAT.root(Interval.of(-1, 1)),
    ],
)
def test_result_may_be_nan(found: Interval) -> None:
    assert found.nan

"""Which elements of a result are judged, and what is said of those that have no meaning."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from sonnx_ort.options import choose_demands
from sonnx_ort.runs.audit.audited_node import Audited
from sonnx_ort.runs.audit.judging import judge
from sonnx_ort.runs.audit.verdicts import NodeAudit, Sampling, Verdict

Array = np.ndarray[Any, Any]
F, L = np.float32, np.int64

SIZE = 1000
PLACE = 777
"""Where no sample is taken by chance."""


def judged(
    operator: str,
    operands: Sequence[Array],
    *results: Array,
    samples: int | None = 100,
    **said: Any,
) -> NodeAudit:
    names = [f"x{number}" for number in range(len(operands))]
    outputs = [f"y{number}" for number in range(len(results))]
    node = helper.make_node(operator, names, outputs, "n", **said)
    demands = choose_demands("typed", "reject", "profile")
    return judge(Audited(node, 21, operands, results), demands, Sampling(0, samples))


def planted(place: int, element: float, dtype: Any = F, size: int = 1) -> tuple[Array, Array]:
    """Exact elements, of which others are the smallest and the largest, and a fault among them."""
    exact = np.full(SIZE, size, dtype)
    exact[1:3] = -size, 2 * size
    found = exact.copy()
    found[place] = element
    return exact, found


@pytest.mark.parametrize(
    ("exact", "found"),
    [
        planted(0, 0),
        planted(SIZE - 1, 0),
        planted(PLACE, -9),
        planted(PLACE, 9),
        planted(PLACE, np.nan),
        planted(PLACE, -(2**60) - 1, L, 2**60),
        planted(PLACE, 2**61 + 1, L, 2**60),
    ],
    ids=["first", "last", "smallest", "largest", "no number", "smallest of int64", "of int64"],
)
def test_element_that_stands_out_is_among_few_samples(exact: Array, found: Array) -> None:
    audit = judged("Sub", (exact, np.zeros_like(exact)), found, samples=5)
    assert (audit.verdict, audit.audited) == (Verdict.OUTSIDE, 5)


def test_fault_at_another_place_is_not_among_them() -> None:
    exact = np.arange(SIZE, dtype=F)
    result = exact.copy()
    result[PLACE] += 1
    audit = judged("Sub", (exact, np.zeros_like(exact)), result, samples=5)
    assert (audit.verdict, audit.audited) == (Verdict.EXACT, 5)


def test_all_elements_of_few_are_judged() -> None:
    exact = np.arange(100, dtype=F)
    audit = judged("Sub", (exact, np.zeros_like(exact)), exact)
    assert (audit.elements, audit.audited) == (100, 100)


def test_fewer_elements_are_judged_where_each_reads_many() -> None:
    x, y = np.ones((100, 10_000), F), np.ones((10_000, 2), F)
    audit = judged("MatMul", (x, y), x @ y)
    assert 0 < audit.audited < 20


def test_largest_error_of_several_results_is_told() -> None:
    x = F([1, 2, 3, 4])
    audit = judged("Split", (x,), F([1, 2.5]), F([3, 7]), num_outputs=2)
    assert audit.worst is not None
    assert (audit.worst.result, audit.worst.found) == ("y1", "7")


def test_nothing_is_known_where_nothing_is_defined() -> None:
    audit = judged("Cast", (F([np.nan, np.inf]),), np.int32([0, 0]), to=6)
    assert (audit.verdict, audit.audited, audit.undefined) == (Verdict.NOT_KNOWN, 2, 2)
    assert audit.reason.startswith("nothing is defined: ")


def test_nothing_is_known_of_results_without_any_meaning() -> None:
    """No document says what alpha does to integers."""
    x = np.int32([[1, 2], [3, 4]])
    audit = judged("Gemm", (x, x), 2 * (x @ x), alpha=2.5)
    assert (audit.verdict, audit.audited, audit.undefined) == (Verdict.NOT_KNOWN, 4, 4)
    assert audit.reason == (
        "nothing is defined: no document says what alpha and beta do to integers"
    )


def test_kernel_that_gives_a_shape_too_is_judged_by_its_result() -> None:
    x, y = F([6, 8]), F([3, 2])
    audit = judged("CheckedDiv", (x, y), x / y, np.array([2]), domain="sonnx")
    assert (audit.verdict, audit.audited) == (Verdict.EXACT, 2)

"""Operators whose operands have shapes or results of their own, against the oracle."""

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support import ort_values
from support.conformity import assert_admitted
from support.oracle_cases import TYPES_OF, Case, cases
from support.sessions import on_one_thread

CASES = 12
QUICK = (ElementType.FLOAT, ElementType.INT64, ElementType.BOOL)
"""The types of which no operator waits for the thorough tests."""

BACKENDS = pytest.mark.parametrize("backend", ["python", "native"])
EACH = pytest.mark.parametrize(
    ("operator", "element_type"),
    [
        pytest.param(name, kind, marks=() if kind in QUICK else pytest.mark.thorough)
        for name in ("MatMul", "BatchNormalization", "Clip", "Slice", "ArgMax", "Cast")
        for kind in TYPES_OF[name]
    ],
)


def run(case: Case, backend: str) -> np.ndarray:
    options = on_one_thread("none")
    session = sonnx_ort.InferenceSession(case.model(), options, backend=backend, operators="all")
    (result,) = ort_values.run(session, case.feeds)
    return result


@EACH
@BACKENDS
def test_results_are_admitted(operator: str, element_type: ElementType, backend: str) -> None:
    tried = 0
    for case in cases(operator, element_type, CASES):
        assert_admitted(run(case, backend), case.admitted)
        tried += 1
    assert tried > CASES // 2


def test_every_operator_that_is_not_elementwise_is_tried() -> None:
    assert {name for name, o in OPERATORS.items() if not o.elementwise} - {"Broadcast"} < set(
        TYPES_OF
    )

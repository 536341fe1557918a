"""Operators whose operands have shapes or results of their own, against the oracle."""

import numpy as np
import pytest

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support import ort_values
from support.backends import BACKENDS
from support.conformity import assert_admitted
from support.meaning_cases import SORTS
from support.operator_cases import OPERATOR_CASES
from support.oracle_cases import Case, cases
from support.sessions import enforced

CASES = 12
QUICK = (ElementType.FLOAT, ElementType.INT64, ElementType.BOOL)
"""The types of which no operator waits for the thorough tests."""

EACH = pytest.mark.parametrize(
    ("operator", "element_type"),
    [
        pytest.param(name, kind, marks=() if kind in QUICK else pytest.mark.thorough)
        for name, case in sorted(OPERATOR_CASES.items())
        if case.random and (name == "Cast" or not OPERATORS[name].elementwise)
        for kind in case.kernels
    ],
)


def run(case: Case, backend: str) -> np.ndarray:
    (result,) = ort_values.run(enforced(case.model(), backend), case.feeds)
    return result


@EACH
@BACKENDS
def test_results_are_admitted(operator: str, element_type: ElementType, backend: str) -> None:
    tried = 0
    for case in cases(operator, element_type, CASES):
        assert_admitted(run(case, backend), case.meaning)
        tried += 1
    assert tried > CASES // 2


def test_every_operator_is_tried_here_or_with_what_it_means() -> None:
    tried = {operator for operator, _ in (each.values for each in EACH.args[1])}
    others = {name for name in OPERATORS if OPERATORS[name].elementwise} | set(SORTS)
    assert OPERATORS.keys() == tried | others | {"Broadcast"}

"""Runs of natively rewritten models of which is known how they end."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import onnx
from restrictions import Violation, outcome

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.models import Case, Example, Outputs, Rejection, RunViolation, same_elements
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family, smallest_value
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.graphs import binary_model
from support.plain_runs.run import Array, Failure, Outcome, Run, failure_in
from support.values import all_pairs

_NODE = "the_node"


def operator_runs() -> Iterator[Run]:
    """Both operators, in both editions, in all types: special values, and each violation."""
    for operator in ("Div", "Sub"):
        for element_type in NUMERIC_TYPES:
            for edition in Edition:
                for kind, (a, b) in _operands(operator, element_type).items():
                    yield Run(
                        f"{operator} {element_type} {edition}, {kind}",
                        partial(_enforced_node, operator, element_type, edition),
                        {"A": a, "B": b},
                        _expected_of_node(operator, a, b, element_type, edition),
                    )


def _operands(operator: str, element_type: ElementType) -> dict[str, tuple[Array, Array]]:
    a, b = all_pairs(special_values(element_type))
    chosen = {"of unequal shape": (a[:3], b[:1])}
    if operator == "Sub" or element_type.family is Family.FLOAT:
        return chosen | {"special values": (a, b)}
    overflows = np.zeros(a.shape, bool)
    if element_type.dtype.kind == "i":
        overflows = (a == smallest_value(element_type)) & (b == -1)
        chosen["smallest by -1"] = (a[overflows], b[overflows])
    defined = (b != 0) & ~overflows
    return chosen | {"special values": (a[defined], b[defined]), "by zero": (a[-3:], b[-3:] * 0)}


@cache
def _enforced_node(operator: str, element_type: ElementType, edition: Edition) -> onnx.ModelProto:
    model = binary_model(operator, element_type, [None], [None], node=_NODE)
    return sonnx_ort.rewrite(model, edition=edition, backend="native")


def _expected_of_node(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> dict[str, Array] | Failure:
    found = outcome(operator, (a, b), element_type, edition)
    if isinstance(found, Violation):
        return Failure(operator, _NODE, found.rule)
    return {"C": found}


def bundled_runs() -> list[Run]:
    """One run for each case of the manifest that is not rejected before it runs."""
    return [
        Run(name_of(example, case), partial(enforced, example, case), case.inputs, _expected(case))
        for example in models.examples()
        for case in (case.with_runtime(None) for case in example.cases)
        if not isinstance(case.expected, Rejection)
    ]


def name_of(example: Example, case: Case) -> str:
    return f"{example.name}, {case.name}"


def enforced(example: Example, case: Case) -> onnx.ModelProto:
    return sonnx_ort.rewrite(
        models.load(example.name),
        edition=case.edition,
        broadcast=case.broadcast,
        operators=case.operators,
        backend="native",
    )


def _expected(case: Case) -> Mapping[str, Any] | Failure:
    match case.expected:
        case Outputs(values):
            return values
        case RunViolation() as violation:
            return Failure(violation.operator, violation.node, violation.rule)
        case _:
            return {}


def assert_as_expected(run: Run, ended: Outcome) -> None:
    """Hold how a run ended to what is expected of it: the bits, or the operator, node and rule."""
    if isinstance(run.expected, Failure):
        assert isinstance(ended, str), f"not refused: {ended}"
        assert failure_in(ended) == run.expected
        return
    assert isinstance(ended, dict), ended
    for name, expected in run.expected.items():
        assert same_elements(expected, ended[name]), (expected, ended[name])


BUNDLED = {run.name: run for run in bundled_runs()}
"""The cases of the bundled models that are not rejected before they run."""

OPERATORS = {run.name: run for run in operator_runs()}
"""Div and Sub of every type, of special values and violations."""

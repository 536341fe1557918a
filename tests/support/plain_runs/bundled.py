"""The bundled models, rewritten to standard operators."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import onnx

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.models import (
    Approximation,
    Case,
    Classification,
    Example,
    Outputs,
    Rejection,
    RunViolation,
)
from support.plain_runs.run import Failure, Run


def bundled_runs() -> list[Run]:
    """One run for each case of the manifest that is not rejected before it runs."""
    return [
        Run(_name(example, case), partial(_enforced, example, case), case.inputs, _expected(case))
        for example in models.examples()
        for case in (case.with_runtime(None) for case in example.cases)
        if not isinstance(case.expected, Rejection)
    ]


def network_runs() -> list[tuple[Run, Run, Classification | Approximation]]:
    """Each network: the model as it is and rewritten, both not optimized, and what is expected."""
    return [
        (
            Run(f"{name}, as it is", partial(models.load, example.name), case.inputs, {}, False),
            Run(f"{name}, rewritten", partial(_enforced, example, case), case.inputs, {}, False),
            case.expected,
        )
        for example in models.examples()
        for case in example.cases
        for name in [_name(example, case)]
        if isinstance(case.expected, Classification | Approximation)
    ]


def _name(example: Example, case: Case) -> str:
    return f"{example.name}, {case.name}"


def _enforced(example: Example, case: Case) -> onnx.ModelProto:
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

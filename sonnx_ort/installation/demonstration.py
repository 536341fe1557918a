"""Runs every bundled model, and compares what happens with its manifest."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt
import onnxruntime

from sonnx_ort import models
from sonnx_ort.analysis.report import ModelRejected
from sonnx_ort.backends import Backend, is_installed
from sonnx_ort.errors import ContractViolation
from sonnx_ort.models import (
    Approximation,
    Case,
    Classification,
    Example,
    Expectation,
    Outputs,
    Rejection,
    RunViolation,
    StaticViolation,
    describe,
    describe_difference,
    same_elements,
)
from sonnx_ort.ort.session import InferenceSession
from sonnx_ort.ort.session_options import FATAL

Array = npt.NDArray[Any]


class Verdict(enum.StrEnum):
    """The outcome of comparing a case with the manifest."""

    KEPT = "kept"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    """One case of one bundled model.

    Attributes:
        model: The name of the model.
        case: The name of the case.
        shows: What the model shows, in one sentence.
        expected: The result in the manifest.
        got: The actual result.
        verdict: Whether the two are equal.
        short: Whether the error has neither shapes nor values, because the backend gives none and
            the python backend, which adds them, is not installed.
    """

    model: str
    case: str
    shows: str
    expected: str
    got: str
    verdict: Verdict
    short: bool = False

    @property
    def kept(self) -> bool:
        """Whether the actual result is the expected one."""
        return self.verdict is Verdict.KEPT


@dataclass(frozen=True, slots=True)
class Failure:
    """An unexpected error.

    Attributes:
        reason: What went wrong.
    """

    reason: str


Observation = Expectation | Failure
"""The actual result of a case, in the terms of the manifest."""


def demonstrate(backend: Backend = Backend.PYTHON) -> Iterator[Row]:
    """Rewrite and run every bundled model, case by case, in the order of the manifest.

    Yields:
        One row per case. An unexpected error gives a row with the verdict "failed".
    """
    for example in models.examples():
        for case in example.cases:
            yield run_case(example, case, backend)


def run_case(example: Example, case: Case, backend: Backend = Backend.PYTHON) -> Row:
    """Rewrite and run one case of a bundled model."""
    case = case.with_runtime(onnxruntime.__version__ if backend is Backend.PYTHON else None)
    observed, expected = observe(example, case, backend), case.expected
    short = isinstance(observed, RunViolation) and not observed.shapes
    if short and isinstance(expected, RunViolation) and not is_installed(Backend.PYTHON):
        expected = replace(expected, shapes=(), index=None, values=None)
    kept = agrees(expected, observed)
    return Row(
        example.name,
        case.name,
        example.shows,
        describe(case.expected),
        _describe_observation(case.expected, observed),
        Verdict.KEPT if kept else Verdict.FAILED,
        short and expected != case.expected,
    )


def observe(example: Example, case: Case, backend: Backend) -> Observation:
    """Rewrite and run one case of a bundled model, and return the actual result."""
    try:
        return _run(example, case, backend)
    except ModelRejected as error:
        violations = error.report.violations
        return Rejection(tuple(StaticViolation(v.rule.id, v.node) for v in violations))
    except ContractViolation as error:
        return RunViolation(
            error.rule, error.operator, error.node, error.shapes or (), error.index, error.values
        )
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is a row of the table
        return Failure(f"{type(error).__name__}: {error}")


def agrees(expected: Expectation, observed: Observation) -> bool:
    """Whether the actual result of a case is the expected one."""
    match expected, observed:
        case Outputs(values), Outputs(computed):
            return values.keys() == computed.keys() and all(
                same_elements(value, computed[name]) for name, value in values.items()
            )
        case Rejection(violations), Rejection(found):
            return sorted(violations) == sorted(found)
        case RunViolation(), RunViolation():
            return expected == observed
        case Classification(correct=correct), Classification(correct=counted):
            return correct == counted
        case Approximation(), Approximation():
            # It is a `Failure` that is observed beyond the tolerance.
            return True
        case _:
            return False


def _run(example: Example, case: Case, backend: Backend) -> Observation:
    """What a case gives, in the form in which its expectation is stated."""
    session = InferenceSession(
        models.path(example.name),
        _options(case),
        edition=case.edition,
        broadcast=case.broadcast,
        operators=case.operators,
        backend=backend,
    )
    outputs = _outputs(session, case)
    match case.expected:
        case Outputs(values):
            return Outputs({name: outputs[name] for name in values if name in outputs})
        case Classification(output, labels) as expected:
            counted = Classification(output, labels, expected.count(outputs[output]))
            return _change(example, case, outputs) or counted
        case Approximation(values, tolerance) as expected:
            for name in values:
                if not (distance := expected.distance(name, outputs[name])) <= tolerance:
                    return Failure(f"{name} is off by {distance:g}")
            return _change(example, case, outputs) or expected
        case _:
            return Outputs(outputs)


def _change(example: Example, case: Case, outputs: Mapping[str, Array]) -> Failure | None:
    """Compare the outputs with those of the model before the rewrite, bit by bit."""
    session = onnxruntime.InferenceSession(models.path(example.name), _options(case))
    for name, before in _outputs(session, case).items():
        if difference := describe_difference(name, before, outputs[name]):
            return Failure(f"the rewrite changes an output: {difference}")
    return None


def _outputs(session: onnxruntime.InferenceSession, case: Case) -> dict[str, Array]:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(case.inputs)), strict=True))


def _options(case: Case) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    if isinstance(case.expected, Classification | Approximation):
        # Optimizers round differently where they fuse, so there are no same bits to compare.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Violations are expected; ONNX Runtime would print each to standard error.
    options.log_severity_level = FATAL
    return options


def _describe_observation(expected: Expectation, observed: Observation) -> str:
    """The actual result as text; for outputs that are not as expected, the differences."""
    match expected, observed:
        case _, Failure(reason):
            return reason
        case Outputs(values), Outputs(computed) if not agrees(expected, observed):
            found = [
                describe_difference(name, value, computed[name])
                if name in computed
                else f"there is no output {name}"
                for name, value in values.items()
            ]
            return "; ".join(filter(None, found))
        case _:
            return describe(observed)

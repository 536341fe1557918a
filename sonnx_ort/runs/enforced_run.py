"""A run of a model with the profile enforced, in a process that it may end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime

from sonnx_ort.analysis.report import ModelRejected
from sonnx_ort.api.rewriting import rewrite
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice
from sonnx_ort.loading.source import read
from sonnx_ort.ort.feeds import GraphInput, as_declared, run_on_values
from sonnx_ort.ort.session import InferenceSession
from sonnx_ort.ort.session_options import FATAL
from sonnx_ort.profile.contract import Contract
from sonnx_ort.runs.input_shapes import Sizes
from sonnx_ort.runs.inputs import Inputs, complete
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns
from sonnx_ort.runs.limits import Limits
from sonnx_ort.runs.value_files import Value

Choices = Mapping[str, Any]
"""The options of a session."""


@dataclass(frozen=True, slots=True)
class Started:
    """What is known of a session once it has started.

    Attributes:
        inputs: The inputs of its model.
        contract: What their values may be.
    """

    inputs: Sequence[GraphInput]
    contract: Contract


def run_enforced(  # noqa: PLR0913, PLR0917 - a model, and each thing that is said of its run
    model: Path,
    given: Mapping[str, Value],
    seed: int,
    sizes: Sizes,
    choices: Choices,
    limits: Limits,
) -> tuple[Inputs, dict[str, Value]]:
    """Run a model once.

    Returns:
        Its inputs, random where they are not given, and its outputs.

    Raises:
        ModelRejected: The model violates the profile in every run.
        ContractViolation: The run violates a rule of the profile.
        SonnxError: The model or an input cannot be used, or the run fails, ends the process or
            exceeds its limits.
    """
    with IsolatedRuns(limits) as runs:
        started: Started = _done(runs.attempt(start, model, choices), model, choices)
        tensors = as_declared(started.inputs, given)
        source, contract = read(model), started.contract
        inputs = complete(source, tensors, runs, seed=seed, sizes=sizes, contract=contract)
        outcome = runs.attempt(outputs_of, model, choices, inputs.arrays)
        outputs: dict[str, Value] = _done(outcome, model, choices)
    return inputs, outputs


def _done(outcome: Any, model: Path, choices: Choices) -> Any:
    """The outcome; raises why there is none, for a rejected model with its report."""
    if outcome is REJECTED:
        # The other process cannot send a report, which has functions.
        rewrite(model, **{name: each for name, each in choices.items() if name != "verify_proofs"})
        raise SonnxError("the model is rejected by a session, and not by rewrite")
    if isinstance(outcome, Failed):
        finding = "; `sonnx-ort reduce --dies` finds the node that ends it" if outcome.died else ""
        raise SonnxError(Advice("the model does not run: ", outcome.reason, finding))
    return outcome


REJECTED = None
"""Stands for a model that is rejected."""

_kept: dict[str, InferenceSession] = {}
"""The session of the other process."""


def start(model: Path, choices: Choices) -> Started | None:
    """Start a session here, in the process that runs models; None if the model is rejected.

    Raises:
        Exception: It does not start.
    """
    options = onnxruntime.SessionOptions()
    # The error has the full message; ONNX Runtime would log it again.
    options.log_severity_level = FATAL
    try:
        session = InferenceSession(model, options, **choices)
    except ModelRejected:
        return REJECTED
    _kept[str(model)] = session
    return Started(session.graph_inputs, session.contract)


def outputs_of(model: Path, choices: Choices, feeds: Mapping[str, Any]) -> dict[str, Value] | None:
    """The outputs of the session that `start` started; of a new one if the process has ended since.

    Raises:
        Exception: The run fails.
    """
    if str(model) not in _kept and start(model, choices) is REJECTED:
        return REJECTED
    session = _kept[str(model)]
    return run_on_values(session, [output.name for output in session.get_outputs()], feeds)

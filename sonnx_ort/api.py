"""The public functions `check` and `rewrite`."""

import datetime as dt
import os
import warnings
from pathlib import Path
from typing import Unpack, overload

import onnx
import onnx_ir as ir

from sonnx_ort import pipeline
from sonnx_ort.arguments import checked_arguments
from sonnx_ort.backends import BackendChoice, require_runnable
from sonnx_ort.errors import BackendUnavailable, SonnxError
from sonnx_ort.files import files_of, refuse_inputs
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.obligations.contracts import ContractSource
from sonnx_ort.obligations.report import Report
from sonnx_ort.obligations.waivers import read_waivers
from sonnx_ort.obligations.waiving import waive
from sonnx_ort.options import PROFILE, Choices, OperatorsChoice, RewriteOptions, Waivers
from sonnx_ort.pipeline import Enforced, enforce
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice
from sonnx_ort.unenforced import warn_of_unenforced


@checked_arguments
def check(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    *,
    edition: EditionChoice = "typed",
    broadcast: BroadcastChoice = "reject",
    operators: OperatorsChoice = PROFILE,
    backend: BackendChoice = None,
    waivers: Waivers = (),
    contract: ContractSource = NO_CONTRACT,
    forecast: bool = True,
    record: str | os.PathLike[str] | None = None,
) -> Report:
    """Analyze a model: for every rule at every node, find whether it holds in every run, and why.

    The model is not run: only small nodes of integers that depend on constants alone are evaluated.
    No weights are loaded, unless a contract or `Graph.finite` asks for what follows from them. The
    report is about the whole profile unless `operators` names less.
    `rewrite` with the same operators rejects a model exactly if this report has violations; by
    default it enforces Div and Sub alone, and `Obligation.refused` says which violations make it
    reject the model then. `Obligation.mendable` says which ones `conform` fixes, and
    `Obligation.rounding` for which it has to be asked to round. The report of a rewritten model is
    that of its original, with what `conform` and `make_explicit` changed.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject" or "explicit".
        operators: The operators to look at, as for `rewrite`; the whole profile by default.
        backend: What enforces them, as for `rewrite`. Some rules exist only because older kernels
            of ONNX Runtime are wrong. For "python" they are proved if no such version is
            installed; for "native" they are not, because any version may run the model.
        waivers: The accepted violations: a TOML file, or waivers. `rewrite` needs the same waivers
            to accept them.
        contract: What inputs and other values may be, as for `rewrite`: what follows from it is
            proved.
        forecast: Whether to find out what `conform` fixes. Where something is violated, that takes
            several times as long as the rest.
        record: A file to write: an evidence record of the model and the report, in CycloneDX 1.6,
            which `verify` reads. The model must be given as a path.

    Raises:
        InvalidModel: The model is not a readable, valid ONNX model.
        SonnxError: An option is unknown, the model was rewritten with the other edition, a waiver
            is unusable or matches no violation, or the record cannot be written.
    """
    if record is not None and not isinstance(model, str | os.PathLike):
        raise SonnxError("a record needs a model file; give the path of the model")
    given = read_waivers(waivers)
    if record is not None:
        refuse_inputs(Path(record), files_of(waivers, contract))
    choices = Choices.of(edition, broadcast, operators, backend, contract=contract)
    report = pipeline.check(model, choices, forecast=forecast)
    (waived,) = waive([report], given, dt.date.today())
    if record is not None and isinstance(model, str | os.PathLike):
        from sonnx_ort.evidence.making import record_check

        record_check(Path(model), waived, Path(record))
    return waived


# Its order matters: protocol buffers have an untyped base, so they pass for anything.
@overload
def rewrite(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto, **options: Unpack[RewriteOptions]
) -> onnx.ModelProto: ...
@overload
def rewrite(model: ir.Model, **options: Unpack[RewriteOptions]) -> ir.Model: ...
@checked_arguments
def rewrite(model: ModelSource, **options: Unpack[RewriteOptions]) -> onnx.ModelProto | ir.Model:
    """Rewrite a model so that each run enforces the profile.

    By default this covers every Div and Sub; `operators` selects others. It covers the main graph,
    the subgraphs of If, Loop and Scan at any depth, and model-local functions, which are inlined if
    they contain such a node. Names of inputs and outputs, other nodes and metadata are kept.
    Rewriting a rewritten model with the same options changes nothing.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        **options: See `RewriteOptions`.

    Warns of a model that this installation cannot run, for want of the compiled kernels, and
    without `operators` of a model with other operators that have rules.

    Returns:
        The rewritten model: an `onnx_ir.Model` if one was given, otherwise an `onnx.ModelProto`.
        External data of a model given as a path is loaded into it, as `onnx.load` does; that of a
        model object stays external.

    Raises:
        ModelRejected: The model violates the profile in every run; its report lists where.
        InvalidModel: The model is not a readable, valid ONNX model, or has nodes of the enforced
            operators that `rewrite` does not make.
        SonnxError: An option has an unknown value, the model was rewritten with the other edition,
            natively for fewer operators, or with the python backend and another is named, or a
            waiver has expired or has no effect.
    """
    choices = Choices.of(**options)
    with collector_paused():
        enforced = enforce(model, choices)
        warn_unless_runnable(enforced)
        warn_of_unenforced(enforced)
        return enforced.model if isinstance(model, ir.Model) else enforced.to_complete_proto()


def warn_unless_runnable(enforced: Enforced) -> None:
    """Warn the caller of a public function of a model that others may run, but not this process."""
    try:
        require_runnable(enforced.backend)
    except BackendUnavailable as error:
        warnings.warn(str(error), stacklevel=4)

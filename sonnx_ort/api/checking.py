"""The public function `check`."""

import datetime as dt
import os
from pathlib import Path

from sonnx_ort import pipeline
from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import read_waivers
from sonnx_ort.analysis.waiving import waive
from sonnx_ort.backends import BackendChoice
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.loading.saving import check_place, files_of, refuse_inputs
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.options import PROFILE, Choices, OperatorsChoice, Waivers
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice


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
    cache: str | os.PathLike[str] | None = None,
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
        cache: A folder of reports and rewritten models, which is made if there is none: what
            another call has computed of the same is read from it. Whoever can write it can forge
            them. With a record, nothing is read from it.

    Raises:
        InvalidModel: The model is not a readable, valid ONNX model.
        SonnxError: An option is unknown, the model was rewritten with the other edition, a waiver
            is unusable or matches no violation, or the record or the cache cannot be written.
    """
    if record is not None and not isinstance(model, str | os.PathLike):
        raise SonnxError("a record needs a model file; give the path of the model")
    given = read_waivers(waivers)
    if record is not None:
        check_place(Path(record))
        refuse_inputs(Path(record), files_of(waivers, contract))
    choices = Choices.of(edition, broadcast, operators, backend, contract=contract)
    if cache is None or record is not None:
        report = pipeline.check(model, choices, forecast=forecast)
    else:
        from sonnx_ort.caching.results import kept_report

        report = kept_report(model, choices, forecast=forecast, cache=cache)
    (waived,) = waive([report], given, dt.date.today())
    if record is not None and isinstance(model, str | os.PathLike):
        from sonnx_ort.evidence.making import record_check

        record_check(Path(model), waived, Path(record))
    return waived

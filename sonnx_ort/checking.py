"""`check`: every obligation of a model, proved, left to the run, or violated."""

import datetime as dt
import os
from collections.abc import Iterable
from pathlib import Path

from sonnx_ort.analysis.graph_outline import GraphOutline, outline
from sonnx_ort.analysis.recognition import recognize_enforced_nodes
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import read_waivers
from sonnx_ort.analysis.waiving import waive
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.choice import DEFAULT, choose_demands
from sonnx_ort.loading.process import collector_paused
from sonnx_ort.loading.source import ModelSource, read
from sonnx_ort.profile.options import Demands
from sonnx_ort.recording.cyclonedx import cyclonedx
from sonnx_ort.rewriting.options import Waivers
from sonnx_ort.rewriting.recognition import report_on, restored
from sonnx_ort.rewriting.recorded import check_place_of_record, record_of_check
from sonnx_ort.rewriting.whole_file import write_text


def check(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    waivers: Waivers = (),
    record: str | os.PathLike[str] | None = None,
) -> Report:
    """Find, for every rule at every node, whether it holds in every run, and why.

    Runs nothing but small nodes of integers that depend on constants alone, and loads no weights.
    `rewrite` rejects a model exactly if this report has violations. It tells of all operators of
    the profile, and of each obligation whether `rewrite` enforces it. The report of a model that
    is enforced already is that of the model it was made from.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject" or "explicit".
        operators: The operators that are to be enforced, as for `rewrite`.
        waivers: What violations are tolerated for: a TOML file, or waivers. `rewrite` rejects what
            is waived unless it is given them too.
        record: A file to write: a record of the model and of all that was found, in CycloneDX 1.6,
            which `verify` reads. It takes a model that is given as a path.

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, the model is enforced under the other edition, a waiver is
            unusable or for no violation, or the record cannot be written.
    """
    if record is not None and not isinstance(model, str | os.PathLike):
        raise SonnxError("a record is of files; give the path of the model")
    given = read_waivers(waivers)
    report = examine_model(model, choose_demands(edition, broadcast, operators))
    (waived,) = waive([report], given, dt.date.today())
    if record is not None and isinstance(model, str | os.PathLike):
        record_check(Path(model), waived, Path(record))
    return waived


def record_check(model: Path, report: Report, record: Path) -> None:
    """Write the record of a check.

    Args:
        model: The model's file.
        report: What was found of it, with waivers, of all rules.
        record: The file to write; an existing one is replaced.

    Raises:
        SonnxError: It cannot be written, or the model is not the one that was checked any more.
    """
    source = read(model)
    check_place_of_record(record, source.proto, model)
    if source.sha256 != report.identity.sha256:
        raise SonnxError(f"'{model}' was changed while it was checked; check it again")
    write_text(record, cyclonedx(record_of_check(model, source, report)))


def examine_model(model: ModelSource, demands: Demands) -> Report:
    """Do what `check` does, without waivers.

    Args:
        model: As for `check`.
        demands: What the model is held to.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        return report_on(model, demands)[0]


def check_with_outline(
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
) -> tuple[Report, GraphOutline]:
    """Check a model, and describe the graph that the report speaks of.

    Args:
        model: As for `check`.
        edition: As for `check`.
        broadcast: As for `check`.
        operators: As for `check`.

    Returns:
        The report, and the graph whose nodes bear the names of its obligations.

    Raises:
        SonnxError: As for `check`.
    """
    return examine_with_outline(model, choose_demands(edition, broadcast, operators))


def examine_with_outline(model: ModelSource, demands: Demands) -> tuple[Report, GraphOutline]:
    """Do what `check_with_outline` does.

    Args:
        model: As for `check`.
        demands: What the model is held to.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        report, loaded = report_on(model, demands)
        if restored(loaded) is not None:
            return report, outline(loaded.graph_model)
        enforced = recognize_enforced_nodes(loaded.graph_model, report.edition)
        return report, outline(loaded.graph_model, enforced)

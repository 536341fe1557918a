"""Makes the records of what was checked and of what was rewritten."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import onnx

from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import Waiver, waivers_to_json
from sonnx_ort.analysis.waiving import mark
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.profile.options import Demands
from sonnx_ort.recording.changes import changes
from sonnx_ort.recording.files import external_files, external_locations
from sonnx_ort.recording.record import Analysis, ModelFiles, Record, versions
from sonnx_ort.rewriting.options import Choices
from sonnx_ort.rewriting.recognition import report_on
from sonnx_ort.rewriting.whole_file import check_place


def check_place_of_record(record: Path, proto: onnx.ModelProto, *models: Path) -> None:
    """Find out before anything is written whether a record can have its place.

    Args:
        record: The file to write.
        proto: The model.
        models: The files of the model and of what is made of it.

    Raises:
        SonnxError: A file of the model or a folder has the place, or there is no folder around it.
    """
    check_place(record)
    external = [m.parent / location for m in models for location in external_locations(proto)]
    if record.resolve() in {path.resolve() for path in (*models, *external)}:
        raise SonnxError(f"'{record}' is a file of the model; give the record one of its own")


def record_of_check(path: Path, model: ReadModel, report: Report) -> Record:
    """Make the record of a check.

    Args:
        path: The file of the model.
        model: What was read from it.
        report: What was found, with the waivers.

    Raises:
        SonnxError: The report leaves rules out, or a file cannot be read.
    """
    if report.left_out.rules:
        raise SonnxError("a record tells of all rules; leave out what selects some")
    original = Analysis(model_files(path, model), _document(report))
    return Record(_demanded(report.demands), versions(), original)


def record_of_rewriting(
    source: Path, target: Path, model: ReadModel, content: bytes, choices: Choices
) -> Record:
    """Make the record of a rewriting.

    Args:
        source: The file of the original model.
        target: The file of the rewritten one, which need not be there yet.
        model: What was read from the source.
        content: What the target is to hold; its external data is that of the source.
        choices: How it was rewritten.

    Raises:
        SonnxError: A file cannot be read.
    """
    digest = hashlib.sha256(content).hexdigest()
    made = ReadModel(onnx.load_model_from_string(content), source.parent, digest)
    made_of = {
        "backend": choices.backend.value,
        "make_explicit": str(choices.make_explicit).lower(),
    }
    if choices.waivers:
        made_of["waivers"] = waivers_to_json(choices.waivers)
    original = analyse(source, model, choices.demands, waivers=choices.waivers)
    return Record(
        _demanded(choices.demands) | made_of,
        versions(),
        original,
        analyse(
            target,
            made,
            choices.demands,
            original.files.external,
            waivers=choices.waivers,
        ),
        changes(model.proto, made.proto),
    )


def analyse(
    path: Path,
    model: ReadModel,
    demands: Demands,
    known: Mapping[str, str] = MappingProxyType({}),
    *,
    waivers: Sequence[Waiver] = (),
) -> Analysis:
    """Analyse a model as a record tells of it.

    Args:
        path: Its file, whose name is recorded.
        model: What was read.
        demands: What it is held to.
        known: The digests of external data that are known already, by location.
        waivers: What is not enforced when the model is rewritten, and was when it was.

    Raises:
        SonnxError: As for `check`, or a file cannot be read.
    """
    report, _ = report_on(model, demands, waivers)
    marked = mark(report, waivers, dt.date.today())
    return Analysis(model_files(path, model, known), _document(marked))


def model_files(
    path: Path, model: ReadModel, known: Mapping[str, str] = MappingProxyType({})
) -> ModelFiles:
    """Digest the files of a model.

    Args:
        path: Its file, whose name is recorded.
        model: What was read; its references to external data were checked.
        known: The digests of external data that are known already, by location.

    Raises:
        SonnxError: A file of external data cannot be read.
    """
    folder = path.parent if model.folder is None else model.folder
    return ModelFiles(path.name, model.sha256, external_files(model.proto, folder, known))


def _demanded(demands: Demands) -> dict[str, str]:
    return {
        "edition": demands.edition.value,
        "broadcast": demands.broadcasting.value,
        "operators": ",".join(sorted(demands.operators)),
    }


def _document(report: Report) -> dict[str, object]:
    """A report as its reader has it."""
    document: dict[str, object] = json.loads(json.dumps(report.to_document()))
    return document

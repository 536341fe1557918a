"""Makes the records of checks and rewrites."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import onnx

from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import Waiver, waivers_to_json
from sonnx_ort.analysis.waiving import mark
from sonnx_ort.conforming.bounds import MEASURED_DEVIATION
from sonnx_ort.conforming.rounds import Made
from sonnx_ort.errors import SonnxError
from sonnx_ort.evidence.cyclonedx import cyclonedx
from sonnx_ort.evidence.record import (
    Analysis,
    Document,
    Mending,
    ModelFiles,
    Record,
    changes,
    external_files,
    versions,
)
from sonnx_ort.loading.saving import (
    check_place,
    external_locations,
    folder_of_data,
    same_file,
    write_text,
)
from sonnx_ort.loading.source import ReadModel, read
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import certified_if_asked_for, examine, load
from sonnx_ort.profile.contract import contract_to_json
from sonnx_ort.profile.demands import Demands


def check_place_of_record(
    record: Path, proto: onnx.ModelProto, *models: Path, name: str = "record"
) -> None:
    """Check before any work that a record, or what has this name, can be written to a path.

    Raises:
        SonnxError: The path is a file of the model or a folder, or its folder does not exist.
    """
    check_place(record)
    external = [folder_of_data(m, proto) / p for m in models for p in external_locations(proto)]
    if any(same_file(record, path) for path in (*models, *external)):
        raise SonnxError(f"'{record}' is a file of the model; give the {name} another file")


def record_of_check(path: Path, model: ReadModel, report: Report) -> Record:
    """Make the record of a check.

    Raises:
        SonnxError: The report omits rules, or a file cannot be read.
    """
    if report.left_out.rules:
        raise SonnxError("a record covers all rules; remove the options that select rules")
    original = Analysis(model_files(path, model), _document(report))
    options = _options_of_demands(report.demands) | {"backend": report.backend} | _measured(model)
    return Record(options, versions(), original)


def record_of_rewriting(  # noqa: PLR0913 - both models, and what was found
    source: Path,
    target: Path,
    model: ReadModel,
    report: Report,
    *,
    content: bytes,
    choices: Choices,
    conforming: Sequence[Made] = (),
    certificate: Document | None = None,
) -> Record:
    """Make the record of a rewrite.

    The report covers all operators. The target need not exist yet: `content` is what will be
    written. `conforming` has the changes that were made before it was rewritten.

    Raises:
        SonnxError: A file cannot be read.
    """
    digest = hashlib.sha256(content).hexdigest()
    made = ReadModel(onnx.load_model_from_string(content), source.parent, digest)
    made_of = {
        "backend": choices.backend.value,
        "make_explicit": str(choices.make_explicit).lower(),
    }
    if choices.conform:
        made_of["conform"] = "true"
    if choices.certified:
        made_of["certified"] = "true"
    if choices.waivers:
        made_of["waivers"] = waivers_to_json(choices.waivers)
    original = _analysis(source, model, report, choices.waivers)
    return Record(
        _options_of_demands(choices.demands) | made_of | _measured(model),
        versions(),
        original,
        analyse(target, made, choices, original.files.external),
        changes(model.proto, made.proto),
        mendings(conforming),
        certificate=certificate,
    )


def mendings(conforming: Sequence[Made]) -> tuple[Mending, ...]:
    """The changes of `conform` in the form of a record."""
    return tuple(
        Mending(
            change.title,
            change.rules,
            change.operator,
            change.node,
            change.path,
            tuple(f"{operator} '{name}'" for operator, name in change.added),
        )
        for change in conforming
    )


def analyse(
    path: Path, model: ReadModel, choices: Choices, known: Mapping[str, str] = MappingProxyType({})
) -> Analysis:
    """Examine a model for a record.

    `known` has digests of external data that are already known, by location.

    Raises:
        SonnxError: As for `check`, or a file cannot be read.
    """
    loaded = load(model, choices, to_examine=True)
    examined = certified_if_asked_for(examine(loaded, complete=True))
    return _analysis(path, model, examined.examination.report, choices.waivers, known)


def _analysis(
    path: Path,
    model: ReadModel,
    report: Report,
    waivers: Sequence[Waiver],
    known: Mapping[str, str] = MappingProxyType({}),
) -> Analysis:
    marked = mark(report, waivers, dt.date.today())
    return Analysis(model_files(path, model, known), _document(marked))


def model_files(
    path: Path, model: ReadModel, known: Mapping[str, str] = MappingProxyType({})
) -> ModelFiles:
    """Digest the files of a model.

    The references to external data must have been checked; `known` has digests that are already
    known, by location.

    Raises:
        SonnxError: A file of external data cannot be read.
    """
    folder = path.parent if model.folder is None else model.folder
    return ModelFiles(path.name, model.sha256, external_files(model.proto, folder, known))


def _measured(model: ReadModel) -> dict[str, str]:
    """How far a model was measured to be from the original of which `conform` made it."""
    stated = {entry.key: entry.value for entry in model.proto.metadata_props}
    found = stated.get(MEASURED_DEVIATION)
    return {} if found is None else {MEASURED_DEVIATION.removeprefix("sonnx_ort."): found}


def _options_of_demands(demands: Demands) -> dict[str, str]:
    return {
        "edition": demands.edition.value,
        "broadcast": demands.broadcasting.value,
        "operators": ",".join(sorted(demands.operators)),
        **({"contract": contract_to_json(demands.contract)} if demands.contract else {}),
    }


def _document(report: Report) -> dict[str, object]:
    """A report as JSON readers get it."""
    document: dict[str, object] = json.loads(json.dumps(report.to_document()))
    return document


def record_check(
    model: Path, report: Report, record: Path, audits: Sequence[Document] = ()
) -> None:
    """Write the record of a check, and of audits of the same model.

    The report must have the waivers and all rules; an existing record is replaced.

    Raises:
        SonnxError: It cannot be written, or the model has changed since the check.
    """
    source = read(model)
    check_place_of_record(record, source.proto, model)
    if source.sha256 != report.identity.sha256:
        raise SonnxError(f"'{model}' was changed while it was checked; check it again")
    made = record_of_check(model, source, report)
    write_text(record, cyclonedx(replace(made, audits=tuple(audits))))

"""`verify`: compares a model, and its analysis of today, with a record."""

import datetime as dt
import enum
import hashlib
import inspect
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sonnx_ort.analysis.waiving import recorded_waivers
from sonnx_ort.checker import Rejected
from sonnx_ort.checker import check as check_certificate
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.evidence.cyclonedx import (
    CHANGE,
    NAMESPACE,
    REPORT_OF_ORIGINAL,
    REPORT_OF_REWRITTEN,
    cyclonedx,
    serial_number,
)
from sonnx_ort.evidence.form import ATTACHMENTS, RECORD, Form, misfits
from sonnx_ort.evidence.making import analyse, mendings, model_files
from sonnx_ort.evidence.record import (
    FORMAT,
    Analysis,
    Change,
    Document,
    Mending,
    ModelFiles,
    Record,
    changes,
    digest,
    place_of,
    versions,
)
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import ReadModel, read
from sonnx_ort.loading.text_files import json_of
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import (
    apply,
    certified_if_asked_for,
    claimed_enforcement,
    conformed_if_asked_for,
    examine,
    load,
    plan,
    restored_original,
)
from sonnx_ort.profile.contract import contract_from_json

# Any: a file may contain anything, and all errors of its form are reported in one place.
_Part = Any

Made = TypeVar("Made", Change, Mending)


def read_record(path: Path) -> Record:
    """Read a record from a file.

    Raises:
        SonnxError: It cannot be read, is not a record, or was altered.
    """
    return record_in(json_of(path), path)


def record_in(document: _Part, path: Path) -> Record:
    """The record that a document of JSON is; arguments and errors as for `read_record`."""
    try:
        found = _options(document)["format"]
        altered = document["serialNumber"] != serial_number(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SonnxError(f"'{path}' is not a record of sonnx_ort") from error
    if found != FORMAT:
        raise SonnxError(
            f"'{path}' is a record in the format {found}, but this version reads {FORMAT}"
        )
    if altered:
        raise SonnxError(
            f"'{path}' was changed after it was written: its serial number does not match its "
            "content"
        )
    origin = f"'{path}' {_INCOMPLETE}"
    _require_form(document, RECORD, "the document", origin)
    for kind, form in ATTACHMENTS.items():
        try:
            attached = [*_attachments(document, kind)]
        except (KeyError, TypeError, ValueError) as error:
            raise SonnxError(f"{origin}: a {kind} has no content") from error
        for reference, content in attached:
            _require_form(content, form, f"'{reference}'", origin)
    try:
        return _record(document)
    except (KeyError, ValueError, IndexError) as error:
        raise SonnxError(f"{origin} ({error!r})") from error


_INCOMPLETE = "is not a complete record of sonnx_ort"


def _require_form(part: object, form: Form, place: str, origin: str) -> None:
    wrong = next(misfits(part, form, place), "")
    if wrong:
        raise SonnxError(f"{origin}: {wrong}")


def follows(record: Record, path: Path) -> bool:
    """Whether a file contains exactly what follows from the reports in it."""
    written: object = json_of(path)
    try:
        return bool(written == json.loads(cyclonedx(record)))
    except (KeyError, ValueError):
        # A report names a rule, a status or a node that there is not.
        return False


def _record(document: _Part) -> Record:
    metadata = document["metadata"]
    subject = metadata["component"]
    reports = dict(_attachments(document, "report"))
    options = _options(document)
    del options["format"]
    rewritten = None
    original = subject
    if "pedigree" in subject:
        original = subject["pedigree"]["ancestors"][0]
        rewritten = Analysis(_files(subject), reports[REPORT_OF_REWRITTEN])
    return Record(
        options=options,
        versions={tool["name"]: tool["version"] for tool in metadata["tools"]["components"]},
        original=Analysis(_files(original), reports[REPORT_OF_ORIGINAL]),
        rewritten=rewritten,
        changes=tuple(
            _from_attachment(Change, content)
            for reference, content in _attachments(document, "change")
            if reference.startswith(CHANGE)
        ),
        mendings=tuple(
            _from_attachment(Mending, each) for _, each in _attachments(document, "mending")
        ),
        audits=tuple(content for _, content in _attachments(document, "audit")),
        certificate=next((c for _, c in _attachments(document, "certificate")), None),
    )


def _from_attachment(kind: Callable[..., Made], content: _Part) -> Made:
    """What an attachment says, as it was before it was written: lists were tuples."""
    names = inspect.signature(kind).parameters
    parts = {name: content[name] for name in names}
    return kind(**{n: tuple(p) if isinstance(p, list) else p for n, p in parts.items()})


def _options(document: _Part) -> dict[str, str]:
    properties = document["metadata"]["properties"]
    return {p["name"].removeprefix(NAMESPACE): p["value"] for p in properties}


def _files(component: _Part) -> ModelFiles:
    parts = component.get("components", [])
    return ModelFiles(component["name"], _sha256(component), {p["name"]: _sha256(p) for p in parts})


def _sha256(component: _Part) -> str:
    (entry,) = component["hashes"]
    return str(entry["content"])


def _attachments(document: _Part, kind: str) -> Iterator[tuple[str, _Part]]:
    """The attachments of evidence of a kind, by the reference of the evidence."""
    for evidence in document["declarations"]["evidence"]:
        if evidence["propertyName"] == NAMESPACE + kind:
            (data,) = evidence["data"]
            yield evidence["bom-ref"], json.loads(data["contents"]["attachment"]["content"])


class RecordedAs(enum.StrEnum):
    """The models of a record."""

    ORIGINAL = "original"
    REWRITTEN = "rewritten"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of comparing a model with a record.

    Attributes:
        recorded_as: Which of the record's models it is; None if it is none of them.
        differences: What differs from the record, each as a sentence.
        versions: The versions that have changed since; these alone are no difference.
    """

    recorded_as: RecordedAs | None
    differences: tuple[str, ...]
    versions: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether it is the model that the record is of, and a new analysis gives the same."""
        return not self.differences

    def lines(self) -> Iterator[str]:
        """The result as lines of text."""
        if self.recorded_as is None:
            yield "this model is not in the record"
        else:
            yield f"this is the {self.recorded_as} model of the record"
        yield from (Advice("differs: ", difference) for difference in self.differences)
        yield from (f"version: {version}" for version in self.versions)
        count = len(self.differences)
        yield "no difference" if self.kept else f"{count} difference{'' if count == 1 else 's'}"


@checked_arguments
def verify(
    model: str | os.PathLike[str], record: str | os.PathLike[str], *, original: bool = False
) -> Verification:
    """Verify that a record is of a model, and that a new analysis gives what the record says.

    The record of a rewrite is of the rewritten model: its original enforces nothing, so that it
    counts only if it is asked for. Then the rewrite is repeated too, and compared; no file is
    written. The recorded options apply.

    Args:
        model: The model's file.
        record: The file that `rewrite_file` or `check` wrote as `record`.
        original: Whether the model is the one that the record's model was rewritten from.

    Returns:
        Which model it is, and what differs.

    Raises:
        SonnxError: A file cannot be read, or is not a record.
    """
    path = Path(model)
    stored = read_record(Path(record))
    sha256 = digest(path)
    by_digest = {}
    if stored.rewritten is not None:
        by_digest[stored.rewritten.files.sha256] = (RecordedAs.REWRITTEN, stored.rewritten)
    by_digest[stored.original.files.sha256] = (RecordedAs.ORIGINAL, stored.original)
    if sha256 not in by_digest:
        known = " and ".join(f"{digest} ({which})" for digest, (which, _) in by_digest.items())
        other = f"the model: its SHA-256 is {sha256}, but the record has {known}"
        return Verification(None, (other, *_false_claims(path)))
    recorded_as, recorded = by_digest[sha256]
    # Where there was nothing to enforce, the record has one model twice.
    if len(by_digest) > 1 and (wrong := _mistaken(recorded_as, original=original)):
        return Verification(recorded_as, (wrong,))
    with collector_paused():
        differences = tuple(_differences(path, Path(record), stored, recorded, recorded_as))
    return Verification(recorded_as, differences, tuple(_other_versions(stored)))


def _false_claims(path: Path) -> Iterator[str]:
    """That a model does not enforce what its metadata says, as after another tool changed it."""
    # It may be no model at all; that it is another file has been said.
    with suppress(SonnxError), collector_paused():
        if said := load(read(path), Choices.of(), to_examine=True).false_claim:
            yield f"the model: {said}"


def _mistaken(recorded_as: RecordedAs, *, original: bool) -> str:
    """What is wrong if the model is the other one of a record; empty if it is the right one."""
    if original and recorded_as is RecordedAs.REWRITTEN:
        return "the model: it is the rewritten one, but the original is to be verified"
    if not original and recorded_as is RecordedAs.ORIGINAL:
        return Advice(
            "the model: it is the original, which enforces nothing; verify the rewritten model, or "
            "add ",
            Remedy("original"),
        )
    return ""


def _differences(
    path: Path, record: Path, stored: Record, recorded: Analysis, recorded_as: RecordedAs
) -> Iterator[str]:
    yield from _expired(recorded)
    if stored.versions.get("sonnx_ort") == versions()["sonnx_ort"] and not follows(stored, record):
        yield "the record: its claims do not follow from its reports"
    model = read(path)
    try:
        check_external_data(model.proto, model.folder)
    except InvalidModel as error:
        yield error.advice
        return
    found = model_files(path, model)
    yield from differing_files(recorded.files, found)
    choices = _choices(stored, record)
    try:
        today = analyse(path, model, choices, found.external)
    except SonnxError as error:
        yield Advice("the model cannot be analyzed today: ", error.advice)
        return
    yield from differing_obligations(recorded, today)
    yield from differing_surroundings(recorded, today)
    yield from _differing_certificate(path, model, stored, recorded_as)
    if recorded_as is RecordedAs.ORIGINAL and stored.rewritten is not None:
        yield from _differing_rewriting(path, model, stored, stored.rewritten, choices)


def _differing_rewriting(
    path: Path, model: ReadModel, stored: Record, recorded: Analysis, choices: Choices
) -> Iterator[str]:
    try:
        conformed = conformed_if_asked_for(examine(load(model, choices)))
        proto = apply(plan(certified_if_asked_for(conformed))).to_proto()
        content = require_serializable(proto)
    except SonnxError as error:
        yield Advice("the model cannot be rewritten today: ", error.advice)
        return
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != recorded.files.sha256:
        yield (
            "rewriting it today gives another model: SHA-256 recorded as "
            f"{recorded.files.sha256}, today {sha256}"
        )
        found = changes(model.proto, proto)
        yield from _only_in_one("change", map(str, stored.changes), map(str, found))
        today = mendings(conformed.changes)
        yield from _only_in_one("mending", map(str, stored.mendings), map(str, today))
    if stored.certificate is not None:
        yield from _rejected(path.read_bytes(), stored.certificate, content)


def _differing_certificate(
    path: Path, model: ReadModel, stored: Record, recorded_as: RecordedAs
) -> Iterator[str]:
    """Say that the certificate is missing, or rejected beside a rewritten model.

    The file of the original is not at hand then. What the rewritten model restores takes its place.
    """
    of_rewritten, certificate = recorded_as is RecordedAs.REWRITTEN, stored.certificate
    claim = claimed_enforcement(model.proto)
    certified = of_rewritten and claim is not None and claim.certified
    if certificate is None:
        if certified or stored.options.get("certified") == "true":
            yield "the model was rewritten with a certificate, and the record has none"
        return
    if not of_rewritten:
        return
    named = certificate.get("model")
    if named != stored.original.files.sha256:
        yield f"the certificate is of another original: its SHA-256 is {named}"
        return
    try:
        original = require_serializable(restored_original(model))
    except SonnxError as error:
        yield f"the certificate cannot be checked: {error}"
        return
    of_restored = {**certificate, "model": hashlib.sha256(original).hexdigest()}
    yield from _rejected(original, of_restored, path.read_bytes())


def _rejected(original: bytes, certificate: Document, enforced: bytes) -> Iterator[str]:
    """Why the checker rejects a certificate, if it does."""
    try:
        check_certificate(original, certificate, enforced)
    except (Rejected, AttributeError, KeyError, TypeError, ValueError) as error:
        yield f"the certificate is rejected: {error}"


def _expired(recorded: Analysis) -> Iterator[str]:
    """The waivers that were valid when the record was made, and have expired."""
    for obligation in recorded.obligations:
        waiver: Any = obligation["waiver"]
        if waiver is None or waiver["expired"]:
            continue
        if dt.date.fromisoformat(waiver["until"]) < _today():
            place = place_of(obligation)
            yield f"{obligation['rule']} at {place}: its waiver expired on {waiver['until']}"


def _today() -> dt.date:
    return dt.date.today()


def _choices(stored: Record, record: Path) -> Choices:
    options = stored.options
    try:
        return Choices.of(
            options["edition"],
            options["broadcast"],
            options["operators"],
            options.get("backend", "python"),
            make_explicit=options.get("make_explicit") == "true",
            waivers=recorded_waivers(options, "waivers"),
            contract=contract_from_json(options.get("contract", "[]")),
            conform=options.get("conform") == "true",
            certified=options.get("certified") == "true",
        )
    except SonnxError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SonnxError(f"'{record}' {_INCOMPLETE} ({error!r})") from error


def _other_versions(stored: Record) -> Iterator[str]:
    today = versions()
    for name in dict.fromkeys([*today, *stored.versions]):
        recorded, version = (found.get(name, "none") for found in (stored.versions, today))
        if recorded != version:
            yield f"{name}: {recorded} when it was recorded, {version} today"


_NOT_COMPARED = frozenset({"waiver", "mendable", "rounding", "advice", "written"})
"""Entries that are no results: a person's decision, what could be done, what a file says."""


def differing_obligations(recorded: Analysis, today: Analysis) -> Iterator[str]:
    """Describe each obligation that differs from the record."""
    before, after = _by_place(recorded.obligations), _by_place(today.obligations)
    for place in dict.fromkeys((*before, *after)):
        subject = f"{place[0]} at {place[1]}"
        if place not in after:
            yield f"{subject}: recorded as {before[place]['status']}, and not found today"
        elif place not in before:
            yield f"{subject}: {after[place]['status']} today, and not recorded"
        else:
            fields = [name for name in before[place] if name not in _NOT_COMPARED]
            for name in fields:
                old, new = before[place][name], after[place].get(name)
                if old != new:
                    yield f"{subject}: {name} recorded as {_shown(old)}, today {_shown(new)}"


def differing_surroundings(recorded: Analysis, today: Analysis) -> Iterator[str]:
    """Describe the findings and operators that differ from the record."""
    for name, before, after in (
        ("finding", recorded.findings, today.findings),
        ("operator", recorded.coverage, today.coverage),
    ):
        yield from _only_in_one(name, map(_in_words, before), map(_in_words, after))


def differing_files(recorded: ModelFiles, found: ModelFiles) -> Iterator[str]:
    """Describe the files of a model that differ from the record."""
    if recorded.sha256 != found.sha256:
        yield f"the model: SHA-256 recorded as {recorded.sha256}, is {found.sha256}"
    for location in sorted(recorded.external.keys() | found.external.keys()):
        old, new = recorded.external.get(location), found.external.get(location)
        if old != new:
            yield f"its external data '{location}': SHA-256 recorded as {old}, is {new}"


def _by_place(obligations: Iterable[Document]) -> dict[tuple[str, str, int], Document]:
    """Obligations by rule, node as text, and number among equal ones."""
    found: dict[tuple[str, str, int], Document] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for obligation in obligations:
        place = (str(obligation["rule"]), place_of(obligation))
        found[*place, seen[place]] = obligation
        seen[place] += 1
    return found


def _only_in_one(kind: str, recorded: Iterable[str], today: Iterable[str]) -> Iterator[str]:
    before, after = Counter(recorded), Counter(today)
    yield from (f"{kind} recorded, and not found today: {entry}" for entry in before - after)
    yield from (f"{kind} found today, and not recorded: {entry}" for entry in after - before)


def _in_words(entry: Document) -> str:
    return ", ".join(f"{name} {value}" for name, value in entry.items())


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

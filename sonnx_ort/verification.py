"""`verify`: whether a model is one that was recorded, and whether the same is found of it today."""

import datetime as dt
import enum
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.process import collector_paused
from sonnx_ort.loading.source import ReadModel, read
from sonnx_ort.recording.changes import changes
from sonnx_ort.recording.comparison import (
    differing_changes,
    differing_files,
    differing_obligations,
    differing_surroundings,
)
from sonnx_ort.recording.files import digest
from sonnx_ort.recording.reading import follows, read_record
from sonnx_ort.recording.record import Analysis, Record, place_of, versions
from sonnx_ort.rewriting.options import Choices
from sonnx_ort.rewriting.recorded import analyse, model_files
from sonnx_ort.rewriting.rewrite import enforce, require_serializable
from sonnx_ort.rewriting.waivers import recorded_waivers


class RecordedAs(enum.StrEnum):
    """Which of a record's models a model is."""

    ORIGINAL = "original"
    REWRITTEN = "rewritten"


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a record.

    Attributes:
        recorded_as: Which of the record's models it is; None if it is neither.
        differences: What is not as it was recorded, each in a sentence.
        versions: The versions that are others than when it was recorded; no difference by
            themselves.
    """

    recorded_as: RecordedAs | None
    differences: tuple[str, ...]
    versions: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether it is a recorded model, of which the same is found today."""
        return not self.differences

    def lines(self) -> Iterator[str]:
        """Tell of it in lines, for people."""
        if self.recorded_as is None:
            yield "no model of this record"
        else:
            yield f"the {self.recorded_as} model of this record"
        yield from (f"differs: {difference}" for difference in self.differences)
        yield from (f"version: {version}" for version in self.versions)
        yield "kept" if self.kept else f"{len(self.differences)} not as recorded"


def verify(model: str | os.PathLike[str], record: str | os.PathLike[str]) -> Verification:
    """Find out whether a model is one that was recorded, and whether the same is found of it today.

    It is held to what was demanded then. The original is rewritten again, without being written, if
    a rewritten model is recorded.

    Args:
        model: The model's file.
        record: The file that `rewrite_file` or `check` wrote as `record`.

    Returns:
        Which model it is, and what differs.

    Raises:
        SonnxError: A file cannot be read, or the record is none.
    """
    path = Path(model)
    told = read_record(Path(record))
    sha256 = digest(path)
    by_digest = {}
    if told.rewritten is not None:
        by_digest[told.rewritten.files.sha256] = (RecordedAs.REWRITTEN, told.rewritten)
    by_digest[told.original.files.sha256] = (RecordedAs.ORIGINAL, told.original)
    if sha256 not in by_digest:
        known = " and ".join(f"{digest} ({which})" for digest, (which, _) in by_digest.items())
        return Verification(None, (f"the model: its SHA-256 is {sha256}, recorded is {known}",))
    recorded_as, recorded = by_digest[sha256]
    with collector_paused():
        differences = tuple(_differences(path, Path(record), told, recorded, recorded_as))
    return Verification(recorded_as, differences, tuple(_other_versions(told)))


def _differences(
    path: Path, record: Path, told: Record, recorded: Analysis, recorded_as: RecordedAs
) -> Iterator[str]:
    yield from _expired(recorded)
    if told.versions.get("sonnx_ort") == versions()["sonnx_ort"] and not follows(told, record):
        yield "the record: what it claims does not follow from the reports in it"
    model = read(path)
    try:
        check_external_data(model.proto, path.parent)
    except InvalidModel as error:
        yield str(error)
        return
    found = model_files(path, model)
    yield from differing_files(recorded.files, found)
    choices = _choices(told)
    try:
        today = analyse(path, model, choices.demands, found.external, waivers=choices.waivers)
    except SonnxError as error:
        yield f"it cannot be analysed today: {error}"
        return
    yield from differing_obligations(recorded, today)
    yield from differing_surroundings(recorded, today)
    if recorded_as is RecordedAs.ORIGINAL and told.rewritten is not None:
        yield from _differing_rewriting(model, told, told.rewritten, choices)


def _differing_rewriting(
    model: ReadModel, told: Record, recorded: Analysis, choices: Choices
) -> Iterator[str]:
    try:
        proto = enforce(model, choices).to_proto()
        content = require_serializable(proto)
    except SonnxError as error:
        yield f"it cannot be rewritten today: {error}"
        return
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != recorded.files.sha256:
        yield (
            "rewriting it today gives another model: SHA-256 recorded as "
            f"{recorded.files.sha256}, today {sha256}"
        )
        yield from differing_changes(told.changes, changes(model.proto, proto))


def _expired(recorded: Analysis) -> Iterator[str]:
    """The waivers that held when the record was made, and hold no more."""
    for obligation in recorded.obligations:
        waiver: Any = obligation["waiver"]
        if waiver is None or waiver["expired"]:
            continue
        if dt.date.fromisoformat(waiver["until"]) < _today():
            place = place_of(obligation)
            yield f"{obligation['rule']} at {place}: its waiver expired on {waiver['until']}"


def _today() -> dt.date:
    return dt.date.today()


def _choices(told: Record) -> Choices:
    options = told.options
    return Choices.of(
        options["edition"],
        options["broadcast"],
        options["operators"],
        options.get("backend", "python"),
        make_explicit=options.get("make_explicit") == "true",
        waivers=recorded_waivers(options, "waivers"),
    )


def _other_versions(told: Record) -> Iterator[str]:
    for name, version in versions().items():
        recorded = told.versions.get(name, "none")
        if recorded != version:
            yield f"{name}: {recorded} when it was recorded, {version} today"

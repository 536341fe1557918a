"""Reads a record again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sonnx_ort.errors import SonnxError
from sonnx_ort.recording.changes import Change
from sonnx_ort.recording.cyclonedx import (
    CHANGE,
    NAMESPACE,
    REPORT_OF_ORIGINAL,
    REPORT_OF_REWRITTEN,
    cyclonedx,
    serial_number,
)
from sonnx_ort.recording.record import FORMAT, Analysis, ModelFiles, Record

# Any: a file may hold anything, and what does not fit is told of in one place.
_Part = Any


def read_record(path: Path) -> Record:
    """Read a record from a file.

    Args:
        path: The file.

    Raises:
        SonnxError: It cannot be read, is no record, or was altered after it was written.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SonnxError(f"there is no file '{path}'") from error
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SonnxError(f"'{path}' is no JSON: {error}") from error
    try:
        found = _options(document)["format"]
        altered = document["serialNumber"] != serial_number(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SonnxError(f"'{path}' is no record of sonnx_ort") from error
    if found != FORMAT:
        raise SonnxError(f"'{path}' is a record in the form {found}, and this one reads {FORMAT}")
    if altered:
        raise SonnxError(f"'{path}' was altered after it was written: its serial number says so")
    try:
        return _record(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise SonnxError(f"'{path}' is no whole record of sonnx_ort ({error!r})") from error


def follows(record: Record, path: Path) -> bool:
    """Whether a file claims what follows from the reports in it, and nothing else.

    Args:
        record: What was read from the file; the version that wrote it was this one.
        path: The file.
    """
    written: object = json.loads(path.read_text(encoding="utf-8"))
    return bool(written == json.loads(cyclonedx(record)))


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
            Change(content["node"], tuple(content["path"]), tuple(content["became"]))
            for reference, content in _attachments(document, "change")
            if reference.startswith(CHANGE)
        ),
    )


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
    """What is attached to the evidence of a kind, by the reference of the evidence."""
    for evidence in document["declarations"]["evidence"]:
        if evidence["propertyName"] == NAMESPACE + kind:
            (data,) = evidence["data"]
            yield evidence["bom-ref"], json.loads(data["contents"]["attachment"]["content"])

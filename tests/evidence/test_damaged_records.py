"""A record that was damaged and numbered anew is told in a sentence, or is a difference.

Parts of a record are left out and exchanged for values of every type, also in the reports that it
has inside, and the serial number is made to match.
`SONNX_ORT_RECORDS=10000 pytest tests/evidence/test_damaged_records.py` tries all of them.
"""

import copy
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.evidence.cyclonedx import serial_number
from support.graphs import parse

GRAPH = """(float[3] x, float[1] y, float[n] u, float[n, m] v) => (float[3] z, float[] w, float[] s)
    { [divide] z = Div(x, y) [subtract] w = Sub(u, x) s = Slice(v, i, j, k) }"""
WAIVERS = """[[waiver]]
rule = "Div.float.R1"
node = "divide"
reason = "as agreed"
who = "A. Person"
until = 2999-12-31
"""
DAMAGES = int(os.environ.get("SONNX_ORT_RECORDS", "60"))
"""How many of some thousand damages are tried."""

VALUES = (None, True, 7, -1.5, "", "another text", "\ud800", [], ["a"], {}, {"a": 1})
GONE = object()

Document = dict[str, Any]
Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Document]:
    """A model, what enforces it, and a record that has every kind of part."""
    folder = tmp_path_factory.mktemp("made")
    source, target, record = (folder / name for name in ("m.onnx", "e.onnx", "record.json"))
    numbers = {"i": [0], "j": [1], "k": [0]}
    constants = {name: np.array(each) for name, each in numbers.items()}
    onnx.save(parse(GRAPH, constants=constants), source)
    waivers = folder / "waivers.toml"
    waivers.write_text(WAIVERS, encoding="utf-8")
    sonnx_ort.rewrite_file(source, target, record=record, waivers=waivers, conform=True)
    return source, target, opened(json.loads(record.read_text(encoding="utf-8")))


def opened(document: Document) -> Document:
    """A record whose attachments are parts like all others."""
    for attachment in attachments(document):
        attachment["content"] = json.loads(attachment["content"])
    return document


def closed(document: Document) -> Document:
    """A record whose attachments are texts, and whose serial number is right."""
    for attachment in attachments(document):
        if "content" in attachment and not isinstance(attachment["content"], str):
            attachment["content"] = json.dumps(attachment["content"])
    if "serialNumber" in document:
        document["serialNumber"] = serial_number(document)
    return document


def attachments(part: Any) -> Iterator[Document]:
    if isinstance(part, dict) and isinstance(part.get("attachment"), dict):
        yield part["attachment"]
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from attachments(each)


def places(part: Any, outer: Place = ()) -> Iterator[Place]:
    """Where the parts of a document stand; of the elements of a list, the first and the last."""
    if isinstance(part, dict):
        found: list[tuple[str | int, Any]] = [*part.items()]
    else:
        found = [(at, part[at]) for at in sorted({0, len(part) - 1})] if part else []
    for key, each in found:
        yield (*outer, key)
        if isinstance(each, dict | list):
            yield from places(each, (*outer, key))


def changed(document: Document, place: Place, value: Any) -> Document:
    other = copy.deepcopy(document)
    part: Any = other
    for key in place[:-1]:
        part = part[key]
    if value is GONE:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return closed(other)


def verified(made: tuple[Path, Path, Document], record: Path, *, original: bool) -> str:
    """What `verify` says; anything but a result or a `SonnxError` is raised."""
    source, target, _ = made
    try:
        found = sonnx_ort.verify(source if original else target, record, original=original)
    except sonnx_ort.SonnxError:
        return "refused"
    return "kept" if found.kept else "differs"


def test_record_is_kept_as_it_is(made, tmp_path):
    record = tmp_path / "record.json"
    record.write_text(json.dumps(closed(copy.deepcopy(made[2]))), encoding="utf-8")
    assert {verified(made, record, original=each) for each in (False, True)} == {"kept"}


@pytest.mark.thorough
def test_damaged_record_is_refused_or_differs(made, tmp_path):
    record = tmp_path / "record.json"
    damages = [(place, value) for place in places(made[2]) for value in (GONE, *VALUES)]
    rng = random.Random("damaged")  # noqa: S311 - no cryptography
    counts = Counter[str]()
    for place, value in rng.sample(damages, min(DAMAGES, len(damages))):
        content = json.dumps(changed(made[2], place, value))
        record.write_text(content, encoding="utf-8")
        for original in (False, True):
            counts[verified(made, record, original=original)] += 1
    assert min(counts["refused"], counts["differs"]) > DAMAGES // 5

"""`verify` tells whether a model is one that was recorded, and what is not as it was."""

import dataclasses
import datetime as dt
import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.analysis import waiving as waivers
from sonnx_ort.evidence import record as files
from sonnx_ort.evidence import verification
from sonnx_ort.evidence.cyclonedx import cyclonedx, serial_number
from sonnx_ort.evidence.verification import RecordedAs, read_record
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import at_run_time
from support.checks import MENDING, mendable
from support.graphs import model, parse, tensor

GRAPH = "(float[3] x, float[3] y) => (float[3] z) { [divide] z = Div(x, y) }"
OTHER = "(float[4] x, float[4] y) => (float[4] z) { [divide] z = Div(x, y) }"
BROKEN = "(float[3] x, float[1] y) => (float[3] z) { [divide] z = Div(x, y) }"

WAIVER = sonnx_ort.Waiver(
    "Div.float.R1", "divide", "B is one number", "safety board", dt.date(2099, 12, 31)
)


@pytest.fixture(params=["python", "native", "compiled"])
def made(request, tmp_path) -> tuple[Path, Path, Path]:
    """A model, what was made of it, and the record of that."""
    paths = tuple(tmp_path / name for name in ("model.onnx", "enforced.onnx", "record.json"))
    source, target, record = paths
    onnx.save(parse(GRAPH), source)
    sonnx_ort.rewrite_file(source, target, record=record, backend=request.param)
    return paths


@pytest.mark.satisfies("Needs.AI-006")
def test_original_is_kept(made):
    source, _, record = made
    found = sonnx_ort.verify(source, record, original=True)
    assert found == verification.Verification(RecordedAs.ORIGINAL, ())
    assert found.kept


def test_rewritten_model_is_kept(made):
    _, target, record = made
    assert sonnx_ort.verify(target, record) == verification.Verification(RecordedAs.REWRITTEN, ())


def test_the_other_model_of_a_record_is_not_what_was_asked_for(made):
    source, target, record = made
    found = sonnx_ort.verify(source, record)
    assert (found.recorded_as, found.kept) == (RecordedAs.ORIGINAL, False)
    assert [str(each) for each in found.differences] == [
        (
            "the model: it is the original, which enforces nothing; verify the rewritten model, or "
            "add original=True"
        )
    ]
    found = sonnx_ort.verify(target, record, original=True)
    assert (found.recorded_as, found.kept) == (RecordedAs.REWRITTEN, False)
    assert found.differences == (
        "the model: it is the rewritten one, but the original is to be verified",
    )


BROADCASTING = "(float[3] x, float[1] y) => (float[3] z) { [divide] z = Div(x, y) }"
OPTIONS = {
    "edition": {"edition": "preliminary"},
    "broadcast": {"broadcast": "explicit"},
    "operators": {"operators": "default"},
    "make_explicit": {"broadcast": "explicit", "make_explicit": True},
    "conform": {"conform": True},
    "waivers": {"waivers": [WAIVER]},
    "contract": {"contract": sonnx_ort.Contract(values=(sonnx_ort.ValueContract("y", (1, 2)),))},
}
"""Options that decide what a report or a rewritten model has, each with a value of its own."""


@pytest.mark.parametrize("name", OPTIONS)
def test_model_is_analysed_again_with_the_recorded_options(name, tmp_path):
    source, target, record = (tmp_path / name for name in ("a.onnx", "b.onnx", "record.json"))
    graph = BROADCASTING if name in {"broadcast", "make_explicit", "conform", "waivers"} else GRAPH
    onnx.save(parse(graph), source)
    sonnx_ort.rewrite_file(source, target, record=record, backend="native", **OPTIONS[name])
    for path, recorded_as in ((source, RecordedAs.ORIGINAL), (target, RecordedAs.REWRITTEN)):
        found = sonnx_ort.verify(path, record, original=path == source)
        assert found == verification.Verification(recorded_as, ())


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (
            verification.Verification(RecordedAs.ORIGINAL, ()),
            ["this is the original model of the record", "no difference"],
        ),
        (
            verification.Verification(RecordedAs.REWRITTEN, ("a",), ("numpy 1, now 2",)),
            [
                "this is the rewritten model of the record",
                *("differs: a", "version: numpy 1, now 2", "1 difference"),
            ],
        ),
        (
            verification.Verification(None, ("a", "b")),
            ["this model is not in the record", "differs: a", "differs: b", "2 differences"],
        ),
    ],
)
def test_result_is_told_in_lines(found, lines):
    assert list(found.lines()) == lines


def test_names_and_places_of_files_make_no_difference(made, tmp_path):
    source, _, record = made
    moved = tmp_path / "elsewhere" / "other.onnx"
    moved.parent.mkdir()
    source.rename(moved)
    assert sonnx_ort.verify(moved, record, original=True).kept


def test_another_model_is_neither(made, tmp_path):
    _, _, record = made
    other = tmp_path / "other.onnx"
    onnx.save(parse(OTHER), other)
    found = sonnx_ort.verify(other, record)
    assert (found.recorded_as, found.kept) == (None, False)
    assert "but the record has" in found.differences[0]


@pytest.mark.satisfies("Needs.AI-006")
def test_one_changed_byte_is_noticed(made):
    source, _, record = made
    content = bytearray(source.read_bytes())
    content[-1] ^= 1
    source.write_bytes(content)
    assert not sonnx_ort.verify(source, record, original=True).kept


def test_model_that_had_nothing_to_enforce_is_the_original(tmp_path):
    source, target, record = (tmp_path / n for n in ("a.onnx", "b.onnx", "record.json"))
    onnx.save(parse("(float[3] x) => (float[3] y) { y = Relu(x) }"), source)
    sonnx_ort.rewrite_file(source, target, record=record)
    assert sonnx_ort.verify(target, record).recorded_as is RecordedAs.ORIGINAL


@pytest.mark.parametrize("recorded", ["nothing", None, "do something else"])
def test_what_could_be_mended_when_it_was_recorded_is_not_compared(tmp_path, recorded):
    """Neither a record from before the field, nor one of a version that fixes something else."""
    source, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(mendable(), source)
    sonnx_ort.check(source, operators="profile,-Graph", record=record)
    document = json.loads(record.read_text(encoding="utf-8"))

    def change(report):
        told = [o for o in report["obligations"] if o["mendable"]]
        assert [(o["rule"], o["mendable"]) for o in told] == [("Concat.R1", MENDING)]
        for obligation in report["obligations"]:
            if recorded == "nothing":
                del obligation["mendable"]
            else:
                obligation["mendable"] = recorded

    change_report(document, change)
    rewrite_record(record, document)
    assert sonnx_ort.verify(source, record, original=True).kept


def test_obligation_that_is_decided_otherwise_is_told_of(made, monkeypatch):
    source, _, record = made
    monkeypatch.setattr(SameShape, "judge", lambda *_: at_run_time("it may rain"))
    differences = sonnx_ort.verify(source, record, original=True).differences
    assert (
        "Div.float.R1 at Div 'divide': status recorded as 'proved', today 'runtime'" in differences
    )
    (evidence,) = [d for d in differences if "evidence recorded as" in d]
    assert evidence.endswith("today 'it may rain'")


def test_obligation_that_is_gone_and_one_that_is_new_are_told_of(made):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    change_report(document, lambda report: report["obligations"][0].update(node="other"))
    rewrite_record(record, document)
    differences = sonnx_ort.verify(source, record, original=True).differences
    assert "Div.float.R2 at Div 'other': recorded as proved, and not found today" in differences
    assert "Div.float.R2 at Div 'divide': proved today, and not recorded" in differences


@pytest.mark.parametrize("changed", [0, 1])
def test_each_of_two_nodes_of_one_name_is_compared(tmp_path, changed):
    source, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(parse("(float[3] x) => (float[3] z) { [d] y = Div(x, x) [d] z = Div(y, x) }"), source)
    sonnx_ort.check(source, operators="default", record=record)
    document = json.loads(record.read_text(encoding="utf-8"))

    def change(report: dict) -> None:
        places = [o for o in report["obligations"] if o["rule"] == "Div.float.R1"]
        assert len(places) == 2
        places[changed].update(evidence="it was seen")

    change_report(document, change)
    rewrite_record(record, document)
    told = sonnx_ort.verify(source, record, original=True).differences
    assert any("Div.float.R1 at Div 'd'" in each and "'it was seen'" in each for each in told), told


def change_report(document: dict, change) -> None:
    """Change what is recorded of the original."""
    (evidence,) = [
        e for e in document["declarations"]["evidence"] if e["bom-ref"] == "report:original"
    ]
    attachment = evidence["data"][0]["contents"]["attachment"]
    report = json.loads(attachment["content"])
    change(report)
    attachment["content"] = json.dumps(report)


def rewrite_record(record: Path, document: dict) -> None:
    """Write a record as if it had been so from the first."""
    document["serialNumber"] = serial_number(document)
    record.write_text(json.dumps(document), encoding="utf-8")


def test_claim_that_does_not_follow_is_told_of(made):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    document["declarations"]["claims"][0]["reasoning"] = "It is so."
    rewrite_record(record, document)
    assert sonnx_ort.verify(source, record, original=True).differences == (
        "the record: its claims do not follow from its reports",
    )


@pytest.mark.parametrize(
    "change", [{"rule": "Div.float.R999"}, {"status": "seen"}], ids=["rule", "status"]
)
def test_report_that_names_what_there_is_not_is_told_of(made, change):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    change_report(document, lambda report: report["obligations"][0].update(change))
    rewrite_record(record, document)
    first, *_ = sonnx_ort.verify(source, record, original=True).differences
    assert first == "the record: its claims do not follow from its reports"


def test_record_that_was_laid_out_otherwise_is_kept(made):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps(document, sort_keys=True), encoding="utf-8")
    assert sonnx_ort.verify(source, record, original=True).kept


def test_finding_and_operator_that_differ_are_told_of(made):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))

    def change(report):
        report["findings"] = [{"restriction": "GR2", "place": "value 'q'", "detail": "no type"}]
        report["coverage"][0]["nodes"] = 7

    change_report(document, change)
    rewrite_record(record, document)
    standing = "extent enforced, standing a draft"
    assert sonnx_ort.verify(source, record, original=True).differences == (
        "finding recorded, and not found today: restriction GR2, place value 'q', detail no type",
        f"operator recorded, and not found today: operator Div, nodes 7, {standing}",
        f"operator found today, and not recorded: operator Div, nodes 1, {standing}",
    )


def test_rewriting_that_gives_another_model_is_told_of(tmp_path, monkeypatch):
    source, target, record = (tmp_path / n for n in ("a.onnx", "b.onnx", "record.json"))
    onnx.save(parse(GRAPH), source)
    sonnx_ort.rewrite_file(source, target, record=record)
    original_choices = verification.Choices.of
    monkeypatch.setattr(
        verification.Choices,
        "of",
        lambda *given, **more: original_choices(*given[:3], "native", **more),
    )
    first, *others = sonnx_ort.verify(source, record, original=True).differences
    assert first.startswith("rewriting it today gives another model: SHA-256 recorded as ")
    (gone,) = others
    assert gone.startswith(
        "change recorded, and not found today: Div 'divide': sonnx::CheckedDiv 'divide'"
    )


def test_rewriting_that_fails_today_is_told_of(tmp_path):
    source, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(parse(GRAPH), source)
    sonnx_ort.rewrite_file(source, tmp_path / "enforced.onnx", record=record)
    document = json.loads(record.read_text(encoding="utf-8"))
    onnx.save(parse(BROKEN), source)
    digest = sonnx_ort.check(source, operators="default").identity.sha256
    ancestor = document["metadata"]["component"]["pedigree"]["ancestors"][0]
    ancestor["hashes"][0]["content"] = digest
    rewrite_record(record, document)
    assert (
        sonnx_ort.verify(source, record, original=True)
        .differences[-1]
        .startswith("the model cannot be rewritten today: the model breaks the SONNX profile")
    )


def test_analysis_that_fails_today_is_told_of(tmp_path):
    source, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(parse(GRAPH), source)
    sonnx_ort.rewrite_file(
        source, tmp_path / "enforced.onnx", record=record, backend="native", **OPTIONS["contract"]
    )
    document = json.loads(record.read_text(encoding="utf-8"))
    onnx.save(parse(GRAPH.replace("y", "w")), source)
    ancestor = document["metadata"]["component"]["pedigree"]["ancestors"][0]
    ancestor["hashes"][0]["content"] = hashlib.sha256(source.read_bytes()).hexdigest()
    rewrite_record(record, document)
    assert sonnx_ort.verify(source, record, original=True).differences[-1] == (
        "the model cannot be analyzed today: contract: the graph has no input or value 'y'; "
        "the model's inputs are x, w; inputs of subgraphs and values of functions cannot have a "
        "contract"
    )


def test_other_versions_are_told_of_and_make_no_difference(made):
    source, _, record = made
    told = read_record(record)
    older = dataclasses.replace(told, versions={**told.versions, "onnx": "1.2.3"})
    record.write_text(cyclonedx(older), encoding="utf-8")
    found = sonnx_ort.verify(source, record, original=True)
    assert found.kept
    assert found.versions == (f"onnx: 1.2.3 when it was recorded, {onnx.__version__} today",)


def test_waiver_that_expired_since_is_told_of(tmp_path, monkeypatch):
    source, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(parse(BROKEN), source)
    sonnx_ort.check(source, operators="default", waivers=[WAIVER], record=record)
    assert sonnx_ort.verify(source, record, original=True).kept
    monkeypatch.setattr(verification, "_today", lambda: dt.date(2099, 12, 31))
    assert sonnx_ort.verify(source, record, original=True).kept
    monkeypatch.setattr(verification, "_today", lambda: dt.date(2100, 1, 1))
    assert sonnx_ort.verify(source, record, original=True).differences == (
        "Div.float.R1 at Div 'divide': its waiver expired on 2099-12-31",
    )


OF_MANY = dataclasses.replace(WAIVER, node=None, nodes="[ab]", count=2)
TWICE = "(float[3] x, float[1] y) => (float[3] z) { [a] t = Div(x, y) [b] z = Div(t, y) }"


def rewritten_with(waiver: sonnx_ort.Waiver, backend: str, folder: Path) -> tuple[Path, Path, Path]:
    paths = tuple(folder / name for name in ("model.onnx", "enforced.onnx", "record.json"))
    source, target, record = paths
    onnx.save(parse(TWICE if waiver.count else BROKEN), source)
    sonnx_ort.rewrite_file(source, target, record=record, backend=backend, waivers=[waiver])
    return paths


@pytest.fixture(params=["python", "native", "compiled"])
def made_with_a_waiver(request, tmp_path) -> tuple[Path, Path, Path]:
    return rewritten_with(WAIVER, request.param, tmp_path)


EXPIRED = (
    "the waiver of Div.float.R1 at node 'divide' expired on 2099-12-31; fix the model, or have "
    "the waiver renewed"
)


@pytest.mark.parametrize("waiver", [WAIVER, OF_MANY], ids=["one node", "many nodes"])
@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_models_that_were_rewritten_with_a_waiver_are_kept(tmp_path, backend, waiver):
    source, target, record = rewritten_with(waiver, backend, tmp_path)
    assert sonnx_ort.verify(source, record, original=True).differences == ()
    assert sonnx_ort.verify(target, record).differences == ()
    (option,) = json.loads(read_record(record).options["waivers"])
    told = (option["node"], option.get("nodes"), option.get("count"))
    assert told == (waiver.node, waiver.nodes, waiver.count)


def test_record_of_rewriting_tells_of_its_waivers(made_with_a_waiver):
    _, _, record = made_with_a_waiver
    told = read_record(record)
    (option,) = json.loads(told.options["waivers"])
    assert (option["rule"], option["node"]) == ("Div.float.R1", "divide")
    (waived,) = (o["waiver"] for o in told.original.obligations if o["waiver"] is not None)
    assert waived == {
        "reason": "B is one number", "who": "safety board", "until": "2099-12-31", "expired": False,
        "operator": None, "nodes": None, "count": None,
    }  # fmt: skip


def test_record_whose_waivers_name_no_operator_nodes_or_count_is_kept(made_with_a_waiver):
    source, target, record = made_with_a_waiver
    document = json.loads(record.read_text(encoding="utf-8"))
    for evidence in document["declarations"]["evidence"]:
        if evidence["propertyName"] == "sonnx_ort:report":
            attachment = evidence["data"][0]["contents"]["attachment"]
            report = json.loads(attachment["content"])
            for obligation in report["obligations"]:
                for name in ("operator", "nodes", "count") if obligation["waiver"] else ():
                    del obligation["waiver"][name]
            attachment["content"] = json.dumps(report, ensure_ascii=False)
    rewrite_record(record, document)
    for path in (source, target):
        found = sonnx_ort.verify(path, record, original=path == source)
        assert found.differences == ()


def test_waiver_of_a_rewriting_that_expired_since_is_told_of(made_with_a_waiver, monkeypatch):
    source, _, record = made_with_a_waiver
    for module in (verification, waivers):
        monkeypatch.setattr(module, "_today", lambda: dt.date(2100, 1, 1))
    assert sonnx_ort.verify(source, record, original=True).differences == (
        "Div.float.R1 at Div 'divide': its waiver expired on 2099-12-31",
        f"the model cannot be rewritten today: {EXPIRED}",
    )


@pytest.fixture
def with_data(tmp_path):
    """A model with external data in a folder, what was made of it elsewhere, and the record."""
    weights = numpy_helper.from_array(np.array([1, 2, 4, 8], np.float32), "w")
    nodes = [helper.make_node("Div", ["a", "w"], ["c"], name="div")]
    vector = {"shape": [4], "element_type": "float"}
    made = model(nodes, [tensor("a", **vector)], [tensor("c", **vector)], initializers=[weights])
    source, target = tmp_path / "source" / "model.onnx", tmp_path / "target" / "enforced.onnx"
    for path in (source, target):
        path.parent.mkdir()
    onnx.save(made, source, save_as_external_data=True, location="w.bin", size_threshold=0)
    record = tmp_path / "record.json"
    sonnx_ort.rewrite_file(source, target, record=record)
    return source, target, record


def test_models_with_external_data_are_kept(with_data):
    source, target, record = with_data
    assert sonnx_ort.verify(source, record, original=True).kept
    assert sonnx_ort.verify(target, record).kept


def test_external_data_is_read_once(with_data, monkeypatch):
    source, target, record = with_data
    read = []
    monkeypatch.setattr(files, "digest", lambda path: read.append(path.name) or "0" * 64)
    sonnx_ort.rewrite_file(source, target, record=record)
    assert read == ["w.bin"]


def test_external_data_that_differs_is_told_of(with_data):
    _, target, record = with_data
    target.with_name("w.bin").write_bytes(np.array([1, 2, 4, 0], np.float32).tobytes())
    (difference,) = sonnx_ort.verify(target, record).differences
    assert difference.startswith("its external data 'w.bin': SHA-256 recorded as ")


def test_external_data_that_is_gone_is_told_of(with_data):
    source, _, record = with_data
    source.with_name("w.bin").unlink()
    (difference,) = sonnx_ort.verify(source, record, original=True).differences
    assert "its external data" in difference
    assert "is missing" in difference


def without_evidence(text: str) -> str:
    document = json.loads(text)
    del document["declarations"]["evidence"]
    return json.dumps(document | {"serialNumber": serial_number(document)})


def of_format_2(text: str) -> str:
    document = json.loads(text)
    document["metadata"]["properties"][0]["value"] = "sonnx_ort.record/2"
    return json.dumps(document | {"serialNumber": serial_number(document)})


@pytest.mark.parametrize(("change", "message"), [
    (lambda _: "no JSON", "is not JSON: Expecting value: line 1 column 1 (char 0)"),
    (lambda _: "[]", "is not a record of sonnx_ort"),
    (lambda _: "{}", "is not a record of sonnx_ort"),
    (lambda _: '{"metadata": {"properties": [{"name": "a"}]}}', "is not a record of sonnx_ort"),
    (lambda _: '{"metadata": {"properties": [{"name": 1, "value": "a"}]}}',
     "is not a record of sonnx_ort"),
    (lambda text: text.replace("proved", "waived", 1),
     "was changed after it was written: its serial number does not match its content"),
    (without_evidence,
     "is not a complete record of sonnx_ort: the document.declarations.evidence is missing"),
    (of_format_2,
     "is a record in the format sonnx_ort.record/2, but this version reads sonnx_ort.record/1"),
])  # fmt: skip
def test_what_is_no_record_as_it_was_written_is_refused(made, change, message):
    source, _, record = made
    record.write_text(change(record.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.verify(source, record, original=True)
    assert str(caught.value) == f"'{record}' {message}"


@pytest.mark.parametrize(("change", "told"), [
    (lambda report: report.pop("coverage"), "coverage is missing"),
    (lambda report: report["obligations"][1].pop("status"), "obligations[1].status is missing"),
    (lambda report: report["obligations"][0].update(enforced=1), "obligations[0].enforced is 1"),
    (lambda report: report.update(findings=None), "findings is no list"),
])  # fmt: skip
def test_report_of_another_form_is_refused(made, change, told):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    change_report(document, change)
    rewrite_record(record, document)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.verify(source, record, original=True)
    assert str(caught.value) == (
        f"'{record}' is not a complete record of sonnx_ort: 'report:original'.{told}"
    )


def without_a_report(document: dict) -> None:
    evidence = document["declarations"]["evidence"]
    evidence[:] = [each for each in evidence if each["bom-ref"] != "report:original"]


def with_half_a_report(document: dict) -> None:
    for each in document["declarations"]["evidence"]:
        if each["bom-ref"] == "report:original":
            each["data"][0]["contents"]["attachment"]["content"] = '{"obligations": ['


def without_an_ancestor(document: dict) -> None:
    document["metadata"]["component"]["pedigree"]["ancestors"].clear()


@pytest.mark.parametrize(("change", "told"), [
    (without_a_report, " (KeyError('report:original'))"),
    (with_half_a_report, ": a report has no content"),
    (without_an_ancestor, " (IndexError('list index out of range'))"),
])  # fmt: skip
def test_record_without_one_of_its_parts_is_refused(made, change, told):
    source, _, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    change(document)
    rewrite_record(record, document)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.verify(source, record, original=True)
    assert str(caught.value) == f"'{record}' is not a complete record of sonnx_ort{told}"


@pytest.mark.parametrize(("name", "value", "told"), [
    ("edition", None, "KeyError('edition')"),
    ("broadcast", None, "KeyError('broadcast')"),
    ("operators", None, "KeyError('operators')"),
    ("contract", "[", "JSONDecodeError('Expecting value: line 1 column 2 (char 1)')"),
    ("contract", "[3]", "TypeError("),
])  # fmt: skip
def test_record_whose_options_cannot_be_asked_for_is_refused(made, name, value, told):
    source, target, record = made
    document = json.loads(record.read_text(encoding="utf-8"))
    options = document["metadata"]["properties"]
    options[:] = [each for each in options if each["name"] != f"sonnx_ort:{name}"]
    if value is not None:
        options.append({"name": f"sonnx_ort:{name}", "value": value})
    rewrite_record(record, document)
    for path in (source, target):
        with pytest.raises(sonnx_ort.SonnxError) as caught:
            sonnx_ort.verify(path, record, original=path == source)
        beginning = f"'{record}' is not a complete record of sonnx_ort ({told}"
        assert str(caught.value).startswith(beginning)


@pytest.mark.parametrize("missing", ["model", "record"])
def test_missing_file(made, missing):
    source, _, record = made
    (source if missing == "model" else record).unlink()
    with pytest.raises(sonnx_ort.SonnxError, match=r"cannot be read|there is no file"):
        sonnx_ort.verify(source, record, original=True)

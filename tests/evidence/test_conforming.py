"""A record of a conformed model names each change with its rule, and `verify` makes it again."""

import json
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.evidence.cyclonedx import serial_number
from sonnx_ort.evidence.verification import read_record
from support.graphs import parse

CUT = """(float[n,3] x) => (float[] y) <int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}>
    { [cut] y = Slice(x, s, e, a) }"""


@pytest.fixture(params=["python", "native", "compiled"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A model, what was made of it, and the record of that."""
    source, target, record = (tmp_path / n for n in ("model.onnx", "made.onnx", "record.json"))
    onnx.save(parse(CUT), source)
    options = {"operators": "Slice", "backend": request.param, "conform": True}
    sonnx_ort.rewrite_file(source, target, record=record, **options)
    return source, target, record


@pytest.mark.satisfies("Needs.AI-005")
def test_change_is_recorded_with_rules_node_and_what_was_added(
    made: tuple[Path, Path, Path],
) -> None:
    (mending,) = read_record(made[2]).mendings
    assert (mending.operator, mending.node, mending.path) == ("Slice", "cut", ())
    assert str(mending) == (
        "Slice.R3, Slice.R2 at Slice 'cut': name every axis and every step, by "
        + ", ".join(mending.added)
    )
    assert [added.partition(" ")[0] for added in mending.added] == ["Shape", "Slice", "Concat"]


def test_node_is_recorded_as_it_became(made: tuple[Path, Path, Path]) -> None:
    record = read_record(made[2])
    (change,) = [c for c in record.changes if c.node == "Slice 'cut'"]
    (mending,) = record.mendings
    assert set(mending.added) <= set(change.became)


def test_claim_rests_on_the_change(made: tuple[Path, Path, Path]) -> None:
    document = json.loads(made[2].read_text(encoding="utf-8"))
    claims = document["declarations"]["claims"]
    (claim,) = [c for c in claims if c["predicate"] == "Slice.R2 is kept at Slice 'cut'"]
    assert claim["evidence"][1:] == ["mending:1", "report:rewritten"]
    assert claim["reasoning"] == (
        "A change fixed it in the rewritten model without changing any result."
    )


@pytest.mark.parametrize("which", [0, 1])
def test_both_models_are_verified(made: tuple[Path, Path, Path], which: int) -> None:
    assert sonnx_ort.verify(made[which], made[2], original=which == 0).kept


def test_other_changes_of_today_are_told(made: tuple[Path, Path, Path]) -> None:
    source, _, record = made
    text = record.read_text(encoding="utf-8").replace("name every axis", "name each axis")
    document = json.loads(text)
    (subject,) = [document["metadata"]["component"]]
    subject["hashes"][0]["content"] = "0" * 64
    document["serialNumber"] = serial_number(document)
    record.write_text(json.dumps(document), encoding="utf-8")
    differences = sonnx_ort.verify(source, record, original=True).differences
    assert any(d.startswith("mending recorded, and not found today: ") for d in differences)

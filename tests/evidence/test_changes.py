"""Every node in which two models differ is told of, and each change of a conformed model."""

import json
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.evidence.cyclonedx import serial_number
from sonnx_ort.evidence.record import Change, changes
from sonnx_ort.evidence.verification import read_record
from support.backends import BACKENDS
from support.graphs import parse

TWO_NODES = """
    (float[3] x, float[3] y) => (float[3] z) {{
        [divide] q = Div(x, y)
        [{name}] z = {operator}(q{more})
    }}"""


def two_nodes(operator: str, *, name: str = "last", more: str = "") -> onnx.ModelProto:
    return parse(TWO_NODES.format(operator=operator, name=name, more=more))


def test_same_model_has_no_changes():
    assert changes(two_nodes("Abs"), two_nodes("Abs")) == ()


@pytest.mark.parametrize(("after", "became"), [
    (two_nodes("Neg"), ("Neg 'last'",)),
    (two_nodes("Abs", name="renamed"), ("Abs 'renamed'",)),
    (two_nodes("Add", more=", x"), ("Add 'last'",)),
], ids=["operator", "name", "inputs"])  # fmt: skip
def test_node_that_differs_is_told_of(after, became):
    assert changes(two_nodes("Abs"), after) == (Change("Abs 'last'", (), became),)


def test_attribute_that_differs_is_told_of():
    one, other = (
        parse(f"(float[3] x) => (float[3] y) {{ [soft] y = Softmax <axis = {axis}> (x) }}")
        for axis in (0, -1)
    )
    assert changes(one, other) == (Change("Softmax 'soft'", (), ("Softmax 'soft'",)),)


def test_what_a_node_says_for_people_makes_no_difference():
    described = two_nodes("Abs")
    described.graph.node[0].doc_string = "the mean"
    described.graph.node[0].metadata_props.add(key="by", value="hand")
    assert changes(two_nodes("Abs"), described) == ()


def test_node_that_is_gone_becomes_nothing():
    shorter = parse("(float[3] x, float[3] y) => (float[3] q) { [divide] q = Div(x, y) }")
    assert changes(two_nodes("Abs"), shorter) == (Change("Abs 'last'", (), ()),)


def test_node_that_nothing_led_to_is_added():
    longer = two_nodes("Abs")
    longer.graph.node.add(op_type="Neg", name="new", input=["x"], output=["n"])
    assert changes(two_nodes("Abs"), longer) == (Change("", (), ("Neg 'new'",)),)


def test_alias_of_the_default_domain_is_no_change():
    alias = two_nodes("Abs")
    alias.graph.node[0].domain = "ai.onnx"
    alias.opset_import[0].domain = "ai.onnx"
    assert changes(two_nodes("Abs"), alias) == ()


def test_change_in_a_subgraph_has_its_path_and_leaves_the_node_around_it():
    original = sonnx_ort.models.load("div_in_if")
    (told, _) = changes(original, sonnx_ort.rewrite(original))
    assert told.node == "Div 'divide'"
    assert told.path == ("If 'choose' then_branch",)
    assert told.became[0] == "sonnx::CheckedDiv 'divide'"


@BACKENDS
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_changes_and_kept_nodes_together_are_the_rewritten_model(name, backend):
    """Counted by hand: what is in no change has to be in both models, as it is."""
    original = sonnx_ort.models.load(name)
    try:
        rewritten = sonnx_ort.rewrite(
            original, broadcast="explicit", operators="all,-Graph", backend=backend
        )
    except sonnx_ort.SonnxError:
        return
    told = [change for change in changes(original, rewritten) if not change.path]
    before = [named(node) for node in original.graph.node]
    kept = [node for node in before if node not in {change.node for change in told}]
    made = dict.fromkeys(node for change in told for node in change.became)
    assert sorted([*kept, *made]) == sorted(named(node) for node in rewritten.graph.node)


def named(node: onnx.NodeProto) -> str:
    domain = f"{node.domain}::" if node.domain else ""
    return f"{domain}{node.op_type} '{node.name or f'(output {node.output[0]})'}'"


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

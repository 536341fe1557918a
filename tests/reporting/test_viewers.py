"""What viewers of others show: metadata of nodes for Netron, node data for model-explorer."""

import datetime as dt
import json
from pathlib import Path

import jsonschema
import onnx
import pytest

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.viewers import annotated, overlay
from support.checks import MADE
from support.graphs import parse

SCHEMA = Path(__file__).parent / "schemas" / "model-explorer-node-data.json"

LOOP = """
    (int64 trip, bool c, float[2] x, float[3] w) => (float[?] z) {
        [loop] z = Loop(trip, c, x) <
            body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] t) {
            k2 = Identity(k)
            [choose] t = If(k) <
                then_branch = tb () => (float[2] p) { [inner] p = Div(s, w) },
                else_branch = eb () => (float[2] q) { q = Neg(s) }>
        }>
    }"""

RELU = {"sonnx.standing": "bound by general restrictions alone", "sonnx.state": "no rules"}


def metadata(entries: onnx.ModelProto | onnx.NodeProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in entries.metadata_props}


def notes(made: onnx.ModelProto, **choices: str) -> dict[str, dict[str, str]]:
    written = annotated(made, sonnx_ort.check(made, **choices))
    return {node.name: metadata(node) for node in written.graph.node}


def without_metadata(proto: onnx.ModelProto) -> bytes:
    plain = onnx.ModelProto()
    plain.CopyFrom(proto)
    del plain.metadata_props[:]
    for node in plain.graph.node:
        del node.metadata_props[:]
    return plain.SerializeToString(deterministic=True)


def test_each_node_has_its_standing_state_and_what_is_not_proved() -> None:
    found = notes(parse(MADE), operators="default")
    assert found["relu"] == RELU
    assert found["ratio"] == {
        "sonnx.standing": "bound by a draft",
        "sonnx.state": "violated whenever it runs",
        "sonnx.violated": "Div.float.R1: rank 2 is not rank 1",
    }
    assert found["quotient"]["sonnx.state"] == "checked in each run"
    assert [each.split(": ")[0] for each in found["quotient"]["sonnx.runtime"].split("; ")] == [
        "Div.int.C1",
        "Div.int.C2",
    ]
    assert set(found["difference"]) == {"sonnx.standing", "sonnx.state"}


def test_what_is_said_of_a_value_is_at_the_node_that_gives_it() -> None:
    made = parse("(float[2] x) => (float[2] y) { [first] t = Relu(x) [last] y = Relu(t) }")
    assert (
        "Graph.implicit_shape: value 't': the file gives no shape"
        in notes(made, operators="profile")["first"]["sonnx.violated"]
    )


def test_what_is_said_of_no_node_is_in_the_metadata_of_the_model() -> None:
    made = parse(
        "(float[2] x, float[3] w) => (float[?] z) { [call] z = local.divide(x, w) }"
        ' <opset_import: ["" : 17], domain: "local"> divide (a, b) => (c)'
        " { [inner] c = Div(a, b) }",
        domains={"local": 1},
    )
    report = sonnx_ort.check(made, operators="default")
    told = metadata(annotated(made, report))
    assert told["sonnx.verdict"].startswith("Violated: ")
    assert "`" not in told["sonnx.verdict"]
    (place,) = {o.node for o in report.violations}
    assert told["sonnx.violated"].startswith(f"{place}: Div.float.R1: ")


def test_nodes_in_bodies_have_notes() -> None:
    made = parse(LOOP)
    written = annotated(made, sonnx_ort.check(made, operators="default"))
    (body,) = (a.g for a in written.graph.node[0].attribute)
    (branch,) = (a.g for a in body.node[1].attribute if a.name == "then_branch")
    assert metadata(branch.node[0])["sonnx.state"] == "violated whenever it runs"


def test_waived_violations_say_so() -> None:
    made = parse(MADE)
    waiver = sonnx_ort.Waiver("Div.float.R1", "ratio", "looked at", "a board", dt.date.max)
    report = sonnx_ort.check(made, operators="default", waivers=[waiver])
    (ratio,) = (node for node in annotated(made, report).graph.node if node.name == "ratio")
    assert "(waived by a board until 9999-12-31: looked at)" in metadata(ratio)["sonnx.violated"]


@pytest.mark.parametrize(
    "name", ["div_in_function", "div_sparse_initializer", "reciprocal_product", "digits", "lstm"]
)
def test_nothing_but_metadata_differs(name: str) -> None:
    made = sonnx_ort.models.load(name)
    assert without_metadata(annotated(made, sonnx_ort.check(made))) == without_metadata(made)


def test_notes_of_an_earlier_check_are_replaced_and_those_of_others_kept() -> None:
    made = parse(MADE)
    made.graph.node[0].metadata_props.add(key="author", value="someone")
    made.graph.node[0].metadata_props.add(key="sonnx.violated", value="of old")
    assert notes(made, operators="default")["relu"] == {"author": "someone", **RELU}


@pytest.mark.parametrize("backend", ["python", "native"])
def test_enforced_model_is_not_annotated_because_it_would_not_be_recognized(backend: str) -> None:
    made = sonnx_ort.rewrite(
        parse("(float[n] x, float[m] y) => (float[?] z) { z = Div(x, y) }"), backend=backend
    )
    with pytest.raises(SonnxError, match="annotate the model that it was made from"):
        annotated(made, sonnx_ort.check(made))


def laid_over(made: onnx.ModelProto, folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    onnx.save(made, folder / "m.onnx")
    report = sonnx_ort.check(made, operators="default")
    document = json.loads(overlay(Check((CheckedModel(str(folder / "m.onnx"), report),))))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    return {graph: data["results"] for graph, data in document.items()}


def test_overlay_has_the_state_of_each_node_by_name(tmp_path: Path) -> None:
    (results,) = laid_over(parse(MADE), tmp_path).values()
    assert {node: data["value"] for node, data in results.items()} == {
        "relu": "no rules", "ratio": "violated: Div.float.R1", "quotient": "checked in each run",
        "difference": "proved", "sum": "not looked at",
    }  # fmt: skip
    assert len({data["bgColor"] for data in results.values()}) == 5


def test_overlay_has_the_ids_of_the_viewer_for_bodies_and_nodes_without_a_name(
    tmp_path: Path,
) -> None:
    """As the adapter of ONNX models, model-explorer-onnx 0.4.2, gives them."""
    made = parse(LOOP)
    found = laid_over(made, tmp_path)
    assert {graph: list(results) for graph, results in found.items()} == {
        made.graph.name: ["loop"],
        "loop/body": ["node", "choose", "choose/then_branch/inner", "choose/else_branch/node"],
    }
    assert found["loop/body"]["choose/then_branch/inner"]["value"] == "violated: Div.float.R1"


@pytest.mark.parametrize("names", [["a.onnx", "b.onnx"], ["-"]], ids=["two", "standard input"])
def test_overlay_is_for_one_file(names: list[str]) -> None:
    report = sonnx_ort.check(parse(MADE))
    with pytest.raises(SonnxError, match="--format overlay is for one model, given as a file"):
        overlay(Check(tuple(CheckedModel(name, report) for name in names)))

"""Our own JSON keeps to its schema, and the schema knows all of it."""

import copy
import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sonnx_ort
from sonnx_ort import Contract, ShapeContract, SizeContract, ValueContract
from sonnx_ort.reporting.formats import json_report
from support.checks import MENDING, alone, mendable, mixed, together
from support.graphs import parse

INFINITE = float("inf")

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs/report.schema.json").read_text(encoding="utf-8")
)


def closed(schema: Any) -> Any:
    """The same schema, which allows no field that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(part) for key, part in schema.items()}
    if "properties" in made and "type" in made:
        made.setdefault("additionalProperties", False)
    return made


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sonnx_ort.models.names())
@pytest.mark.parametrize(
    "options", [{}, {"operators": "all,-Graph", "edition": "preliminary"}], ids=str
)
def test_reports_of_bundled_models_keep_to_the_schema(name: str, options: dict[str, str]) -> None:
    VALIDATOR.validate(json.loads(json_report(alone(sonnx_ort.models.load(name), **options))))


OF_ONE = sonnx_ort.Waiver("Div.float.R1", "ratio", "reason", "who", dt.date.max)
OF_MANY = replace(OF_ONE, node=None, operator="Div", count=2)


@pytest.mark.parametrize("waiver", [OF_ONE, OF_MANY], ids=["one", "many"])
def test_report_with_a_waiver_keeps_to_the_schema(waiver: sonnx_ort.Waiver) -> None:
    document = json.loads(json_report(alone(mixed(), waivers=[waiver])))
    VALIDATOR.validate(document)
    told = [o["waiver"] for o in document["obligations"] if o["waiver"]]
    assert [(w["operator"], w["nodes"], w["count"]) for w in told] == (
        [(waiver.operator, None, waiver.count)] * (waiver.count or 1)
    )


def test_report_with_new_violations_keeps_to_the_schema() -> None:
    model = parse("(float s, float[3] x) => (float[3] y) { r = Add(s, x) y = HardSigmoid(r) }")
    document = json.loads(json_report(alone(model, operators="profile")))
    VALIDATOR.validate(document)
    new = {"Mul.float.R1": 1, "Add.float.R1": 1}
    assert document["new_violations"] == {"safe": new, "rounding": new}


def test_model_alone_has_the_report_itself() -> None:
    assert json_report(alone(mixed())) == sonnx_ort.check(mixed(), operators="default").to_json()


def test_several_models_stand_under_their_names() -> None:
    document = json.loads(json_report(together()))
    VALIDATOR.validate(document)
    kept, broken, unusable = document["models"]
    assert document["format"] == "sonnx_ort.reports/1"
    assert (kept["name"], kept["report"]["ok"]) == ("kept.onnx", True)
    assert (broken["name"], broken["report"]["ok"]) == ("folder/broken.onnx", False)
    assert unusable == {"name": "none.onnx", "error": "there is no file 'none.onnx'"}


def _without(document: dict[str, Any], *path: str | int) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    part: Any = changed
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    return changed


@pytest.mark.parametrize("path", [
    ("format",),
    ("model", "sha256"),
    ("counts", "violated"),
    ("obligations", 0, "evidence"),
    ("obligations", 0, "operands", 0, "shape"),
    ("findings", 0, "place"),
    ("coverage", 0, "extent"),
], ids=str)  # fmt: skip
def test_schema_refuses_a_report_without_a_field(path: tuple[str | int, ...]) -> None:
    document = json.loads(json_report(alone(mixed())))
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(_without(document, *path))


CONTRACT = Contract(
    (ValueContract("x", (-2, 2)), ValueContract("y", (-INFINITE, INFINITE), "any")),
    (ShapeContract("y", ("n", None)),),
    (SizeContract("n", 1, 8, multiple_of=2),),
)


def test_report_with_a_contract_keeps_to_the_schema() -> None:
    made = parse("(float[n, 3] x, float[k, 3] y) => (float[n, 3] z) { z = Div(x, y) }")
    VALIDATOR.validate(json.loads(json_report(alone(made, contract=CONTRACT))))


@pytest.mark.parametrize(
    ("operators", "told"), [("Div", [False] * 2), ("Div,Graph.finite", [False, True])]
)
def test_intervals_of_operands_are_told_if_numbers_are_asked_for(
    operators: str, told: list[bool]
) -> None:
    made = parse("(float[3] x) => (float[3] z) { a = Relu(x) [scale] z = Div(x, a) }")
    report = sonnx_ort.check(made, operators=operators).to_document()
    (found,) = (o for o in report["obligations"] if o["rule"] == "Div.float.R1")
    assert ["range" in operand for operand in found["operands"]] == told


def test_what_is_known_of_operands_stands_in_the_document() -> None:
    text = "(float[n] x, float[n] y) => (float[n] z) { a = Sqrt(y) [scale] z = Div(x, a) }"
    contract = replace(CONTRACT, shapes=())
    report = sonnx_ort.check(parse(text), contract=contract).to_document()
    (found,) = (o for o in report["obligations"] if o["rule"] == "Div.float.R1")
    sizes = {"n": {"least": 2, "most": 8}}
    assert [(p["range"], p["sizes"]) for p in found["operands"]] == [
        ({"least": -2.0, "most": 2.0}, sizes),
        ({"least": 0.0, "most": "inf", "nan": True}, sizes),
    ]
    assert json.loads(json.dumps(report))["contract"][1]["range"] == ["-inf", "inf"]


def test_what_conform_would_do_stands_in_the_document() -> None:
    document = json.loads(json_report(alone(mendable(), operators="profile,-Graph")))
    VALIDATOR.validate(document)
    told = {o["rule"]: o["mendable"] for o in document["obligations"] if o["mendable"]}
    assert told == {"Concat.R1": MENDING}

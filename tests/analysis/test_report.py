"""The report as a whole: what it counts, what it is about, and its JSON form."""

import copy
import hashlib
import importlib.metadata
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.report import LeftOut, ModelRejected, Report
from sonnx_ort.profile.rule import Status
from support.graphs import parse

REPOSITORY = Path(__file__).resolve().parents[2]

TEXT = """
    (float[n, 3] x, float[3] y, int32[2] i, bool c)
        => (float[?, ?] z, int32[2] k, float[?, ?] w) {
        [rectify] r = Softplus(x)
        [ratio] z = Div(r, y)
        [difference] k = Sub(i, i)
        [choose] w = If(c) <
            then_branch = t () => (float[?, ?] p) { [inner] p = Div(x, x) },
            else_branch = e () => (float[?, ?] q) { q = LogSoftmax(x) }>
    }"""


@pytest.fixture(name="made")
def _made() -> onnx.ModelProto:
    return parse(TEXT)


@pytest.fixture(name="report")
def _report(made: onnx.ModelProto) -> Report:
    return sonnx_ort.check(made, operators="default")


def test_counts_are_those_of_the_obligations(report: Report) -> None:
    assert report.counts == {"proved": 8, "runtime": 0, "violated": 1}
    assert sum(report.counts.values()) == len(report.obligations)


def test_violations_are_the_violated_obligations(report: Report) -> None:
    assert [o.status for o in report.violations] == [Status.VIOLATED]
    assert not report.ok


def test_what_is_left_to_the_run_is_no_violation() -> None:
    made = parse("(float[n] x, float[m] y) => (float[] z) { z = Div(x, y) }")
    report = sonnx_ort.check(made, operators="default")
    assert report.ok
    assert report.counts["runtime"] == 1


def test_summary(report: Report) -> None:
    assert report.summary() == (
        "edition typed, broadcast reject, backend python: "
        "9 checks: 8 proved, 0 runtime, 1 violated; "
        "3 findings; 3 nodes not looked at"
    )


def test_model_is_identified_by_the_digest_of_its_bytes(made: onnx.ModelProto) -> None:
    content = made.SerializeToString(deterministic=True)
    digest = hashlib.sha256(content).hexdigest()
    assert sonnx_ort.check(content, operators="default").identity.sha256 == digest
    assert sonnx_ort.check(made, operators="default").identity.sha256 == digest


def test_file_is_identified_by_the_digest_of_its_bytes(
    made: onnx.ModelProto, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert sonnx_ort.check(path, operators="default").identity.sha256 == digest


@pytest.mark.parametrize("choices", [{}, {"edition": "preliminary"}, {"broadcast": "explicit"}])
def test_report_is_the_same_each_time(made: onnx.ModelProto, choices: dict[str, str]) -> None:
    first = sonnx_ort.check(made, **{"operators": "default", **choices})
    assert sonnx_ort.check(made, **{"operators": "default", **choices}).to_json() == first.to_json()


def test_model_is_not_modified(made: onnx.ModelProto) -> None:
    before = made.SerializeToString(deterministic=True)
    sonnx_ort.check(made, operators="default", broadcast="explicit")
    assert made.SerializeToString(deterministic=True) == before


def test_model_with_constants_in_functions_is_not_modified() -> None:
    made = parse(
        "(float[n] x) => (float[n] z)"
        " { y = local.fun(x) z = local.fun(y) }"
        ' <opset_import: ["" : 17], domain: "local"> fun (a) => (b)'
        " { c = Constant<value = float[1] {2}>() b = Div(a, c) }",
        domains={"local": 1},
    )
    made.functions[0].node[0].attribute[0].t.name = "c"
    before = made.SerializeToString(deterministic=True)
    sonnx_ort.check(made, operators="default")
    assert made.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("kind", ["path", "text path", "bytes", "ModelProto", "onnx_ir.Model"])
def test_model_may_be_given_in_any_form(made: onnx.ModelProto, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    given = {
        "path": path,
        "text path": str(path),
        "bytes": path.read_bytes(),
        "ModelProto": made,
        "onnx_ir.Model": ir.load(path),
    }[kind]
    assert sonnx_ort.check(given, operators="default").counts == {
        "proved": 8,
        "runtime": 0,
        "violated": 1,
    }


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"edition": "final"}, "edition='final' is unknown; choose 'typed' or 'preliminary'"),
        ({"broadcast": "yes"}, "broadcast='yes' is unknown; choose 'reject' or 'explicit'"),
    ],
)
def test_unknown_choice(made: onnx.ModelProto, choices: dict[str, str], message: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.check(made, **{"operators": "default", **choices})
    assert str(caught.value) == message


def covered(operator: str, nodes: int, extent: str, standing: str) -> dict[str, object]:
    """What a document says of the nodes of an operator."""
    return {"operator": operator, "nodes": nodes, "extent": extent, "standing": standing}


class TestJson:
    @staticmethod
    def document(report: Report) -> dict[str, object]:
        document: dict[str, object] = json.loads(report.to_json())
        return document

    def test_head(self, report: Report) -> None:
        document = self.document(report)
        assert document | {"rules": None, "obligations": None, "findings": None} == {
            "format": "sonnx_ort.report/1",
            "model": {"sha256": report.identity.sha256, "opsets": {"": 17}},
            "versions": {
                package: importlib.metadata.version(package)
                for package in ("sonnx_ort", "onnx", "onnx-ir", "onnxruntime")
            },
            "edition": "typed",
            "broadcast": "reject",
            "backend": "python",
            "operators": ["Broadcast", "Div", "Sub"],
            "contract": [],
            "settings": None,
            "ok": False,
            "counts": {"proved": 8, "runtime": 0, "violated": 1},
            "waived": 0,
            "operands": {"count": 6, "known_rank": 6, "known_sizes": 3},
            "rules": None,
            "obligations": None,
            "findings": None,
            "coverage": [
                covered("Div", 2, "enforced", "a draft"),
                covered("Softplus", 1, "no rules", "general restrictions only"),
                covered("Sub", 1, "enforced", "a draft"),
                covered("If", 1, "no rules", "outside the profile"),
                covered("LogSoftmax", 1, "no rules", "outside the profile"),
            ],
            "not_covered": {"Softplus": 1, "If": 1, "LogSoftmax": 1},
            "standings": {
                "a draft": 3,
                "rules of sonnx_ort": 0,
                "general restrictions only": 1,
                "outside the profile": 2,
            },
            "left_out": {
                "rules": [],
                "counts": {"proved": 0, "runtime": 0, "violated": 0},
                "findings": 0,
            },
        }

    def test_rules_carry_their_sources(self, report: Report) -> None:
        rules = self.document(report)["rules"]
        assert isinstance(rules, dict)
        assert set(rules) == {o.rule.id for o in report.obligations}
        assert rules["Div.float.R1"] == {
            "sentence": "Tensors A, B and C must have the same shape.",
            "document": "SONNX Div, typed edition",
            "section": "section FP16, FP32, FP64, BFLOAT16",
            "tag": "R1",
            "standing": "stated",
            "basis": "stated",
            "words": "as written",
            "remark": "",
            "later_tag": "E_DIV_FLOAT_CONSTR_A_0010",
            "needed_before": None,
        }

    def test_findings(self, report: Report) -> None:
        assert self.document(report)["findings"] == [
            {
                "restriction": "GR4",
                "place": "LogSoftmax '(output q)'",
                "detail": "'axis' is left out; ONNX assumes -1",
            },
            {"restriction": "GR2", "place": "value 'r'", "detail": "the file gives no type"},
            {
                "restriction": "Graph.implicit_shape",
                "place": "value 'r'",
                "detail": "the file gives no shape",
            },
        ]

    def test_obligation(self, report: Report) -> None:
        obligations = self.document(report)["obligations"]
        assert isinstance(obligations, list)
        assert len(obligations) == 9
        violated = [o["status"] == "violated" for o in obligations]
        assert [o["refused"] for o in obligations] == violated
        assert obligations[8] == {
            "rule": "Div.float.R1",
            "operator": "Div",
            "node": "inner",
            "path": ["If 'choose' then_branch"],
            "status": "proved",
            "enforced": True,
            "refused": False,
            "evidence": "both shapes are (n, 3)",
            "hint": "",
            "operands": [
                {
                    "letter": letter,
                    "value": "x",
                    "origin": "input",
                    "element_type": "float",
                    "shape": ["n", 3],
                    "constant": False,
                }
                for letter in "AB"
            ],
            "mendable": None,
            "rounding": False,
            "waiver": None,
        }

    @pytest.mark.parametrize(
        ("declared", "element_type", "shape"),
        [
            ("float[n, 3]", "float", ["n", 3]),
            ("int8[0, m]", "int8", [0, "m"]),
            ("bfloat16[2]", "bfloat16", [2]),
            ("float16[]", "float16", None),
        ],
    )
    def test_operand(
        self, declared: str, element_type: str, shape: list[int | str | None] | None
    ) -> None:
        made = parse(f"({declared} x) => ({declared} z) {{ z = Sub(x, x) }}")
        obligations = self.document(sonnx_ort.check(made, operators="default"))["obligations"]
        assert isinstance(obligations, list)
        operand = obligations[0]["operands"][0]
        assert operand["element_type"] == element_type
        assert operand["shape"] == shape

    def test_constant_operand(self) -> None:
        made = parse("(int32[2] x) => (int32[2] z) <int32[2] w = {1, 2}> { z = Div(x, w) }")
        obligations = self.document(sonnx_ort.check(made, operators="default"))["obligations"]
        assert isinstance(obligations, list)
        operands = obligations[0]["operands"]
        assert [(o["origin"], o["constant"]) for o in operands] == [
            ("input", False),
            ("initializer", True),
        ]

    def test_every_field_is_documented(self, report: Report) -> None:
        documentation = (REPOSITORY / "docs" / "report.md").read_text(encoding="utf-8")
        document = self.document(report)
        obligations, findings = document["obligations"], document["findings"]
        assert isinstance(obligations, list)
        assert isinstance(findings, list)
        fields = {*document, *obligations[0], *obligations[0]["operands"][0], *findings[0]}
        fields |= {"model.sha256", "model.opsets"}
        fields -= {"model"}
        missing = {
            field for field in fields if not re.search(rf"`{re.escape(field)}`", documentation)
        }
        assert missing == set()


class TestTellingViolations:
    """Of a model of two nodes that break a rule, and one of an operator that is not asked for."""

    TEXT = """(float[2] x, float[1] z, float[3] w) => (float[2] y, float[2] v) {
        ["<a> & b"] y = Div(x, z)
        [e] v = Div(x, w)
        q = Add(x, x)
    }"""
    TO_EXPAND = 'rewrite with broadcast="explicit", which expands B from (1,) to (2,)'

    NO_COMMON = "the shapes cannot be broadcast to each other; correct the model"

    @pytest.fixture(name="broken")
    def _broken(self) -> Report:
        return sonnx_ort.check(parse(self.TEXT), operators="default")

    def test_counts_what_was_not_asked_for(self, broken: Report) -> None:
        assert broken.summary() == (
            "edition typed, broadcast reject, backend python: "
            "6 checks: 4 proved, 0 runtime, 2 violated; "
            "3 findings; 1 node not looked at"
        )

    def test_as_text(self, broken: Report) -> None:
        rule = (
            "    the rule: Tensors A, B and C must have the same shape. "
            "(SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16 [R1])"
        )
        assert broken.describe_violations().splitlines() == [
            "the model breaks the SONNX profile (edition typed): 2 violations at 2 nodes",
            "1. Div '<a> & b': Div.float.R1 violated: axis 0 has size 2 in A and 1 in B",
            "    A 'x' float (2,) [input]",
            "    B 'z' float (1,) [input]",
            rule,
            f"    to fix it: {self.TO_EXPAND}",
            "2. Div 'e': Div.float.R1 violated: axis 0 has size 2 in A and 3 in B",
            "    A 'x' float (2,) [input]",
            "    B 'w' float (3,) [input]",
            rule,
            f"    to fix it: {self.NO_COMMON}",
        ]

    def test_as_text_counts_each_node_once(self) -> None:
        made = parse("(float[2] x, float[1] z) => (int32[2] y) { y = Div(x, z) }")
        (head, *_) = sonnx_ort.check(made, operators="default").describe_violations().splitlines()
        assert head.endswith(": 2 violations at 1 node")


def test_json_is_indented_and_keeps_letters() -> None:
    made = parse("(float[2] x) => (float[2] y) { [n] y = Div(x, x) }")
    made.graph.node[0].name = "ü"
    report = sonnx_ort.check(made, operators="default")
    assert report.to_json().startswith('{\n  "format": "sonnx_ort.report/1",\n  "model": {\n    "')
    assert '"ü"' in report.to_json()


def test_nothing_left_out_is_not_told_of() -> None:
    assert str(LeftOut()) == ""


COPIES = {
    "pickled": lambda made: pickle.loads(pickle.dumps(made)),  # noqa: S301 - its own
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}
"""How a result is given to another process, or kept."""


@pytest.mark.parametrize("kept", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_report_of_the_whole_profile_stays_the_same_in_another_process(
    name: str, kept: Callable[[Any], Any]
) -> None:
    report = sonnx_ort.check(sonnx_ort.models.path(name), forecast=False)
    again: Report = kept(report)
    assert again.to_json() == report.to_json()
    assert [each.rule for each in again.obligations] == [each.rule for each in report.obligations]


@pytest.mark.parametrize("kept", COPIES.values(), ids=COPIES)
def test_rejection_keeps_its_report_and_message_in_another_process(
    made: onnx.ModelProto, kept: Callable[[Any], Any]
) -> None:
    with pytest.raises(ModelRejected) as caught:
        sonnx_ort.rewrite(made)
    again: ModelRejected = kept(caught.value)
    assert str(again) == str(caught.value)
    assert again.report.to_json() == caught.value.report.to_json()

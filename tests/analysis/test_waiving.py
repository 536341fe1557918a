"""What waivers change in a report, one violation each, and in what is enforced of a node."""

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import sonnx_ort
from sonnx_ort.analysis.examination import apply_waivers
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import waiver_of
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waiving import mark, still_violated, waive
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.formats import junit_report, sarif_report
from sonnx_ort.reporting.text_report import text_report
from support.checks import mixed
from support.examined import examined as examine
from support.graphs import parse

TODAY = dt.date(2026, 6, 1)
RATIO = sonnx_ort.Waiver("Div.float.R1", "ratio", "one number", "the board", TODAY)
INNER = replace(RATIO, node="inner")
TOLD = "by the board until 2026-06-01: one number"


@pytest.fixture(scope="module")
def whole() -> Report:
    return sonnx_ort.check(mixed(), operators="default")


def waived(report: Report, *waivers: sonnx_ort.Waiver, today: dt.date = TODAY) -> Report:
    (marked,) = waive([report], waivers, today)
    return marked


def nodes(obligations: Iterable[sonnx_ort.Obligation]) -> list[str]:
    return [obligation.node for obligation in obligations]


def test_waived_violation_fails_no_check_and_is_told_of(whole: Report) -> None:
    report = waived(whole, RATIO)
    assert nodes(report.violations) == ["inner"]
    assert nodes(report.waived) == ["ratio"]
    assert report.counts == whole.counts
    assert f"{whole.counts['violated']} violated, 1 of these waived; " in report.summary()


def test_report_is_kept_when_all_is_waived(whole: Report) -> None:
    assert waived(whole, RATIO, INNER).ok
    assert not whole.ok


def test_waiver_holds_until_its_last_day_and_is_told_of_behind_it(whole: Report) -> None:
    report = waived(whole, RATIO, today=TODAY + dt.timedelta(days=1))
    assert nodes(report.violations) == ["ratio", "inner"]
    assert not report.waived
    assert f"      waiver EXPIRED, was waived {TOLD}\n" in text_report(report)


UNBOUND = "no such node has this rule; correct or remove the waiver"


@pytest.mark.parametrize(("changed", "place", "why"), [
    ({"node": "none"}, "node 'none'", UNBOUND),
    ({"rule": "Div.float.R2"}, "node 'ratio'", "the rule is proved there; remove the waiver"),
    ({"rule": "Div.int.C1", "node": "quotient"}, "node 'quotient'",
     "the rule is runtime there; remove the waiver"),
    ({"path": ("If 'choose' then_branch",)}, "node 'ratio' in If 'choose' then_branch",
     UNBOUND),
    ({"model": "0" * 64}, "node 'ratio'", UNBOUND),
], ids=str)  # fmt: skip
def test_waiver_of_no_violation(
    whole: Report, changed: dict[str, Any], place: str, why: str
) -> None:
    waiver = replace(RATIO, origin="'w.toml', entry 3", **changed)
    with pytest.raises(SonnxError) as caught:
        waived(whole, waiver)
    assert str(caught.value) == (
        f"'w.toml', entry 3: the waiver of {waiver.rule} at {place} matches no violation: {why}"
    )


def test_expired_waiver_of_no_violation_is_an_error_too(whole: Report) -> None:
    with pytest.raises(SonnxError, match="matches no violation"):
        waived(whole, replace(RATIO, node="none", until=dt.date(2020, 1, 1)))


def test_waiver_of_an_operator_that_is_not_enforced() -> None:
    report = sonnx_ort.check(
        parse("(float[3] x, float[2, 3] y) => (float[2, 3] z) { [total] z = Add(x, y) }"),
        operators="default",
    )
    with pytest.raises(SonnxError, match="Add is not among the enforced operators"):
        waived(report, replace(RATIO, rule="Add.float.R1", node="total"))


def test_second_waiver_of_one_violation(whole: Report) -> None:
    second = replace(RATIO, path=(), origin="'w.toml', entry 2")
    with pytest.raises(SonnxError) as caught:
        waived(whole, RATIO, second)
    assert str(caught.value) == (
        "'w.toml', entry 2: the waiver of Div.float.R1 at node 'ratio' is the second waiver for "
        "the violation at Div 'ratio'; remove one"
    )


BRANCHES = """(float[3] x, float[1] y, bool c) => (float[3] w) {
    [choose] w = If(c) <
        then_branch = t () => (float[3] p) { [inner] p = Div(x, y) },
        else_branch = e () => (float[3] q) { [inner] q = Div(x, y) }> }"""


def test_nodes_of_one_name_are_told_apart_by_their_path() -> None:
    report = sonnx_ort.check(parse(BRANCHES), operators="default")
    with pytest.raises(SonnxError) as refused:
        waived(report, INNER)
    assert str(refused.value) == (
        "the waiver of Div.float.R1 at node 'inner' matches 2 violations; add 'path' or 'model' to "
        "select one"
    )
    marked = waived(report, replace(INNER, path=("If 'choose' else_branch",)))
    assert [o.path for o in marked.waived] == [("If 'choose' else_branch",)]


def test_models_with_the_same_violation_are_told_apart_by_their_digest(whole: Report) -> None:
    text = "(float[3] x, float[1] y) => (float[3] z) { [ratio] z = Div(x, y) }"
    other = sonnx_ort.check(parse(text), operators="default")
    with pytest.raises(SonnxError, match="matches 2 violations; add"):
        waive([whole, other], [RATIO], TODAY)
    first, second = waive([whole, other], [replace(RATIO, model=other.identity.sha256)], TODAY)
    assert (len(first.waived), len(second.waived)) == (0, 1)


MANY = """(float[3] x, float[1] y, float[3] u, float[n] v, bool c) => (float[3] w) {
    [layer_0] a = Div(x, y)
    [layer_1] b = Div(a, y)
    [layer_2] d = Div(b, x)
    [layer_3] e = Div(d, v)
    [total] f = Sub(e, y)
    [choose] w = If(c) <
        then_branch = t () => (float[3] p) { [inner] p = Div(f, y) },
        else_branch = e () => (float[3] q) { [inner] q = Div(f, y) }> }"""
OF_DIV = replace(RATIO, node=None, operator="Div", count=4)
OF_LAYERS = replace(OF_DIV, operator=None, nodes="layer_*", count=2)


@pytest.fixture(scope="module")
def large() -> Report:
    return sonnx_ort.check(parse(MANY), operators="default")


@pytest.mark.parametrize(
    ("waiver", "expected"),
    [
        (OF_DIV, ["layer_0", "layer_1", "inner", "inner"]),
        (OF_LAYERS, ["layer_0", "layer_1"]),
        (replace(OF_DIV, nodes="inner", count=2), ["inner", "inner"]),
        (replace(OF_LAYERS, nodes="*_1", count=1), ["layer_1"]),
        (replace(OF_DIV, rule="Sub.float.R1", operator="Sub", count=1), ["total"]),
    ],
    ids=str,
)
def test_waiver_of_many_nodes_covers_their_violations(
    large: Report, waiver: sonnx_ort.Waiver, expected: list[str]
) -> None:
    report = waived(large, waiver)
    assert nodes(report.waived) == expected
    assert {o.waiver for o in report.waived} == {waiver}
    assert len(report.violations) == 5 - len(expected)


FOUR = "Div 'layer_0', Div 'layer_1', Div 'inner' in If 'choose' then_branch"
REVIEW = "; review them, and correct the waiver or the model"
SECOND = "is the second waiver for the violation at Div 'layer_0'; remove one"
LAYER_0 = replace(RATIO, node="layer_0")


@pytest.mark.parametrize(("waivers", "said"), [
    ([replace(OF_DIV, count=3)],
     f"matches 4 violations, but its 'count' is 3: {FOUR}, and 1 more{REVIEW}"),
    ([replace(OF_DIV, count=300)],
     f"matches 4 violations, but its 'count' is 300: {FOUR}, and 1 more{REVIEW}"),
    ([replace(OF_DIV, nodes="layer_*")],
     f"matches 2 violations, but its 'count' is 4: Div 'layer_0', Div 'layer_1'{REVIEW}"),
    ([replace(OF_DIV, nodes="*_1", count=2)],
     f"matches 1 violation, but its 'count' is 2: Div 'layer_1'{REVIEW}"),
    ([replace(OF_DIV, nodes="decoder/*")], f"matches no violation: {UNBOUND}"),
    ([replace(OF_DIV, operator="Erf")], f"matches no violation: {UNBOUND}"),
    ([replace(OF_DIV, operator="Sub")], f"matches no violation: {UNBOUND}"),
    ([replace(OF_DIV, model="0" * 64)], f"matches no violation: {UNBOUND}"),
    ([replace(OF_DIV, nodes="layer_[23]")],
     "matches no violation: the rule is proved or runtime there; remove the waiver"),
    ([replace(OF_DIV, nodes="layer_2")],
     "matches no violation: the rule is proved there; remove the waiver"),
    ([OF_DIV, OF_LAYERS], SECOND),
    ([OF_LAYERS, OF_DIV], SECOND),
    ([OF_DIV, LAYER_0], SECOND),
], ids=str)  # fmt: skip
def test_waiver_of_many_nodes_is_refused(
    large: Report, waivers: list[sonnx_ort.Waiver], said: str
) -> None:
    with pytest.raises(SonnxError) as caught:
        waived(large, *waivers)
    assert str(caught.value) == f"{waivers[-1].place} {said}"


def test_waiver_of_many_nodes_expires(large: Report) -> None:
    report = waived(large, OF_LAYERS, today=TODAY + dt.timedelta(days=1))
    assert not report.waived
    assert [o.node for o in report.violations if o.waiver_expired] == ["layer_0", "layer_1"]


def test_number_is_of_all_models_unless_one_is_named(large: Report) -> None:
    other = sonnx_ort.check(
        parse("(float[3] x, float[1] y) => (float[3] z) { [d] z = Div(x, y) }"), operators="default"
    )
    first, second = waive([large, other], [replace(OF_DIV, count=5)], TODAY)
    assert (len(first.waived), len(second.waived)) == (4, 1)
    of_one = replace(OF_DIV, model=large.identity.sha256)
    first, second = waive([large, other], [of_one], TODAY)
    assert (len(first.waived), len(second.waived)) == (4, 0)


def test_first_waiver_that_names_an_obligation_is_its_own(whole: Report) -> None:
    (obligation,) = (o for o in whole.violations if o.node == "ratio")
    own, second = replace(RATIO, path=(), model="another"), replace(RATIO, reason="second")
    assert waiver_of(obligation, [INNER, own, second]) is own
    assert waiver_of(obligation, [INNER, replace(RATIO, path=("a",))]) is None


class TestMarking:
    """Waivers that were given for another report mark what they name, and nothing else."""

    @pytest.mark.parametrize(
        ("waivers", "expected"),
        [
            ([RATIO], ["ratio"]),
            ([RATIO, INNER], ["ratio", "inner"]),
            ([replace(INNER, path=("If 'choose' then_branch",))], ["inner"]),
            ([replace(INNER, path=("If 'choose' else_branch",))], []),
            ([replace(RATIO, node="none"), INNER], ["inner"]),
            ([replace(RATIO, rule="Div.float.R2")], []),
            ([], []),
        ],
        ids=str,
    )
    def test_marks_violations(
        self, whole: Report, waivers: list[sonnx_ort.Waiver], expected: list[str]
    ) -> None:
        marked = mark(whole, waivers, TODAY)
        assert nodes(marked.waived) == expected
        plain = tuple(replace(o, waiver=None, waiver_expired=False) for o in marked.obligations)
        assert replace(marked, obligations=plain) == whole
        assert {o.waiver for o in marked.waived} <= set(waivers)
        assert {o.node for o in marked.obligations if o.waiver} == set(expected)

    def test_marks_one_that_expired_as_such(self, whole: Report) -> None:
        marked = mark(whole, [RATIO], TODAY + dt.timedelta(days=1))
        assert [(o.node, o.waiver_expired) for o in marked.obligations if o.waiver] == [
            ("ratio", True)
        ]

    def test_marks_nothing_that_is_not_enforced(self) -> None:
        report = sonnx_ort.check(
            parse("(float[3] x, float[2, 3] y) => (float[2, 3] z) { [total] z = Add(x, y) }"),
            operators="default",
        )
        assert mark(report, [replace(RATIO, rule="Add.float.R1", node="total")], TODAY) == report


SHAPES = sonnx_ort.Waiver("Div.float.R1", "d", "it fits", "the board", dt.date(9999, 12, 31))
TYPES = replace(SHAPES, rule="Div.float.R2")


def examined(
    a: str, b: str, result: str, broadcasting: Broadcasting = Broadcasting.REJECT
) -> ExaminedNode:
    graph = (
        f"(float[{a}] x, float[{b}] z, bool c) => ({result}[?] y) {{ [i] y = If(c) <"
        f"then_branch = t () => ({result}[?] p) {{ [d] p = Div(x, z) }},"
        f" else_branch = e () => ({result}[?] q) {{ q = Identity(x) }}> }}"
    )
    demands = Demands(Edition.TYPED, broadcasting, DEFAULT_OPERATORS)
    (node,) = examine(parse(graph), demands).nodes
    return node


@pytest.mark.parametrize(
    ("node", "waivers", "waived", "broadcast"),
    [
        (("2", "1", "float"), [SHAPES], "Div.float.R1", True),
        (("2", "1", "float"), [replace(SHAPES, path=("If 'i' then_branch",))], SHAPES.rule, True),
        (("2", "1", "float"), [replace(SHAPES, path=())], "", False),
        (("2", "1", "float"), [replace(SHAPES, node="other")], "", False),
        (("2", "1", "float"), [TYPES], "", False),
        (("2", "1", "float"), [], "", False),
        (("2", "2", "float"), [SHAPES], "", False),
        (("2", "2", "int32"), [TYPES], "Div.float.R2", False),
        (("2", "1", "int32"), [TYPES], "Div.float.R2", False),
        (("2", "1", "int32"), [SHAPES], "Div.float.R1", True),
        (("2", "1", "int32"), [SHAPES, TYPES], "Div.float.R2 Div.float.R1", True),
    ],
    ids=str,
)
def test_broadcast_takes_the_place_of_equal_shapes_that_are_waived(
    node: tuple[str, str, str], waivers: list[sonnx_ort.Waiver], waived: str, *, broadcast: bool
) -> None:
    given, behind = examined(*node), examined(*node, Broadcasting.EXPLICIT)
    found = apply_waivers(given, waivers, lambda: behind)
    assert " ".join(o.rule.id for o in found.waived) == waived
    assert all(o in given.obligations for o in found.waived)
    assert replace(found, waived=()) == (behind if broadcast else given)


@pytest.mark.parametrize(
    ("waived", "left"),
    [([], []), (["R1"], ["Div.float.R1"]), (["R2"], []), (["R1", "R2"], ["Div.float.R1"])],
    ids=str,
)
def test_shapes_stay_violated_where_no_broadcast_makes_them_equal(
    waived: list[str], left: list[str]
) -> None:
    node = examined("2", "1", "int32")
    parts = {o.rule.id.rpartition(".")[2]: o for o in node.obligations}
    found = still_violated(replace(node, waived=tuple(parts[name] for name in waived)))
    assert [o.rule.id for o in found] == left


def test_nothing_stays_violated_behind_a_broadcast() -> None:
    found = apply_waivers(
        examined("2", "1", "int32"),
        [SHAPES, TYPES],
        lambda: examined("2", "1", "int32", Broadcasting.EXPLICIT),
    )
    assert still_violated(found) == ()


def test_rewrite_and_session_reject_what_is_waived(whole: Report) -> None:
    made = mixed()
    later = replace(RATIO, until=dt.date.max)
    assert sonnx_ort.check(
        made, operators="default", waivers=[later, replace(later, node="inner")]
    ).ok
    for enforce in (sonnx_ort.rewrite, sonnx_ort.InferenceSession):
        with pytest.raises(sonnx_ort.ModelRejected) as caught:
            enforce(made)
        assert nodes(caught.value.report.violations) == nodes(whole.violations)


@pytest.fixture
def report(whole: Report) -> Report:
    return waived(whole, RATIO)


class TestForms:
    def test_text_has_a_section_of_its_own(self, report: Report) -> None:
        text = text_report(report)
        start = text.index(
            "waived: these fail in every run that reaches the node, and a waiver accepts them (1)\n"
        )
        section = text[start : text.index("\n\n", start)]
        assert section.startswith("waived", 0)
        assert "  Div.float.R1 at Div 'ratio' [*]\n" in section
        assert section.endswith(f"\n      waived {TOLD}")
        assert "violated: these fail in every run that reaches the node (1)\n" in text

    def test_json_says_who_and_until_when(self, report: Report) -> None:
        document = json.loads(report.to_json())
        assert (document["ok"], document["waived"]) == (False, 1)
        (found,) = [o["waiver"] for o in document["obligations"] if o["waiver"]]
        assert found == {
            "reason": "one number", "who": "the board", "until": "2026-06-01", "expired": False,
            "operator": None, "nodes": None, "count": None,
        }  # fmt: skip

    def test_each_form_says_how_many_a_waiver_covers(self, large: Report) -> None:
        many = waived(large, OF_LAYERS)
        said = "waived by the board until 2026-06-01, 2 in all: one number"
        check = Check((CheckedModel("m.onnx", many),))
        assert text_report(many).count(f"\n      {said}\n") == 2
        assert sarif_report(check).count(f'"justification": "{said}"') == 2
        assert junit_report(check).count(f'message="{said}"') == 2

    def test_sarif_suppresses_it(self, report: Report) -> None:
        check = Check((CheckedModel("m.onnx", report),))
        (run,) = json.loads(sarif_report(check))["runs"]
        suppressed = [r for r in run["results"] if r["suppressions"]]
        said = {"kind": "external", "status": "accepted", "justification": f"waived {TOLD}"}
        assert [(r["level"], r["suppressions"]) for r in suppressed] == [("error", [said])]

    def test_junit_skips_it(self, report: Report) -> None:
        root = ET.fromstring(junit_report(Check((CheckedModel("m.onnx", report),))))  # noqa: S314
        (skipped,) = root.iter("skipped")
        assert skipped.attrib == {"type": "waived", "message": f"waived {TOLD}"}
        assert (root.attrib["failures"], root.attrib["skipped"]) == ("1", "1")

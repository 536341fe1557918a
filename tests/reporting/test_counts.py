"""Every count of a report is that of a recount: of the entries of its JSON, and of the file.

The counts are of bundled models, and of two more. What a report counts once for all its forms is
counted here again, with nothing of the report but its entries.
"""

import datetime as dt
import functools
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
import onnx.inliner
import pytest

import sonnx_ort
from sonnx_ort.reporting.checked_models import Check
from sonnx_ort.reporting.formats import json_report, junit_report, sarif_report
from sonnx_ort.reporting.text_report import overviews, statistics, text_reports
from support.checks import alone, mixed
from support.graphs import parse

Entries = list[dict[str, Any]]

_STATUSES = ("proved", "runtime", "violated")

_OPTIONS: Mapping[str, dict[str, str]] = {
    "profile": {"operators": "profile"},
    "default": {},
    "preliminary": {"operators": "all,-Graph", "edition": "preliminary"},
    "explicit": {"operators": "all", "broadcast": "explicit"},
}

_BUNDLED = (
    "div_int32",
    "div_broadcast_row",
    "div_constant_zero_divisor",
    "div_broadcast_zero_divisor",
    "div_open_rank",
    "div_false_value_info",
    "div_in_if",
    "div_in_if_in_loop",
    "sub_in_scan",
    "div_in_function",
    "div_opset_6_broadcast",
    "div_opset_1_misfit",
    "normalization_broadcast",
    "normalization_by_the_profile",
    "constant_and_shape",
    "reciprocal_product",
    "p_relu_of_one_size",
    "bitwise_and_of_one_size",
    "convolution",
    "dilated_max_pool",
    "leaky_relu_by_default",
    "lstm",
    "digits",
    "digits_convolutional",
)
"""Those that differ in what there is to count."""

_NAMESAKES = """
    (float[n, 3] x, float[3] y, float[k] w, bool c) => (float[?, ?] z, float[?] s) {
        [same] s = Sub(w, w)
        [choose] z = If(c) <
            then_branch = t () => (float[?, ?] p) { [same] p = Div(x, y) },
            else_branch = e () => (float[?, ?] q) { [same] q = Div(y, x) }>
    }"""
"""Nodes of one name in a graph and in two branches, of several numbers of known sizes."""

_WAIVER = sonnx_ort.Waiver("Div.float.R1", "ratio", "reason", "who", dt.date.max)

with_options = pytest.mark.parametrize("options", _OPTIONS)


@dataclass(frozen=True)
class Case:
    """A model, its check, and what a recount needs of the check in JSON."""

    name: str
    model: onnx.ModelProto
    check: Check

    @functools.cached_property
    def document(self) -> dict[str, Any]:
        """The report in JSON."""
        found: dict[str, Any] = json.loads(json_report(self.check))
        return found

    @functools.cached_property
    def enforced(self) -> Entries:
        """The obligations of the operators that are asked for."""
        return [each for each in self.document["obligations"] if each["enforced"]]

    @functools.cached_property
    def violations(self) -> Entries:
        """The violated ones that no waiver covers."""
        return _of(self.enforced, status="violated", waiver=None)

    @property
    def findings(self) -> Counter[str]:
        """The findings by rule."""
        return Counter(each["restriction"] for each in self.document["findings"])


@functools.cache
def _cases(options: str) -> list[Case]:
    models = {name: sonnx_ort.models.load(name) for name in _BUNDLED}
    models |= {"namesakes": parse(_NAMESAKES), "mixed": mixed()}
    cases = [Case(name, m, alone(m, **_OPTIONS[options])) for name, m in models.items()]
    if options in ("default", "profile"):
        waived = alone(mixed(), waivers=[_WAIVER], **_OPTIONS[options])
        cases.append(Case("waived", mixed(), waived))
    return cases


def _of(entries: Entries, **fields: object) -> Entries:
    return [e for e in entries if all(e[name] == value for name, value in fields.items())]


def _unproved(case: Case) -> Entries:
    """What no run checks: shapes that the file declares."""
    return _of(case.enforced, status="runtime", rule="Graph.false_claim")


def _in_runs(case: Case) -> Entries:
    return [e for e in _of(case.enforced, status="runtime") if e not in _unproved(case)]


def _counted(entries: Entries) -> list[int]:
    """The number that a text tells of them, if there are any."""
    return [len(entries)] * bool(entries)


def _by_status(entries: Entries) -> dict[str, int]:
    return {status: len(_of(entries, status=status)) for status in _STATUSES}


def _fixed(entries: Entries, *, rounding: bool) -> int:
    return sum(e["mendable"] is not None and e["rounding"] is rounding for e in entries)


def _by_rule(entries: Entries) -> Counter[str]:
    return Counter(each["rule"] for each in entries)


def _numbers(pattern: str, text: str) -> list[int]:
    found = (number for each in re.finditer(pattern, text) for number in each.groups())
    return [int(number.replace(",", "")) for number in found]


@with_options
def test_counts_of_the_json_are_those_of_its_entries(options: str) -> None:
    for case in _cases(options):
        document, shapes = case.document, _shapes(case.enforced)
        assert document["counts"] == _by_status(case.enforced), case.name
        assert document["ok"] is (not case.violations), case.name
        assert document["waived"] == sum(e["waiver"] is not None for e in case.enforced), case.name
        assert {*document["rules"]} == {*_by_rule(document["obligations"])}, case.name
        assert document["operands"] == {
            "count": len(shapes),
            "known_rank": sum(shape is not None for shape in shapes),
            "known_sizes": sum(_all_known(shape) for shape in shapes),
        }, case.name


def _shapes(enforced: Entries) -> list[list[Any] | None]:
    """The shapes of the operands of each node that has rules, once."""
    found = {
        (*each["path"], each["node"], operand["letter"]): operand["shape"]
        for each in reversed(enforced)
        for operand in each["operands"]
    }
    return [*found.values()]


def _all_known(shape: list[Any] | None) -> bool:
    return shape is not None and all(isinstance(size, int) for size in shape)


@with_options
def test_coverage_counts_the_nodes_of_the_file(options: str) -> None:
    for case in _cases(options):
        coverage = case.document["coverage"]
        nodes = Counter(_operators(onnx.inliner.inline_local_functions(case.model).graph))
        assert {each["operator"]: each["nodes"] for each in coverage} == nodes, case.name
        without = {each["operator"]: each["nodes"] for each in _of(coverage, extent="no rules")}
        assert case.document["not_covered"] == without, case.name
        standings = Counter[str]()
        for each in coverage:
            standings[each["standing"]] += each["nodes"]
        assert {k: n for k, n in case.document["standings"].items() if n} == standings, case.name


def _operators(graph: onnx.GraphProto) -> Iterator[str]:
    """The operator of each node; those of the profile itself have no coverage."""
    for node in graph.node:
        if node.domain != "sonnx":
            yield f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _operators(body)


@with_options
def test_overview_tells_the_counts_of_the_json(options: str) -> None:
    for case in _cases(options):
        text = " ".join(overviews(case.check).split())
        head, violations = text.partition(" edition ")[0], case.violations
        failing = [len(violations), len(case.enforced)] if violations else []
        if not violations and case.document["waived"]:
            failing = [case.document["waived"], len(case.enforced)]
        safe, rounded = (_fixed(violations, rounding=rounding) for rounding in (False, True))
        counts = _by_status(case.enforced)
        promised = {
            r"(\d+) of (\d+) checks? fails?": failing,
            r"sonnx-ort conform fixes (\d+)": [safe] * (safe > 0),
            r"conform --rounding fixes (\d+)": [rounded] * (rounded > 0),
        }
        assert {pattern: _numbers(pattern, head) for pattern in promised} == promised, case.name
        promised = {
            r"checked in each run, ([\d,]+) check": _counted(_in_runs(case)),
            r"proved for every run: ([\d,]+) check": [counts["proved"]],
        }
        assert {pattern: _numbers(pattern, text) for pattern in promised} == promised, case.name
        places = Counter[str]()
        for rule, number in re.findall(r"(\S+), (\d+) checks? \(", text):
            places[rule] += int(number)
        assert places == _by_rule(_of(case.enforced, status="violated")), case.name
        told = text.partition("findings, which change no result: ")[2]
        found = re.findall(r"(\d+) ([A-Z]\w*(?:\.\w+)*)", told)
        assert {rule: int(number) for number, rule in found} == case.findings, case.name


@with_options
def test_overview_tells_how_many_places_of_each_rule_runs_check(options: str) -> None:
    for case in _cases(options):
        _, _, told = overviews(case.check).partition("checked in each run, ")
        rows = re.findall(r"^  +(\d+)  (\S+)  ", told.partition("\n\n")[0], re.MULTILINE)
        in_runs = _by_rule(_in_runs(case))
        assert [int(n) for n, _ in rows] == sorted(in_runs.values(), reverse=True)[:10], case.name
        assert all(in_runs[rule] == int(number) for number, rule in rows), case.name


@with_options
def test_whole_text_tells_the_counts_of_the_json(options: str) -> None:
    for case in _cases(options):
        text = " ".join(text_reports(case.check).split())
        counts, found = _by_status(case.enforced), len(case.document["findings"])
        waived, violated = case.document["waived"], len(case.violations)
        promised = {
            r" (\d+) checks?: (\d+) proved, (\d+) runtime, (\d+) violated": [
                len(case.enforced),
                *counts.values(),
            ],
            r"; (\d+) findings?": [found],
            r" (\d+) of these waived": [waived] * (waived > 0),
            r"\bproved: these hold[^()]*\((\d+)\)": [counts["proved"]] * (counts["proved"] > 0),
            r"checked in each run,[^()]*\((\d+)\)": _counted(_in_runs(case)),
            r"not proved: [^()]*\((\d+)\)": _counted(_unproved(case)),
            r"violated: these fail[^()]*\((\d+)\)": [violated] * (violated > 0),
            r"waived: these fail[^()]*\((\d+)\)": [waived] * (waived > 0),
        }
        assert {pattern: _numbers(pattern, text) for pattern in promised} == promised, case.name
        for rule, number in case.findings.items():
            assert f"{rule} ({number}): " in text, case.name


@with_options
def test_statistics_count_what_the_json_has(options: str) -> None:
    for case in _cases(options):
        head, *lines = statistics(case.check).splitlines() or [""]
        columns = re.split(r"\s{2,}", head.strip())[1:]
        rows = {line.split()[0]: line.split()[1:] for line in lines if " proved " not in line}
        open_ones = [each for each in case.enforced if each["status"] != "proved"]
        assert {*rows} == {*_by_rule(open_ones), *case.findings}, case.name
        for rule, row in rows.items():
            own = _of(case.enforced, rule=rule)
            violated = _of(own, status="violated")
            recount = {
                "violated": len(violated),
                "[*]": _fixed(violated, rounding=False),
                "[~]": _fixed(violated, rounding=True),
                "in runs": len(_of(own, status="runtime")),
                "proved": len(_of(own, status="proved")),
                "findings": case.findings[rule],
            }
            assert [int(cell) for cell in row] == [recount[c] for c in columns], (case.name, rule)


@with_options
def test_services_count_what_the_json_has(options: str) -> None:
    for case in _cases(options):
        document = case.document
        tests = ET.fromstring(junit_report(case.check)).attrib  # noqa: S314 - made here
        recount = {
            "tests": len(case.enforced),
            "failures": len(case.violations),
            "errors": 0,
            "skipped": document["waived"],
        }
        assert {total: int(tests[total]) for total in recount} == recount, case.name
        (run,) = json.loads(sarif_report(case.check))["runs"]
        errors = Counter(each["ruleId"] for each in run["results"] if each["level"] == "error")
        assert errors == _by_rule(_of(case.enforced, status="violated")), case.name
        own = run["artifacts"][0]["properties"]
        assert own["counts"] == _by_status(case.enforced), case.name
        assert own["waived"] == document["waived"], case.name


@with_options
def test_what_a_selection_leaves_out_is_what_it_does_not_have(options: str) -> None:
    for case in _cases(options):
        (checked,) = case.check.models
        assert checked.report is not None
        chosen = json.loads(checked.report.selected(ignore="GR2,Graph,Div.float").to_json())
        gone = [each for each in case.enforced if each not in chosen["obligations"]]
        findings = [each for each in case.document["findings"] if each not in chosen["findings"]]
        assert chosen["left_out"] == {
            "rules": sorted({*_by_rule(gone), *(each["restriction"] for each in findings)}),
            "counts": _by_status(gone),
            "findings": len(case.document["findings"]) - len(chosen["findings"]),
        }, case.name

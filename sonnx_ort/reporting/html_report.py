"""A report as one HTML page, with the graph of the model.

The page loads nothing. Its content security policy allows only its own scripts and styles, so that
a name in a model stays harmless even if escaping fails.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from string import Template

from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.obligation import Finding
from sonnx_ort.obligations.report import Extent, Report
from sonnx_ort.profile.rule import Status
from sonnx_ort.reporting.checked_models import Check, GraphOutline
from sonnx_ort.reporting.graph_drawing import SIGNS, draw
from sonnx_ort.reporting.text_report import reach
from sonnx_ort.reporting.verdict import NodeState, counted, node_states, verdict

_PAGE = files("sonnx_ort.reporting") / "page"

_WORDS = {
    Status.VIOLATED: "violated",
    Status.RUNTIME: "decided in runs",
    Status.PROVED: "proved",
}

_LEGEND = {
    NodeState.VIOLATED: "violated in every run",
    NodeState.RUNTIME: "enforced: decided in each run",
    NodeState.PROVED: "proved",
    NodeState.NOT_ASKED_FOR: "in the profile, not asked for",
}


def html_page(check: Check) -> str:
    """The check of one model, with an outlined graph, as a page.

    Raises:
        SonnxError: It is a check of several models.
    """
    model = check.models[0]
    if len(check.models) > 1 or model.report is None or model.graph is None:
        raise SonnxError(
            f"a page is for one model, and these are {len(check.models)}; write a page for each, "
            "or choose another --format"
        )
    return html_report(model.report, model.graph)


def html_report(report: Report, graph: GraphOutline) -> str:
    """A report and its graph as a page in one file.

    Returns:
        HTML: the verdict, the graph, every obligation with a filter, the coverage of each operator
        and the findings. The page contains the report in JSON.
    """
    style, script = _asset("report.css"), _asset("report.js")
    result = verdict(report)
    return Template(_asset("report.html")).substitute(
        title=f"{result.word}: {escape(graph.name)}",
        name=f"'{escape(graph.name)}'" if graph.name else "without a name",
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
        verdict=result.word,
        verdict_class=result.state,
        verdict_sign=_sign(result.state),
        verdict_detail=result.detail,
        counts=_counts(report),
        reach=_not_covered(report),
        facts="".join(_facts(report)),
        legend=_legend(),
        drawing=draw(graph, node_states(report)),
        status_filters=_status_filters(),
        coverage=_coverage(report),
        findings=_findings(report.findings),
        violations=escape(report.describe_violations()),
        sign_templates=_sign_templates(),
        report=_as_data(report),
    )


def _asset(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    """The hash by which the content security policy of the page allows a script or a style."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _as_data(report: Report) -> str:
    """The JSON of the report, escaped so that nothing in it can end its element."""
    document = json.loads(report.to_json())
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _sign(state: NodeState) -> str:
    return (
        f'<svg class="sign" viewBox="0 0 14 14" aria-hidden="true"><path d="{SIGNS[state]}"/></svg>'
    )


def _sign_templates() -> str:
    states = (NodeState(status.value) for status in Status)
    return "".join(f'<template id="sign-{state}">{_sign(state)}</template>' for state in states)


def _counts(report: Report) -> str:
    rows = (
        f'<li class="{status}">{_sign(NodeState(status.value))} '
        f"{report.counts[status.value]:,} {_WORDS[status]}</li>"
        for status in _WORDS
    )
    return "".join([*rows, f"<li>{counted(len(report.findings), 'finding')}</li>"])


def _not_covered(report: Report) -> str:
    """What the verdict does not cover."""
    total = sum(coverage.nodes for coverage in report.coverage)
    not_covered = sum(report.not_covered.values())
    not_requested = sum(c.nodes for c in report.coverage if c.extent is Extent.NOT_ASKED_FOR)
    parts = []
    if not_covered:
        parts.append(
            f"{not_covered:,} of operators that no rule speaks of (nothing is checked there)"
        )
    if not_requested:
        parts.append(
            f"{not_requested:,} of operators with rules that are not asked for (what these find "
            "changes no verdict)"
        )
    nodes = f"{counted(total, 'node')}{': ' if parts else ''}{', '.join(parts)}."
    return f"{nodes} Of some rules only; {report.left_out}." if report.left_out.rules else nodes


def _facts(report: Report) -> Iterator[str]:
    known, identity = report.operands, report.identity
    opsets = (f"{domain or 'default'} {version}" for domain, version in identity.opsets.items())
    facts = {
        "Edition": report.edition.value,
        "Broadcasting": report.broadcasting.value,
        "Enforced operators": ", ".join(sorted(report.demands.operators)),
        "Operands": f"the rank of {known.known_rank:,} of {known.count:,} is known, all sizes of "
        f"{known.known_sizes:,}",
        "SHA-256 of the model": identity.sha256,
        "Operator sets": ", ".join(opsets),
        "Versions": ", ".join(f"{name} {version}" for name, version in identity.versions.items()),
    }
    for name, value in facts.items():
        yield f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>"


def _legend() -> str:
    rows = (f'<li class="{s}">{_sign(s)} {words}</li>' for s, words in _LEGEND.items())
    return "".join([*rows, "<li>without a sign: no rule speaks of it</li>"])


def _status_filters() -> str:
    return "".join(
        f'<label><input type="checkbox" name="status" value="{status}" checked> {word}</label>'
        for status, word in _WORDS.items()
    )


def _coverage(report: Report) -> str:
    if not report.coverage:
        return "<p>The graph has no nodes.</p>"
    rows = "".join(
        f'<tr><td><bdi>{escape(row.coverage.operator)}</bdi></td><td class="number">'
        f"{row.coverage.nodes:,}</td><td>{row.coverage.words}</td><td>{row.found}</td></tr>"
        for row in reach(report)
    )
    return (
        '<table><thead><tr><th scope="col">Operator</th><th scope="col" class="number">Nodes</th>'
        '<th scope="col">Profile</th><th scope="col">Would be found</th></tr></thead><tbody>'
        f"{rows}</tbody></table>"
    )


def _findings(findings: Iterable[Finding]) -> str:
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(finding)
    if not by_rule:
        return "<p>None.</p>"
    groups = []
    for identifier, found in by_rule.items():
        rows = "".join(
            f"<li><bdi>{escape(finding.place)}</bdi>: <bdi>{escape(finding.detail)}</bdi></li>"
            for finding in found
        )
        groups.append(
            f"<details><summary><code>{identifier}</code> ({len(found):,}): "
            f"{escape(found[0].rule.sentence)}</summary><ul>{rows}</ul></details>"
        )
    return f'<p>They change no result.</p><div class="findings">{"".join(groups)}</div>'

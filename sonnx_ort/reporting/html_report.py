"""A report as one HTML page, with the graph of the model.

The page loads nothing. Its content security policy allows only its own scripts and styles, so that
a name in a model stays harmless even if escaping fails.
"""

from collections.abc import Iterable, Iterator
from string import Template

from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.causes import causes
from sonnx_ort.obligations.obligation import Finding, Obligation
from sonnx_ort.obligations.report import Extent, Report
from sonnx_ort.options import PROFILE, name_operators
from sonnx_ort.printable import to_html
from sonnx_ort.profile.rule import Status
from sonnx_ort.reporting.checked_models import Check, GraphOutline
from sonnx_ort.reporting.graph_drawing import draw
from sonnx_ort.reporting.page_parts import (
    as_data,
    asset,
    digest,
    file_and_folder,
    folder_line,
    sign,
)
from sonnx_ort.reporting.remedies import in_commands, next_command
from sonnx_ort.reporting.symbols import symbols_of
from sonnx_ort.reporting.text_report import reach
from sonnx_ort.reporting.verdict import NodeState, counted, node_states, verdict

_WORDS = {
    Status.VIOLATED: "violated",
    Status.RUNTIME: "checked in each run",
    Status.PROVED: "proved",
}

_LEGEND = {
    NodeState.VIOLATED: "violated in every run",
    NodeState.RUNTIME: "checked in each run",
    NodeState.PROVED: "proved",
    NodeState.NOT_ASKED_FOR: "in the profile, not enforced",
}


def html_page(check: Check) -> str:
    """The check of one model, with an outlined graph, as a page.

    Raises:
        SonnxError: It is a check of several models.
    """
    model = check.models[0]
    if len(check.models) > 1 or model.report is None or model.graph is None:
        raise SonnxError(
            f"--format html is for one model, and {len(check.models)} are given; write a page for "
            "each, or choose another format"
        )
    return html_report(model.report, model.graph, model.name)


def html_report(report: Report, graph: GraphOutline, name: str) -> str:
    """A report and its graph as a page in one file.

    Args:
        report: The report.
        graph: Its graph.
        name: The file of the model; "-" is standard input.

    Returns:
        HTML: the verdict and the next command, the graph, every obligation by its cause with a
        filter, the coverage of each operator and the findings. The page contains the report in
        JSON.
    """
    style, script = asset("report.css"), asset("report.js")
    result = verdict(report)
    file, folder = file_and_folder(name)
    return Template(asset("report.html")).substitute(
        title=to_html(f"{result.word}: {file}{f' in {folder}' if folder else ''}"),
        name=to_html(file),
        folder=folder_line(folder),
        style=style,
        script=script,
        style_digest=digest(style),
        script_digest=digest(script),
        verdict=result.word,
        verdict_class=result.state,
        verdict_sign=sign(result.state),
        verdict_detail=result.detail,
        next_command=to_html(next_command(report, name)),
        counts=_counts(report),
        reach=_not_covered(report),
        facts="".join(_facts(report, graph.name)),
        legend=_legend(),
        drawing=draw(graph, node_states(report)),
        status_filters=_status_filters(),
        symbols=_symbols(report),
        coverage=_coverage(report),
        findings=_findings(report.findings),
        violations=to_html(in_commands(report.describe_violations())),
        sign_templates=_sign_templates(),
        report=as_data(report.to_document()),
        view=as_data({"groups": _groups(report), "hints": _hints(report)}),
    )


def _groups(report: Report) -> list[list[int]]:
    """The obligations of each cause, as their positions in the report, worst first."""
    order = [Status.VIOLATED, Status.RUNTIME, Status.PROVED]
    positions = {id(obligation): at for at, obligation in enumerate(report.obligations)}
    by_standing: dict[tuple[int, bool, bool], list[Obligation]] = {}
    for each in report.obligations:
        standing = (order.index(each.status), not each.enforced, each.waived)
        by_standing.setdefault(standing, []).append(each)
    return [
        [positions[id(obligation)] for obligation in alike]
        for standing in sorted(by_standing)
        for alike in causes(by_standing[standing])
    ]


def _hints(report: Report) -> dict[int, str]:
    """The remedies in the words of the command, by the positions of the obligations."""
    return {at: in_commands(o.hint) for at, o in enumerate(report.obligations) if o.hint}


def _sign_templates() -> str:
    states = (NodeState(status.value) for status in Status)
    return "".join(f'<template id="sign-{state}">{sign(state)}</template>' for state in states)


def _counts(report: Report) -> str:
    rows = (
        f'<li class="{status}">{sign(NodeState(status.value))} '
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
        parts.append(f"{not_covered:,} of operators without rules (nothing is checked there)")
    if not_requested:
        parts.append(f"{not_requested:,} not enforced (--operators {PROFILE} covers all)")
    nodes = f"{counted(total, 'node')}{': ' if parts else ''}{', '.join(parts)}."
    return (
        f"{nodes} Not all rules are reported; {report.left_out}."
        if report.left_out.rules
        else nodes
    )


def _facts(report: Report, graph: str) -> Iterator[str]:
    known, identity = report.operands, report.identity
    opsets = (f"{domain or 'default'} {version}" for domain, version in identity.opsets.items())
    facts = {
        "Edition": report.edition.value,
        "Broadcast": report.broadcasting.value,
        "Operators": name_operators(report.demands.operators),
        "Settings": report.settings,
        "Graph": graph,
        "Operands": f"the rank is known for {known.known_rank:,} of {known.count:,}, all sizes for "
        f"{known.known_sizes:,}",
        "SHA-256 of the model": identity.sha256,
        "Opsets": ", ".join(opsets),
        "Versions": ", ".join(f"{name} {version}" for name, version in identity.versions.items()),
    }
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{name}</dt><dd><bdi>{to_html(value)}</bdi></dd></div>"


def _legend() -> str:
    rows = (f'<li class="{s}">{sign(s)} {words}</li>' for s, words in _LEGEND.items())
    return "".join([*rows, "<li>without a sign: no rules</li>"])


def _status_filters() -> str:
    return "".join(
        f'<label><input type="checkbox" name="status" value="{status}" checked> {word}</label>'
        for status, word in _WORDS.items()
    )


def _symbols(report: Report) -> str:
    """What the symbols in shapes mean; empty if there are none."""
    rows = "".join(
        f'<div><dt data-pattern="{to_html(symbol.pattern)}">'
        f"<code>{to_html(symbol.form)}</code></dt><dd>{to_html(symbol.meaning)}</dd></div>"
        for symbol in symbols_of(report)
    )
    return f'<dl id="symbols" aria-label="Symbols in shapes">{rows}</dl>' if rows else ""


def _coverage(report: Report) -> str:
    if not report.coverage:
        return "<p>The graph has no nodes.</p>"
    rows = "".join(
        f'<tr><td><bdi>{to_html(row.coverage.operator)}</bdi></td><td class="number">'
        f"{row.coverage.nodes:,}</td><td>{row.coverage.words}</td><td>{row.found}</td></tr>"
        for row in reach(report)
    )
    return (
        '<table><thead><tr><th scope="col">Operator</th><th scope="col" class="number">Nodes</th>'
        '<th scope="col">Profile</th><th scope="col">If enforced</th></tr></thead><tbody>'
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
            f"<li><bdi>{to_html(finding.place)}</bdi>: <bdi>{to_html(finding.detail)}</bdi></li>"
            for finding in found
        )
        groups.append(
            f"<details><summary><code>{identifier}</code> ({len(found):,}): "
            f"{to_html(found[0].rule.sentence)}</summary><ul>{rows}</ul></details>"
        )
    return f'<p>They change no result.</p><div class="findings">{"".join(groups)}</div>'

"""A report as one HTML page, with the graph of the model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sonnx_ort.analysis.obligation import Finding, Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.errors import SonnxError, to_html
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.options import PROFILE, name_operators
from sonnx_ort.profile.rule import Status
from sonnx_ort.reporting.checked_models import Check, GraphOutline
from sonnx_ort.reporting.contract_table import contract_table
from sonnx_ort.reporting.graph_drawing import STATUS_WORDS
from sonnx_ort.reporting.next_steps import NOTHING, GivenOptions, conform_with, next_command
from sonnx_ort.reporting.page_parts import Listing, Page, Worst, prose, table
from sonnx_ort.reporting.text_report import findings_by_rule, reach
from sonnx_ort.reporting.verdict import (
    NodeState,
    advised,
    bound,
    causes,
    counted,
    node_states,
    verdict,
)
from sonnx_ort.terms.operand import format_shape


@dataclass(frozen=True, slots=True)
class Symbol:
    """A kind of symbol.

    The pattern is a regular expression, in Python and in JavaScript, that finds it in a shape.
    """

    form: str
    meaning: str
    pattern: str


SYMBOLS = (
    Symbol(
        "n",
        "a size that the model leaves open, by the name that an input declares",
        r"(?<![\w?])[A-Za-z_]\w*(?![\w(])",
    ),
    Symbol("?1", "a size that depends on the input; the same number means the same size", r"\?\d"),
    Symbol("?", "an unknown size", r"\?(?!\d)"),
    Symbol("trunc(a/b)", "the quotient, rounded towards zero", r"\btrunc\("),
    Symbol("min(a, b)", "the smaller of the two", r"\bmin\("),
    Symbol(
        "sliced(n, start, end, step)",
        "the number of elements that a Slice takes from n",
        r"\bsliced\(",
    ),
    Symbol("int32(n)", "n as an int32, which wraps around if n is larger", r"\bint32\("),
)


def symbols_of(report: Report) -> Iterator[Symbol]:
    """The kinds of symbols in the shapes of a report."""
    shapes = {
        format_shape(operand.shape)
        for obligation in report.obligations
        for operand in obligation.operands
        if operand.shape is not None
    }
    text = "\n".join(shapes)
    return (symbol for symbol in SYMBOLS if re.search(symbol.pattern, text))


_WORDS = {
    Status.VIOLATED: "violated",
    Status.RUNTIME: "checked in each run",
    Status.PROVED: "proved",
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
    return html_report(model.report, model.graph, model.name, check.given)


def html_report(
    report: Report, graph: GraphOutline, name: str, given: GivenOptions = NOTHING
) -> str:
    """A report and its graph as a page in one file.

    Returns:
        HTML: the verdict, the worst node and the next command, the graph, every obligation by its
        cause with a filter, the coverage of each operator and the findings. The page contains the
        report in JSON.
    """
    result, groups = verdict(report), _groups(report)
    hints = {at: in_command(o.hint) for at, o in enumerate(report.obligations) if o.hint}
    counts = [
        (NodeState(status.value), f"{report.counts[status.value]:,} {word}")
        for status, word in _WORDS.items()
    ]
    return Page(
        kind="SONNX profile: report of the analysis",
        file=name,
        title=result.word,
        state=result.state,
        verdict=(result.word, result.detail),
        worst=_worst(report, groups),
        next_command=next_command(report, name, given),
        counts=[*counts, (None, counted(len(report.findings), "finding"))],
        notices=_not_covered(report),
        facts=_facts(report, graph.name),
        graph=graph,
        states=node_states(report),
        words=STATUS_WORDS,
        listing=Listing(
            "obligations.js",
            "Checks",
            {status.value: word for status, word in _WORDS.items()},
            ("Status, rule", "Node", "Evidence"),
            "node, value, evidence",
            filters=_FILTERS,
            symbols=_symbols(report),
        ),
        sections=_contract(report)
        | {
            "Operators of the model": _coverage(report),
            "Findings": _findings(report.findings),
        },
        data={
            "report": report.to_document(),
            "view": {
                "groups": groups,
                "hints": hints,
                "advised": _advised(report, name, given),
                "words": _WORDS,
            },
        },
        without_script="<p>Violated checks:</p>"
        f"<pre>{to_html(in_command(report.describe_violations()))}</pre>",
    ).render()


def _advised(report: Report, name: str, given: GivenOptions) -> dict[int, tuple[str, str]]:
    """What `conform` fixes with further options: why, as a sentence, and the line to type."""
    return {
        at: ("".join(advised([o])), conform_with(name, given, o.options))
        for at, o in enumerate(report.obligations)
        if o.advice
    }


_FILTERS = (
    '<label>Rule <select name="rule"><option value="">all</option></select></label>'
    '<label>Nodes <select name="enforced"><option value="yes">enforced</option>'
    '<option value="no">not enforced</option><option value="">all</option></select></label>'
)


def _worst(report: Report, groups: Iterable[Sequence[int]]) -> Worst | None:
    """The first node of the cause that comes first; None if nothing is violated at a node."""
    for group in groups:
        first = report.obligations[group[0]]
        if first.status is Status.VIOLATED and first.enforced and first.operator:
            checks = f", {len(group):,} checks" if len(group) > 1 else ""
            why = f"{first.rule.id}{checks}: {first.evidence}"
            return Worst(first.place, (first.node, first.path), why)
    return None


def _groups(report: Report) -> list[list[int]]:
    """The obligations of each cause, as their positions in the report, worst first."""
    order = [Status.VIOLATED, Status.RUNTIME, Status.PROVED]
    positions = {id(obligation): at for at, obligation in enumerate(report.obligations)}
    by_standing: dict[tuple[int, bool, bool], list[Obligation]] = {}
    for each in report.obligations:
        standing = (order.index(each.status), not each.enforced, each.waived)
        by_standing.setdefault(standing, []).append(each)
    return [
        [positions[id(obligation)] for obligation in cause]
        for standing in sorted(by_standing)
        for cause in causes(by_standing[standing])
    ]


def _not_covered(report: Report) -> Iterator[str]:
    """What the verdict does not cover."""
    total = sum(coverage.nodes for coverage in report.coverage)
    if report.passed_over:
        yield (
            f"{report.passed_over:,} of {counted(total, 'node')} not looked at; "
            f"`--operators {PROFILE}` covers all."
        )
    elif report.violations:
        yield bound(report)
    if report.left_out.rules:
        yield f"Not all rules are reported; {report.left_out}."


def _facts(report: Report, graph: str) -> dict[str, str]:
    known, identity, contract = report.operands, report.identity, report.contract_file
    opsets = (f"{domain or 'default'} {version}" for domain, version in identity.opsets.items())
    return {
        "Nodes": f"{sum(coverage.nodes for coverage in report.coverage):,}",
        "Edition": report.edition.value,
        "Broadcast": report.broadcasting.value,
        "Operators": name_operators(report.demands.operators),
        "Backend": report.backend,
        "Settings": report.settings,
        "Contract": contract.name if contract else "",
        "SHA-256 of the contract": contract.sha256 if contract else "",
        "Conformed for": "; ".join(report.premises),
        "Graph": graph,
        "Operands": f"the rank is known for {known.known_rank:,} of {known.count:,}, all sizes for "
        f"{known.known_sizes:,}",
        "SHA-256 of the model": identity.sha256,
        "Opsets": ", ".join(opsets),
        "Versions": ", ".join(f"{name} {version}" for name, version in identity.versions.items()),
    }


def _contract(report: Report) -> dict[str, str]:
    """What the contract says, if there is one: the proofs rest on it."""
    contract = report.demands.contract
    return {"Contract": contract_table(contract)} if contract else {}


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
    rows = (
        (
            f"<bdi>{to_html(row.coverage.operator)}</bdi>",
            f"{row.coverage.nodes:,}",
            row.coverage.words,
            row.found,
        )
        for row in reach(report)
    )
    return table(("Operator", "Nodes", "Profile", "If enforced"), rows, numbers={1})


def _written_at(finding: Finding) -> str:
    return f", <bdi>{to_html(str(finding.written))}</bdi>" if finding.written else ""


def _findings(findings: Iterable[Finding]) -> str:
    by_rule = findings_by_rule(findings)
    if not by_rule:
        return "<p>None.</p>"
    groups = []
    for identifier, found in by_rule.items():
        rows = "".join(
            f"<li><bdi>{to_html(finding.place)}</bdi>{_written_at(finding)}: "
            f"<bdi>{to_html(finding.detail)}</bdi></li>"
            for finding in found
        )
        groups.append(
            f"<details><summary><code>{identifier}</code> ({len(found):,}): "
            f"{prose(found[0].rule.sentence)}</summary><ul>{rows}</ul></details>"
        )
    return f'<p>They change no result.</p><div class="findings">{"".join(groups)}</div>'

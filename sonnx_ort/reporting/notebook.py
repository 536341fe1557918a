"""How a notebook shows reports: plain tables and short texts, in the words of the functions.

They have no colours, so that they can be read in dark and light themes.
"""

from collections.abc import Iterable, Sequence

from sonnx_ort.errors import to_html
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, WHOLE_PROFILE
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.remedies import NextStep, causes, next_step

_PLACES_SHOWN = 3
_STYLE = ' style="text-align: left; vertical-align: top"'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML of texts, which are escaped; a line break stays one."""
    cells = "".join(f"<th{_STYLE}>{to_html(text)}</th>" for text in head)
    body = "".join(
        f"<tr>{''.join(f'<td{_STYLE}>{_in_lines(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _in_lines(text: str) -> str:
    return "<br>".join(map(to_html, text.split("\n")))


def report_as_html(report: Report) -> str:
    """The verdict of a report, the causes of its violations, and the call to make next."""
    counts = report.counts
    verdict = "no violation found before a run" if report.ok else "violated"
    head = (
        f"<p><strong>SONNX profile, {report.edition} edition: {verdict}</strong><br>"
        f"{counts['violated']:,} violated, {counts['runtime']:,} checked in each run, "
        f"{counts['proved']:,} proved</p>"
    )
    found = causes(report.violations)
    rows = [_row(alike) for alike in found]
    violated = table(("Violated", "Places", "Evidence", "To fix it"), rows) if rows else ""
    return f"{head}{violated}<p>Next: <code>{to_html(next_call(report))}</code></p>"


def _row(alike: Sequence[Obligation]) -> tuple[str, ...]:
    first = alike[0]
    places = [obligation.place for obligation in alike[:_PLACES_SHOWN]]
    if len(alike) > _PLACES_SHOWN:
        places.append(f"and {len(alike) - _PLACES_SHOWN:,} more")
    remedies = [first.hint] if first.hint else []
    mendable = [obligation.mendable for obligation in alike if obligation.mendable]
    if mendable:
        share = "it" if len(mendable) == len(alike) else f"{len(mendable):,} of {len(alike):,}"
        remedies.append(f"sonnx_ort.conform fixes {share}: {mendable[0]}")
    return first.rule.id, "\n".join(places), first.evidence, "\n".join(remedies)


def causes_as_text(report: Report) -> str:
    """The causes of the violations, each with its first node, and the call to make next."""
    head, *_ = report.describe_violations().splitlines()
    lines = [head]
    for alike in causes(report.violations):
        lines.append(f"- {alike[0]}")
        if len(alike) > 1:
            lines.append(f"    and {len(alike) - 1:,} more like it")
    return "\n".join([*lines, f"next: {next_call(report)}"])


def next_call(report: Report) -> str:
    """The call that takes a user on from a report that the name `report` is given to."""
    match next_step(report):
        case NextStep.CHECK_ALL:
            return "sonnx_ort.check(model)"
        case NextStep.REWRITE:
            return _call("rewrite", report, report.broadcasting, DEFAULT_OPERATORS)
        case NextStep.EXPAND:
            return _call("rewrite", report, Broadcasting.EXPLICIT, DEFAULT_OPERATORS)
        case NextStep.CONFORM:
            return _call("conform", report, report.broadcasting, WHOLE_PROFILE)
        case NextStep.EXPLAIN:
            return f"!sonnx-ort explain {report.violations[0].rule.id}"


def _call(function: str, report: Report, broadcast: Broadcasting, default: frozenset[str]) -> str:
    options = ["model"]
    if report.edition is not Edition.TYPED:
        options.append(f'edition="{report.edition}"')
    if broadcast is not Broadcasting.REJECT:
        options.append(f'broadcast="{broadcast}"')
    if report.demands.operators != default:
        options.append("operators=report.demands.operators")
    return f"sonnx_ort.{function}({', '.join(options)})"

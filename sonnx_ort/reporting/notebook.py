"""What a notebook shows of a report, of an error that has one, and of what `conform` gives."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.errors import to_html
from sonnx_ort.reporting.next_steps import next_call
from sonnx_ort.reporting.verdict import causes, fixed_by_conform, table

if TYPE_CHECKING:
    from sonnx_ort.conforming.conformity import Conformed

_PLACES_SHOWN = 3
"""How many nodes of a cause are named."""


def report_as_html(report: Report) -> str:
    """The verdict of a report, the causes of its violations, and the call to make next."""
    counts = report.counts
    verdict = "no violation found before a run" if report.ok else "violated"
    verdict += f"; {report.left_out}" if report.left_out.rules else ""
    head = (
        f"<p><strong>SONNX profile, {report.edition} edition: {verdict}</strong><br>"
        f"{counts['violated']:,} violated, {counts['runtime']:,} checked in each run, "
        f"{counts['proved']:,} proved</p>"
    )
    found = causes(report.violations)
    rows = [_row(cause) for cause in found]
    violated = table(("Violated", "Places", "Evidence", "To fix it"), rows) if rows else ""
    return f"{head}{violated}<p>Next: <code>{to_html(next_call(report))}</code></p>"


def _row(cause: Sequence[Obligation]) -> tuple[str, ...]:
    first = cause[0]
    places = [obligation.named for obligation in cause[:_PLACES_SHOWN]]
    if len(cause) > _PLACES_SHOWN:
        places.append(f"and {len(cause) - _PLACES_SHOWN:,} more")
    remedies = [first.hint] if first.hint else []
    for _, option, share, title in fixed_by_conform(cause, "it", f" of {len(cause):,}"):
        with_option = " with rounding=True" if option else ""
        remedies.append(f"sonnx_ort.conform{with_option} fixes {share}: {title}")
    return first.rule.id, "\n".join(places), first.evidence, "\n".join(remedies)


def causes_as_text(report: Report) -> str:
    """The causes of the violations, each with its first node, and the call to make next."""
    head, *_ = report.describe_violations().splitlines()
    lines = [head]
    for cause in causes(report.violations):
        lines.append(f"- {cause[0]}")
        if len(cause) > 1:
            lines.append(f"    and {len(cause) - 1:,} more like it")
    return "\n".join([*lines, f"next: {next_call(report)}"])


def conformed_as_html(conformed: "Conformed[Any]") -> str:
    """The changes by rule, and the report of the changed model."""
    fixed = ((o.rule.id, change.title) for change in conformed.changes for o in change.fixed)
    rows = [(rule, f"{n:,}", title) for (rule, title), n in Counter(fixed).most_common()]
    changes = table(("Fixed", "Places", "Change"), rows) if rows else ""
    report = report_as_html(conformed.report)
    return f"<p><strong>{conformed.summary()}</strong></p>{changes}{report}"


HTML: Mapping[str, Callable[[Any], str]] = {
    "Conformed": conformed_as_html,
    "ModelRejected": lambda error: report_as_html(error.report),
    "Report": report_as_html,
}
"""What shows a result in HTML, by its class."""

TEXT: Mapping[str, Callable[[Any], str]] = {
    "ModelRejected": lambda error: causes_as_text(error.report),
}
"""What shows an error as text, by its class."""

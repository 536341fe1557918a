"""A report as a person reads it, violations first, in 100 columns."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

from sonnx_ort.analysis.report import Finding, KnownOperands, Obligation, Report
from sonnx_ort.profile.judgement import Status

WIDTH = 100

_FINDINGS_SHOWN = 5


def text_report(report: Report) -> str:
    """Write a report as text.

    Args:
        report: The report.

    Returns:
        Lines of at most 100 columns: the summary, the obligations by status with their evidence,
        the findings, and what no rule covers.
    """
    sections = [
        [
            *_wrapped(report.summary(), ""),
            *_wrapped(f"model {report.identity.sha256}", ""),
            *_operands(report.operands),
        ],
        _obligations(report, Status.VIOLATED, "violated: these fail in every run"),
        _obligations(report, Status.RUNTIME, "decided in each run; the enforced model checks them"),
        _obligations(report, Status.PROVED, "proved: these hold in every run"),
        _findings(report.findings),
        _not_covered(report),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _operands(known: KnownOperands) -> list[str]:
    if not known.count:
        return []
    ranks = f"the rank of {known.known_rank} of {known.count} is known"
    return [f"operands: {ranks}, and all sizes of {known.known_sizes}"]


def _obligations(report: Report, status: Status, title: str) -> list[str]:
    chosen = [o for o in report.obligations if o.status is status]
    if not chosen:
        return []
    lines = [f"{title} ({len(chosen)})"]
    for obligation in chosen:
        lines.extend(_obligation(obligation))
    return lines


def _obligation(obligation: Obligation) -> Iterator[str]:
    yield from _wrapped(f"{obligation.rule.id} at {obligation.place}", "  ")
    yield from _wrapped(obligation.evidence, "      ")
    if obligation.status is Status.PROVED:
        return
    for operand in obligation.operands:
        yield from _wrapped(str(operand), "      ")
    if obligation.hint:
        yield from _wrapped(f"to mend it: {obligation.hint}", "      ")


def _findings(findings: Iterable[Finding]) -> list[str]:
    by_restriction: dict[str, list[Finding]] = {}
    for finding in findings:
        by_restriction.setdefault(finding.restriction.id, []).append(finding)
    if not by_restriction:
        return []
    lines = ["findings: they change no result"]
    for identifier, found in by_restriction.items():
        sentence = found[0].restriction.sentence
        lines.extend(_wrapped(f"{identifier} ({len(found)}): {sentence}", "  "))
        for finding in found[:_FINDINGS_SHOWN]:
            lines.extend(_wrapped(f"{finding.place}: {finding.detail}", "      "))
        if len(found) > _FINDINGS_SHOWN:
            lines.append(f"      and {len(found) - _FINDINGS_SHOWN} more; --format json has all")
    return lines


def _not_covered(report: Report) -> list[str]:
    counts = Counter(report.not_covered)
    if not counts:
        return []
    listed = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    title = "not covered: no rule speaks of these operators, and nothing was checked of them"
    return [f"{title} ({counts.total()} nodes)", *_wrapped(listed, "  ")]


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )

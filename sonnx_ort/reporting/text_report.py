"""All of a report as text, for a terminal."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sonnx_ort.obligations.obligation import Finding, Obligation
from sonnx_ort.obligations.report import Coverage, Extent, KnownOperands, LeftOut, Report
from sonnx_ort.profile.rule import Status, Subject
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.overview import MENDABLE
from sonnx_ort.reporting.remedies import in_commands
from sonnx_ort.reporting.terminal import Colour, Paint, paint_of, wrapped
from sonnx_ort.reporting.verdict import bound


@dataclass(frozen=True, slots=True)
class Reach:
    """The coverage of one operator of a model.

    Attributes:
        coverage: The operator, and the number of its nodes.
        found: The numbers of obligations that are not enforced; empty if there are none.
    """

    coverage: Coverage
    found: str


def reach(report: Report) -> Iterator[Reach]:
    """The coverage of each operator, enforced ones first."""
    found: dict[str, Counter[Status]] = {}
    for obligation in report.obligations:
        if not obligation.enforced:
            found.setdefault(obligation.operator, Counter())[obligation.status] += 1
    for extent in Extent:
        for coverage in (c for c in report.coverage if c.extent is extent):
            counts = found.get(coverage.operator, Counter())
            shown = ", ".join(f"{counts[status]} {status}" for status in Status)
            yield Reach(coverage, shown if counts else "")


_FINDINGS_SHOWN = 5


def text_reports(check: Check, *, coloured: bool = False) -> str:
    """A check as text: the report of a single model, or each report under its name."""
    if check.alone and check.models[0].report is not None:
        return text_report(check.models[0].report, coloured=coloured)
    paint = paint_of(coloured=coloured)
    return "\n\n\n".join(_under_its_name(model, paint) for model in check.models)


def _under_its_name(model: CheckedModel, paint: Paint) -> str:
    name = paint(f"== {model.name}", Colour.NAME)
    if model.report is None:
        lines = wrapped(f"cannot be used: {model.error}", "")
        return "\n".join([name, *(paint(line, Colour.VIOLATED) for line in lines)])
    return f"{name}\n{_text(model.report, paint)}"


def text_report(report: Report, *, coloured: bool = False) -> str:
    """A report as text.

    Args:
        report: The report.
        coloured: Whether to colour the statuses with terminal escape sequences.

    Returns:
        Lines of at most 100 columns: the summary, the obligations by status with their evidence,
        the findings, the coverage of each operator, and how much `conform` can fix.
    """
    return _text(report, paint_of(coloured=coloured))


def _text(report: Report, paint: Paint) -> str:
    sections = [
        [
            *wrapped(report.summary(), ""),
            *_left_out(report.left_out),
            *wrapped(f"model {report.identity.sha256}", ""),
            *_operands(report.operands),
        ],
        _obligations(
            report.violations,
            "violated: these fail whatever the inputs are",
            Colour.VIOLATED,
            paint,
        ),
        _obligations(
            report.waived,
            "waived: these fail whatever the inputs are, and a waiver accepts them",
            Colour.OPEN,
            paint,
        ),
        _obligations(
            _of_status(report, Status.RUNTIME),
            "checked in each run, by the rewritten model or by ONNX Runtime",
            Colour.OPEN,
            paint,
        ),
        _obligations(
            _of_status(report, Status.PROVED),
            "proved: these hold in every run",
            Colour.PROVED,
            paint,
        ),
        _findings(report.findings),
        _coverage(report),
        _mendable(report),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _left_out(left_out: LeftOut) -> list[str]:
    if not left_out.rules:
        return []
    return wrapped(f"rules left out: {', '.join(sorted(left_out.rules))}", "")


def _operands(known: KnownOperands) -> list[str]:
    if not known.count:
        return []
    ranks = f"the rank is known for {known.known_rank} of {known.count}"
    return wrapped(f"operands: {ranks}, all sizes for {known.known_sizes}", "")


def _of_status(report: Report, status: Status) -> list[Obligation]:
    return [o for o in report.enforced if o.status is status]


def _obligations(
    chosen: Sequence[Obligation], title: str, colour: Colour, paint: Paint
) -> list[str]:
    if not chosen:
        return []
    lines = [paint(line, colour) for line in wrapped(f"{title} ({len(chosen)})", "")]
    shown = Counter[str]()
    for obligation in chosen:
        shown[obligation.rule.id] += 1
        on_graph = obligation.rule.requirement.subject is Subject.GRAPH
        if not on_graph or shown[obligation.rule.id] <= _FINDINGS_SHOWN:
            lines.extend(_obligation(obligation, lambda line: paint(line, colour)))
        elif shown[obligation.rule.id] == _FINDINGS_SHOWN + 1:
            count = sum(o.rule is obligation.rule for o in chosen) - _FINDINGS_SHOWN
            more = f"and {count} more of {obligation.rule.id}; --format json shows all"
            lines.extend(wrapped(more, "  "))
    return lines


def _obligation(obligation: Obligation, paint: Callable[[str], str]) -> Iterator[str]:
    mark = f" {MENDABLE}" if obligation.mendable else ""
    yield from map(paint, wrapped(f"{obligation.rule.id} at {obligation.place}{mark}", "  "))
    yield from wrapped(obligation.evidence, "      ")
    if obligation.status is Status.PROVED:
        return
    for operand in obligation.operands:
        yield from wrapped(str(operand), "      ")
    if obligation.hint:
        yield from wrapped(f"to fix it: {in_commands(obligation.hint)}", "      ")
    if obligation.waiver is not None:
        yield from wrapped(f"{obligation.waiver_standing} {obligation.waiver}", "      ")


def _findings(findings: Iterable[Finding]) -> list[str]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(finding)
    if not by_rule:
        return []
    lines = ["findings: they change no result"]
    for identifier, found in by_rule.items():
        sentence = found[0].rule.sentence
        lines.extend(wrapped(f"{identifier} ({len(found)}): {sentence}", "  "))
        for finding in found[:_FINDINGS_SHOWN]:
            lines.extend(wrapped(f"{finding.place}: {finding.detail}", "      "))
        if len(found) > _FINDINGS_SHOWN:
            more = f"and {len(found) - _FINDINGS_SHOWN} more; --format json shows all"
            lines.extend(wrapped(more, "      "))
    return lines


def _coverage(report: Report) -> list[str]:
    """A table of the coverage: operator, nodes, extent, and obligations that are not enforced."""
    if not report.coverage:
        return []
    width = max(len(coverage.operator) for coverage in report.coverage)
    digits = max(len(str(coverage.nodes)) for coverage in report.coverage)
    lines = wrapped("operators of the model, with their numbers of nodes", "")
    lines.extend(wrapped(bound(report), "  "))
    for each in reach(report):
        own = each.coverage
        row = f"{own.operator:{width}}  {own.nodes:{digits}}  {own.words}"
        lines.extend(wrapped(f"{row}: {each.found}" if each.found else row, "  "))
    return lines


def _mendable(report: Report) -> list[str]:
    mendable, violations = len(report.mendable), len(report.violations)
    if not mendable:
        return []
    noun = "violation" if violations == 1 else "violations"
    at_least = "" if mendable == violations else "at least "
    said = f"{MENDABLE} `sonnx-ort conform` can fix {at_least}{mendable} of {violations} {noun}"
    return wrapped(said, "")

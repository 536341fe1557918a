"""What matters first of a report, for a terminal: the verdict, causes, counts, and what to do next.

Violations of one rule at many nodes are one paragraph. `text_report` has all that is left out here.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.options import PROFILE, name_operators
from sonnx_ort.printable import printable
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.reporting.causes import causes
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.remedies import in_commands, next_command
from sonnx_ort.reporting.terminal import (
    Colour,
    Paint,
    fitted,
    in_columns,
    paint_of,
    table_of_numbers,
    width,
    wrapped,
)
from sonnx_ort.reporting.verdict import REFUSED, NodeState, bound, counted, verdict

MENDABLE = "[*]"
"""The mark of a violation that `conform` can fix."""

_NODES_SHOWN = 3
_RANKS_UNKNOWN = 2
_RULES_SHOWN = 10

_COLOURS = {
    NodeState.VIOLATED: Colour.VIOLATED,
    NodeState.RUNTIME: Colour.OPEN,
    NodeState.PROVED: Colour.PROVED,
    NodeState.NOT_ASKED_FOR: Colour.OPEN,
}


def overviews(check: Check, *, coloured: bool = False) -> str:
    """A check as text: what matters of a single model, or a line for each of several."""
    model = check.models[0]
    if check.alone and model.report is not None:
        return overview(model.report, model.name, coloured=coloured)
    return overview_of_models(check, coloured=coloured)


def overview(report: Report, name: str, *, coloured: bool = False) -> str:
    """What matters of a report, in lines of at most 100 columns.

    Args:
        report: The report.
        name: The file of the model.
        coloured: Whether to colour what is violated, open or proved.
    """
    paint = paint_of(coloured=coloured)
    sections = [
        _head(report, name, paint),
        *(_paragraph(alike, Colour.VIOLATED, paint) for alike in causes(report.violations)),
        *(_paragraph(alike, Colour.OPEN, paint) for alike in causes(report.waived)),
        _unknown_ranks(report, paint),
        _in_runs(report, paint),
        _counts(report),
        [printable(f"next: {next_command(report, name)}")],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _head(report: Report, name: str, paint: Paint) -> list[str]:
    found = verdict(report)
    operators = name_operators(report.demands.operators)
    return [
        *(
            paint(line, _COLOURS[found.state])
            for line in wrapped(f"{name}: {found.word.lower()}", "")
        ),
        *wrapped(found.detail, "  "),
        *wrapped(
            f"edition {report.edition}, broadcast {report.broadcasting}, operators {operators}, "
            f"backend {report.backend}",
            "  ",
        ),
        *(wrapped(f"settings from {report.settings}", "  ") if report.settings else []),
        *(wrapped(str(report.left_out), "  ") if report.left_out.rules else []),
    ]


def _paragraph(alike: Sequence[Obligation], colour: Colour, paint: Paint) -> list[str]:
    first, rule = alike[0], alike[0].rule
    mark = f"{REFUSED} " if first.refused and not first.waived else ""
    places = counted(len(alike), "place")
    lines = wrapped(f"{mark}{rule.id} at {places} ({rule.basis}): {rule.sentence}", "")
    lines = [paint(line, colour) for line in lines]
    for obligation in alike[:_NODES_SHOWN]:
        lines += wrapped(f"{obligation.place}: {obligation.evidence}", "  ")
        if obligation is first:
            lines += [line for o in obligation.operands for line in wrapped(str(o), "      ")]
        if obligation.waiver is not None:
            lines += wrapped(f"{obligation.waiver_standing} {obligation.waiver}", "      ")
    if len(alike) > _NODES_SHOWN:
        lines.append(f"  and {len(alike) - _NODES_SHOWN} more")
    if first.waived:
        return lines
    if first.hint:
        lines += wrapped(f"to fix it: {in_commands(first.hint)}", "  ")
    mendable = sum(bool(o.mendable) for o in alike)
    if mendable:
        share = "it" if mendable == len(alike) else f"{mendable} of {len(alike)}"
        lines.append(f"  {MENDABLE} sonnx-ort conform fixes {share}")
    return lines


def _unknown_ranks(report: Report, paint: Paint) -> list[str]:
    """The values whose unknown ranks leave others unknown, before all that follows from them."""
    unknown = {
        operand.value: operand.origin
        for obligation in report.enforced
        if obligation.status is not Status.PROVED
        for operand in obligation.operands
        if operand.shape is None
    }
    if len(unknown) < _RANKS_UNKNOWN:
        return []
    value, origin = next(iter(unknown.items()))
    return [
        paint(f"the rank of {counted(len(unknown), 'value')} is not known:", Colour.OPEN),
        *wrapped(
            f"'{value}' [{origin}] is the first; declare its shape, or export the model with "
            "fixed sizes, and more is decided before a run",
            "  ",
        ),
    ]


def _in_runs(report: Report, paint: Paint) -> list[str]:
    """The rules that runs decide, with the number of nodes."""
    counts = Counter(o.rule for o in report.enforced if o.status is Status.RUNTIME)
    if not counts:
        return []
    total = sum(counts.values())
    return [
        paint(f"checked in each run, at {counted(total, 'place')}:", Colour.OPEN),
        *_rules(counts),
    ]


def _rules(counts: Counter[Rule]) -> list[str]:
    shown = counts.most_common(_RULES_SHOWN)
    rows = [(f"{n:,}", rule.id, rule.basis.value, rule.sentence) for rule, n in shown]
    lines = [_cut(line) for line in in_columns(rows, "  ")]
    if len(counts) > _RULES_SHOWN:
        lines.append(f"  and {counted(len(counts) - _RULES_SHOWN, 'rule')} more; -v shows all")
    return lines


def _cut(line: str) -> str:
    """The line, or as much of it as fits."""
    return line if len(line) <= width() else f"{line[: width() - 4].rsplit(' ', 1)[0]} ..."


def _counts(report: Report) -> list[str]:
    """What needs no attention now, in numbers."""
    found = Counter(finding.rule.id for finding in report.findings)
    kinds = ", ".join(f"{number:,} {rule}" for rule, number in found.most_common())
    lines = [f"proved for every run: {counted(report.counts['proved'], 'obligation')}"]
    if report.passed_over:
        nodes = f"nodes not looked at: {report.passed_over:,}"
        lines.append(f"{nodes}; --operators {PROFILE} covers all")
    elif report.violations:
        lines.append(bound(report))
    if found:
        lines.append(f"findings, which change no result: {kinds}")
    lines.append("-v shows everything, --statistics a table of rules")
    return [line for text in lines for line in wrapped(text, "")]


def overview_of_models(check: Check, *, coloured: bool = False) -> str:
    """A line for each of several models, the rules that most of them violate, and what to do next.

    Args:
        check: The models and their reports.
        coloured: Whether to colour what is violated, open or proved.
    """
    paint = paint_of(coloured=coloured)
    rows = [_row(model) for model in check.models]
    colours = [_colour(model) for model in check.models]
    lines = [
        paint(line, colour)
        for row, colour in zip(in_columns(rows), colours, strict=True)
        for line in fitted(row).split("\n")
    ]
    return "\n\n".join("\n".join(part) for part in (lines, _summary(check)) if part)


def _row(model: CheckedModel) -> tuple[str, ...]:
    report = model.report
    if report is None:
        return model.name, "unusable", model.error
    counts = report.counts
    mendable = f" ({MENDABLE} {len(report.mendable):,})" if report.mendable else ""
    violated = f"{len(report.violations):,} violated{mendable}"
    others = f"{counts['runtime']:,} checked in runs, {counts['proved']:,} proved"
    return model.name, "kept" if report.ok else "violated", f"{violated}, {others}"


def _colour(model: CheckedModel) -> Colour:
    if model.report is None:
        return Colour.VIOLATED
    return _COLOURS[verdict(model.report).state]


def _summary(check: Check) -> list[str]:
    reports = {model.name: model.report for model in check.models if model.report is not None}
    violated = {name: report for name, report in reports.items() if not report.ok}
    unusable = len(check.models) - len(reports)
    lines = [
        f"{counted(len(check.models), 'model')}: {len(reports) - len(violated)} kept, "
        f"{len(violated)} violated" + (f", {unusable} unusable" if unusable else "")
    ]
    if not violated:
        return lines
    counts = Counter(o.rule for report in violated.values() for o in report.violations)
    worst = max(violated, key=lambda name: len(violated[name].violations))
    verb = next_command(violated[worst], worst)
    return [*map(fitted, lines), "most violated:", *_rules(counts), "", printable(f"next: {verb}")]


def statistics(check: Check, *, coloured: bool = False) -> str:
    """A table of rules: how often each is violated, left to runs and proved; in how many models.

    Rules on graphs that are not asked for count as findings.
    """
    del coloured
    columns = ("violated", MENDABLE, "in runs", "proved", "findings")
    table: dict[Rule, Counter[str]] = defaultdict(Counter)
    models: dict[Rule, set[str]] = defaultdict(set)
    for model in check.models:
        for obligation in () if model.report is None else model.report.enforced:
            counts = table[obligation.rule]
            counts[_COLUMNS[obligation.status]] += 1
            counts[MENDABLE] += bool(obligation.mendable)
            models[obligation.rule].add(model.name)
        for finding in () if model.report is None else model.report.findings:
            table[finding.rule]["findings"] += 1
            models[finding.rule].add(model.name)
    ordered = sorted(table.items(), key=lambda item: [-item[1][column] for column in columns])
    rows = [
        (rule.id, *(f"{counts[column]:,}" for column in columns), f"{len(models[rule]):,}")
        for rule, counts in ordered
    ]
    head = ("rule", *columns, "models")
    return "\n".join(table_of_numbers(head, rows))


_COLUMNS = {Status.VIOLATED: "violated", Status.RUNTIME: "in runs", Status.PROVED: "proved"}
